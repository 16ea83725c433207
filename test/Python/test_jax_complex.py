# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers and Fourier transforms in losses in JAX, in float64: values and gradients are JAX's."""
import numpy as np
import pytest

import remat

jax = pytest.importorskip("jax")
pytest.importorskip("iree.compiler")
jnp, complex_of = jax.numpy, jax.lax.complex

RNG = np.random.default_rng(0)
X = np.array([1.0, 1.7, 2.3, 3.1])


def check(loss, params, *batch, tolerance=1e-12, **arguments):
    with jax.enable_x64(True):
        expected, gradient = jax.value_and_grad(loss)(params, *batch)
        step = remat.jax.train_step(loss, params, *batch, optimizer=remat.SGD(1.0), **arguments)
        np.testing.assert_allclose(step(*batch), expected, tolerance)
        found = jax.tree.map(lambda before, after: before - np.asarray(after), params, step.params)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(gradient)):
        np.testing.assert_allclose(a, np.asarray(b), tolerance, tolerance * np.abs(b).max() + 1e-14)
    return step


def make_params():
    return {"w": RNG.uniform(0.3, 1.3, 4), "v": RNG.uniform(-1, 1, 4)}


def number(p):
    return complex_of(p["w"], p["v"])


FUNCTIONS = ("exp log sqrt sin cos tan sinh cosh tanh abs angle conj square log1p expm1 reciprocal").split()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    check(lambda p, x: (getattr(jnp, name)(number(p)) * complex_of(x, x + 1)).real.sum(), make_params(), X)


def scan(p, x):
    def step(carry, factors):
        return carry * factors[0] + factors[1], carry

    factors = jnp.exp(1j * jnp.outer(p["w"], x)), jnp.outer(p["v"], x) + 0j
    return (jnp.abs(jax.lax.scan(step, jnp.full(4, 0.1j), factors)[1])**2).sum()


def checkpoints(p, x):
    h = jax.checkpoint(lambda z, w: jnp.sin(z) * w)(x + 0.5j * p["v"], p["w"])
    h = jax.checkpoint(lambda z, w: jnp.tanh(z * w) * jnp.exp(1j * w))(h, p["v"])
    return (jnp.abs(h)**2).sum()


