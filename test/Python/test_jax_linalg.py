# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra in losses in JAX: what is made of products has JAX's values and gradients in float64, what needs LAPACK is refused."""
import numpy as np
import pytest

import remat

jax = pytest.importorskip("jax")
pytest.importorskip("iree.compiler")
jnp, linalg = jax.numpy, jax.scipy.linalg

RNG = np.random.default_rng(0)
SQUARE = RNG.standard_normal((4, 4)) + 4 * np.eye(4)
MANY = RNG.standard_normal((2, 3, 3)) + 2 * np.eye(3)


def weighted(x):
    """A number that depends on the place of each element of `x`."""
    return (x * jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)).sum()


def positive(w):
    return w @ jnp.swapaxes(w, -1, -2) + jnp.eye(w.shape[-2])


def gaussian_process(p):
    """Without its determinant."""
    x = jnp.linspace(-3, 3, 30)
    kernel = jnp.exp(-((x[:, None] - x) / p[0])**2) * p[1] + p[2] * jnp.eye(30)
    return jnp.sin(x) @ jax.scipy.sparse.linalg.cg(lambda v: kernel @ v, jnp.sin(x), tol=1e-13)[0]


CASES = {
    "conjugate gradients": (lambda w: weighted(jax.scipy.sparse.linalg.cg(lambda v: positive(w) @ v, jnp.arange(4.0), tol=1e-13)[0]), SQUARE),
    "of matrices that are not symmetric": (lambda w: weighted(jax.scipy.sparse.linalg.bicgstab(lambda v: w @ v, jnp.arange(4.0), tol=1e-13)[0]), SQUARE),
    "Gaussian process": (gaussian_process, np.array([1.0, 1.5, 0.5])),
    "triangular": (lambda w: weighted(linalg.solve_triangular(w, jnp.arange(8.0).reshape(4, 2), trans=1)), SQUARE),
    "unit diagonal": (lambda w: weighted(linalg.solve_triangular(w, jnp.arange(8.0).reshape(4, 2), unit_diagonal=True, lower=True)), SQUARE),
    "from the right": (lambda w: weighted(jax.lax.linalg.triangular_solve(w, jnp.arange(8.0).reshape(2, 4), lower=True)), SQUARE),
    "from the right, transposed": (lambda w: weighted(jax.lax.linalg.triangular_solve(w, jnp.arange(8.0).reshape(2, 4), transpose_a=True)), SQUARE),
    "many triangular": (lambda w: weighted(jax.lax.linalg.triangular_solve(w, w, left_side=True, lower=True)), MANY),
    "after a factor": (lambda w: weighted(linalg.cho_solve((w, True), jnp.arange(4.0))), SQUARE),
    "small determinants": (lambda w: weighted(jnp.linalg.det(w)), MANY)}


@pytest.mark.parametrize("case", CASES)
def test_what_is_made_of_products(case):
    loss, w = CASES[case]
    with jax.enable_x64(True):
        expected, gradient = jax.value_and_grad(loss)(w)
        step = remat.jax.train_step(loss, w, optimizer=remat.SGD(1.0))
        np.testing.assert_allclose(step(), expected, 1e-9, 1e-9)
        found = w - np.asarray(step.params)
        np.testing.assert_allclose(found, gradient, 1e-8, 1e-8 * np.abs(gradient).max())


REFUSED = {
    "cholesky": lambda w: jnp.linalg.cholesky(w), "lu": lambda w: jnp.linalg.solve(w, w), "qr": lambda w: jnp.linalg.qr(w)[1],
    "svd": lambda w: jnp.linalg.svdvals(w), "eigh": lambda w: jnp.linalg.eigvalsh(w), "eig": lambda w: jnp.linalg.eigvals(w).real,
    "schur": lambda w: w * linalg.schur(jnp.eye(4))[0], "hessenberg": lambda w: w * linalg.hessenberg(jnp.eye(4)),
    "tridiagonal_solve": lambda w: jax.lax.linalg.tridiagonal_solve(w[0], w[1], w[2], w)}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_lapack(name):
    message = rf"test_jax_linalg.py:\d+.*: there is no way to MLIR for linear algebra \({name}\), as a compiled step has no LAPACK: compute what"
    with pytest.raises(remat.ExportError, match=message):
        remat.jax.train_step(lambda w: REFUSED[name](w).sum(), np.eye(4, dtype="f4"), optimizer=remat.SGD(0.1))
