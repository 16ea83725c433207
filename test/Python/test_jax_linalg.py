# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra in losses in JAX, in float64: values and gradients are JAX's, which LAPACK computes."""
import numpy as np
import pytest

import remat

jax = pytest.importorskip("jax")
pytest.importorskip("iree.compiler")
jnp, linalg = jax.numpy, jax.scipy.linalg

RNG = np.random.default_rng(0)
WIDE = RNG.standard_normal((4, 6))
SQUARE = RNG.standard_normal((4, 4)) + 4 * np.eye(4)
MANY = RNG.standard_normal((2, 3, 3)) + 2 * np.eye(3)


def weighted(x):
    """A number that depends on the place of each element of `x`."""
    return (x * jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)).sum()


def positive(w):
    return w @ jnp.swapaxes(w, -1, -2) + jnp.eye(w.shape[-2])


def gaussian_process(p):
    x = jnp.linspace(-3, 3, 70)
    factor = jnp.linalg.cholesky(jnp.exp(-((x[:, None] - x) / p[0])**2) * p[1] + p[2] * jnp.eye(70))
    return jnp.sin(x) @ linalg.cho_solve((factor, True), jnp.sin(x)) + 2 * jnp.log(jnp.diagonal(factor)).sum()


def filtered(w):
    """Covariances of a Kalman filter."""
    def step(p, _):
        return w @ p @ w.T / 100 + jnp.eye(4) - p @ jnp.linalg.inv(p + jnp.eye(4)) @ p / 10, jnp.trace(p)

    return jax.lax.scan(step, jnp.eye(4), None, length=4)[1].sum()


def newton(w):
    """A step by the Hessian of another function."""
    hessian = jax.hessian(lambda v: (jnp.tanh(w @ v)**2).sum() + (v**2).sum())(jnp.arange(4.0))
    return jnp.linalg.solve(hessian, jnp.ones(4)).sum()


def rebuilt(u, values, vt):
    """A function of the singular values, which does not depend on the signs of the vectors."""
    return weighted((u * jnp.log1p(values)[..., None, :]) @ vt)


CASES = {
    "cholesky": (lambda w: weighted(jnp.linalg.cholesky(positive(w))), MANY),
    "lu": (lambda w: sum((i + 1) * weighted(part) for i, part in enumerate(linalg.lu(w))), SQUARE),
    "lu_solve": (lambda w: weighted(linalg.lu_solve(linalg.lu_factor(w), jnp.arange(4.0))), SQUARE),
    "solve": (lambda w: weighted(jnp.linalg.solve(w, jnp.arange(6.0).reshape(2, 3, 1))), MANY),
    "a large solution": (lambda w: weighted(jnp.linalg.solve(w @ w.T + 5 * jnp.eye(70), jnp.arange(70.0) / 70)), RNG.standard_normal((70, 70))),
    "inverse": (lambda w: weighted(jnp.linalg.inv(w)), MANY),
    "determinant": (lambda w: jnp.linalg.det(w) + jnp.linalg.slogdet(w)[1], SQUARE),
    "determinants": (lambda w: weighted(jnp.linalg.det(w)) + weighted(jnp.linalg.slogdet(-w)[1]), MANY),
    "qr": (lambda w: weighted(jnp.linalg.qr(w)[0]) + weighted(jnp.linalg.qr(w)[1]), MANY),
    "qr of a tall matrix": (lambda w: weighted(jnp.linalg.qr(w.T)[0]) + weighted(jnp.linalg.qr(w.T)[1]), WIDE),
    "eigh": (lambda w: (lambda values, v: weighted((v * jnp.log(values)[..., None, :]) @ jnp.swapaxes(v, -1, -2)))(*jnp.linalg.eigh(positive(w))), MANY),
    "eigenvalues that are negative": (lambda w: weighted(jnp.linalg.eigvalsh(w + w.T - 8 * jnp.eye(4))), SQUARE),
    "svd": (lambda w: rebuilt(*jnp.linalg.svd(w, full_matrices=False)), WIDE),
    "svd of a tall matrix": (lambda w: rebuilt(*jnp.linalg.svd(w.T, full_matrices=False)), WIDE),
    "svds": (lambda w: rebuilt(*jnp.linalg.svd(w)), MANY),
    "singular values": (lambda w: jnp.linalg.norm(w, ord="nuc") + jnp.linalg.norm(w, ord=2) + jnp.linalg.cond(w), WIDE),
    "pseudoinverse": (lambda w: weighted(jnp.linalg.pinv(w)) + weighted(jnp.linalg.lstsq(w.T, jnp.arange(6.0))[0]), WIDE),
    "rank": (lambda w: jnp.linalg.matrix_rank(jnp.outer(w[0], w[1])) * w.sum(), SQUARE),
    "triangular": (lambda w: weighted(linalg.solve_triangular(w, jnp.arange(8.0).reshape(4, 2), trans=1)), SQUARE),
    "unit diagonal": (lambda w: weighted(linalg.solve_triangular(w, jnp.arange(8.0).reshape(4, 2), unit_diagonal=True, lower=True)), SQUARE),
    "from the right": (lambda w: weighted(jax.lax.linalg.triangular_solve(w, jnp.arange(8.0).reshape(2, 4), lower=True)), SQUARE),
    "from the right, transposed": (lambda w: weighted(jax.lax.linalg.triangular_solve(w, jnp.arange(8.0).reshape(2, 4), transpose_a=True)), SQUARE),
    "tridiagonal": (lambda w: weighted(jax.lax.linalg.tridiagonal_solve(w[0], w[1], w[2], w[3:].T)), WIDE),
    "tridiagonal, with zeros": (lambda w: weighted(jax.lax.linalg.tridiagonal_solve(w[0], w[1] * jnp.arange(6), w[2], w[3:].T)), WIDE),
    "many tridiagonal": (lambda w: weighted(jax.lax.linalg.tridiagonal_solve(w[0], w[1], w[2], w)), MANY[[[0, 1, 0], [1, 0, 1], [1, 1, 0]], :, 1].reshape(3, 3, 3)),
    "expm": (lambda w: weighted(linalg.expm(w / 3)), SQUARE),
    "conjugate gradients": (lambda w: weighted(jax.scipy.sparse.linalg.cg(lambda v: positive(w) @ v, jnp.arange(4.0), tol=1e-13)[0]), SQUARE),
    "gmres": (lambda w: weighted(jax.scipy.sparse.linalg.gmres(lambda v: w @ v, jnp.arange(4.0), tol=1e-13)[0]), SQUARE),
    "mapped": (lambda w: jax.vmap(lambda a: weighted(linalg.cho_solve(linalg.cho_factor(positive(a)), jnp.arange(3.0))))(w).sum(), MANY),
    "checkpoint": (lambda w: weighted(jax.checkpoint(lambda w: jnp.linalg.cholesky(positive(w)))(w)), SQUARE),
    "density": (lambda w: jax.scipy.stats.multivariate_normal.logpdf(jnp.ones((2, 4)), jnp.zeros(4), positive(w)).sum(), SQUARE),
    "loop": (filtered, SQUARE), "Newton's method": (newton, SQUARE), "Gaussian process": (gaussian_process, np.array([1.0, 1.5, 0.5])),
}