def recurrence(p, x):
    """Of a linear recurrent unit."""
    def combine(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    inputs = jnp.outer(x, p["v"]) @ complex_of(jnp.eye(4), jnp.ones((4, 4)))
    states = jax.lax.associative_scan(combine, (jnp.broadcast_to(jnp.exp(1j * p["w"] - 0.1), (4, 4)), inputs))[1]
    return (states.real**2).sum()


@jax.custom_jvp
def doubled(z):
    return z * z


doubled.defjvp(lambda values, tangents: (doubled(values[0]), 3 * values[0] * tangents[0]))  # not its own derivative

OPERATIONS = {
    "rsqrt": lambda p, x: jnp.abs(jax.lax.rsqrt(number(p))).sum(),
    "power": lambda p, x: (number(p)**2.5).real.sum() + (number(p)**3).imag.sum() + (number(p)**complex_of(x, p["w"])).imag.sum(),
    "division": lambda p, x: (jnp.abs(complex_of(p["w"], x) / complex_of(x, p["v"]))**2).sum(),
    "product": lambda p, x: (jnp.abs(jnp.outer(p["w"] + 1j * x, x - 1j * p["v"]) @ jnp.outer(p["w"] * 1j, x + 1j * p["v"]))**2).sum(),
    "batched product": lambda p, x: (jnp.einsum("bik,kj->bij", jnp.outer(number(p), x - 1j).reshape(2, 2, 4),
                                                jnp.exp(1j * jnp.outer(x, p["v"]))).imag**2).sum(),
    "scan": scan, "checkpoints": checkpoints, "recurrence": recurrence,
    "where": lambda p, x: (jnp.where(x > 2, p["w"] * 1j, p["v"] + 0.5j) * (x + 2j)).imag.sum(),
    "pad": lambda p, x: (jnp.abs(jnp.pad(number(p), (1, 2))[1:6] * jnp.array([1 + 2j, 3j, 4, 5 - 1j, 2]))**2).sum(),
    "gather": lambda p, x: (jnp.abs(number(p)[jnp.array([0, 3, 3, 1])] * x)**2).sum(),
    "scatter": lambda p, x: (jnp.abs(jnp.zeros(6, complex).at[jnp.array([0, 3, 3, 1])].add(number(p)) * 2)**3).sum(),
    "concatenation": lambda p, x: (jnp.abs(jnp.concatenate([p["w"] * 1j, number(p)])) * jnp.arange(8)).sum(),
    "branch": lambda p, x: (jnp.abs(jax.lax.cond(x[0] > 0, lambda z: z * z, lambda z: z + 1, number(p)))**2).sum(),
    "loop": lambda p, x: (jnp.abs(jax.lax.fori_loop(0, 3, lambda i, z: z * number(p), p["v"] + 0j))**2).sum(),
    "reductions": lambda p, x: jnp.abs(number(p).mean()) + jnp.abs(jnp.prod(number(p))) + jnp.abs(jnp.vdot(number(p), x + 1j)),
    "cumulative product": lambda p, x: (jnp.cumprod(number(p)).real * x).sum(),
    "a derivative by hand": lambda p, x: (doubled(number(p)) * x).imag.sum(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    check(OPERATIONS[name], make_params(), X)


def test_absolute_value_where_it_is_extreme():
    w, x = np.array([0., 1, 0, 2, -1, 3]), np.array([0., 0, 1, 1, 2, 0])
    check(lambda w, x: (2 * jnp.abs(complex_of(w * x, w * x)) + jnp.abs(complex_of(w, x))).sum(), w, x)
    check(lambda w, x: (jnp.abs(complex_of(w, x)) * 1e-200).sum(), np.array([3e200]), np.array([4e200]))


def test_sign_has_no_derivative():
    check(lambda p, x: (jnp.sign(number(p)) * p["w"]).real.sum(), make_params(), X)


TRANSFORMS = {
    "fft": lambda p, x: (jnp.abs(jnp.fft.fft(number(p))) * x).sum(), "ifft": lambda p, x: (jnp.abs(jnp.fft.ifft(number(p))) * x).sum(),
    "rfft": lambda p, x: (jnp.abs(jnp.fft.rfft(p["w"] * x + p["v"])) * x[:3]).sum(),
    "irfft of an odd size": lambda p, x: (jnp.fft.irfft(number(p), n=7) * jnp.arange(7)).sum(),
    "irfft of an even size": lambda p, x: (jnp.fft.irfft(number(p), n=6)**2 * jnp.arange(6)).sum(),
    "fft2": lambda p, x: (jnp.abs(jnp.fft.fft2(jnp.outer(number(p), x))) * jnp.arange(4)).sum(),
    "rfft2": lambda p, x: (jnp.abs(jnp.fft.rfft2(jnp.outer(p["w"] + p["v"], x)[:, :3])) * jnp.arange(2)).sum(),
    "irfft2": lambda p, x: (jnp.fft.irfft2(jnp.outer(number(p), x), s=(4, 5))**2 * jnp.arange(5)).sum(),
    "rfftn": lambda p, x: (jnp.abs(jnp.fft.rfftn(jnp.outer(p["w"] + p["v"], x).reshape(2, 2, 4))) * jnp.arange(3)).sum(),
    "shifted": lambda p, x: (jnp.abs(jnp.fft.fftshift(jnp.fft.fft(p["w"] * x + p["v"], n=6, norm="ortho"))) * jnp.arange(6)).sum(),
    "mapped": lambda p, x: jax.vmap(lambda row: jnp.abs(jnp.fft.fft(row * p["w"] + p["v"])))(jnp.outer(x, x)).sum(),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    check(TRANSFORMS[name], make_params(), X)


@pytest.mark.parametrize("size", [1, 2, 60, 67, 96, 134, 360, 1000, 1024])
def test_convolutions_of_any_size(size):
    def loss(w, x):
        return (jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(w), n=size)**2).mean() + jnp.abs(jnp.fft.fft(w)).mean()

    check(loss, RNG.standard_normal(size), RNG.standard_normal((2, size)))


def test_a_prime_that_is_too_large():
    with pytest.raises(remat.ExportError, match=r"test_jax_complex.py:\d+.*: a Fourier transform of 46349 numbers, a prime"):
        remat.jax.train_step(lambda w: jnp.abs(jnp.fft.rfft(w)).sum(), np.ones(46349, "f4"), optimizer=remat.SGD(0.1))


@pytest.mark.parametrize("policy", ["none", "nothing_saveable"])
def test_a_neural_operator(policy):
    """Layers that multiply low frequencies."""
    def layer(h, p):
        z = jnp.fft.rfft2(h, axes=(1, 2))
        kept = jnp.einsum("bxyc,xycd->bxyd", z[:, :3, :3], complex_of(p["real"], p["imaginary"]))
        return jax.nn.gelu(jnp.fft.irfft2(jnp.zeros_like(z).at[:, :3, :3].set(kept), s=h.shape[1:3], axes=(1, 2)) + h @ p["skip"])

    def loss(params, x, y):
        h = x
        for p in params:
            h = jax.checkpoint(layer)(h, p)
        return ((h - y)**2).mean()

    params = [{"real": RNG.standard_normal((3, 3, 4, 4)), "imaginary": RNG.standard_normal((3, 3, 4, 4)),
               "skip": RNG.standard_normal((4, 4)) / 4} for _ in range(2)]
    chosen = "none" if policy == "none" else remat.checkpoints()
    check(loss, params, RNG.standard_normal((2, 6, 7, 4)), RNG.standard_normal((2, 6, 7, 4)), tolerance=1e-10, policy=chosen)


def test_batches_and_results_may_be_complex():
    def loss(p, batch):
        z = batch["z"] * number(p) + batch["x"]
        return (jnp.abs(z)**2).sum(), {"z": z, "length": jnp.abs(z)}

    with jax.enable_x64(True):
        params, z = make_params(), RNG.standard_normal((2, 4)) + 1j * RNG.standard_normal((2, 4))
        batch = {"z": z, "x": X}
        step = remat.jax.train_step(loss, params, batch, optimizer=remat.SGD(0.0), dynamic=True)
        for given in (batch, {"z": np.concatenate([z, z]), "x": X}):
            value, found = step(given)
            expected, auxiliary = loss(params, given)
            np.testing.assert_allclose(value, expected, 1e-12)
            for key in auxiliary:
                np.testing.assert_allclose(found[key], auxiliary[key], 1e-12)
                assert found[key].dtype == auxiliary[key].dtype


def test_parameters_are_real():
    with pytest.raises(TypeError, match="'params' is of complex64; make it two, its real and its imaginary part"):
        remat.jax.train_step(lambda w: jnp.abs(w).sum(), np.ones(3, "c8"), optimizer=remat.SGD(0.1))