@pytest.mark.parametrize("case", CASES)
def test_linear_algebra(case):
    loss, w = CASES[case]
    with jax.enable_x64(True):
        expected, gradient = jax.value_and_grad(loss)(w)
        step = remat.jax.train_step(loss, w, optimizer=remat.SGD(1.0))
        np.testing.assert_allclose(step(), expected, 1e-9, 1e-9)
        found = w - np.asarray(step.params)
        np.testing.assert_allclose(found, gradient, 1e-8, 1e-8 * np.abs(gradient).max())


def test_what_is_not_positive_definite():
    step = remat.jax.train_step(lambda w: jnp.linalg.cholesky(w * jnp.eye(3)).sum(), np.float32(-1), optimizer=remat.SGD(0.1))
    assert np.isnan(step())


@pytest.mark.parametrize("loss, message", [
    (lambda w: jnp.abs(jnp.linalg.solve(w + 1j * jnp.eye(3), jnp.ones(3) + 0j)).sum(), "lu of a complex matrix"),
    (lambda w: sum(part.sum() for part in linalg.qr(w, pivoting=True)[:2]), "a QR factorization with pivoting")])
def test_what_has_no_way(loss, message):
    with pytest.raises(remat.ExportError, match=rf"test_jax_linalg.py:\d+.*: {message} has no way to MLIR"):
        remat.jax.train_step(loss, np.eye(3, dtype="f4"), optimizer=remat.SGD(0.1))


@pytest.mark.parametrize("loss, name", [
    (lambda w: jnp.linalg.eigvals(w).real.sum(), "eig"), (lambda w: (w * linalg.schur(jnp.eye(3))[0]).sum(), "schur"),
    (lambda w: (w * linalg.hessenberg(jnp.eye(3))).sum(), "hessenberg")])
def test_what_only_lapack_computes(loss, name):
    message = rf"test_jax_linalg.py:\d+.*: there is no way to MLIR for .* \({name}\): compute that outside of the loss"
    with pytest.raises(remat.ExportError, match=message):
        remat.jax.train_step(loss, np.eye(3, dtype="f4"), optimizer=remat.SGD(0.1))
