# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX's control flow, exported: gradients of cond, switch, scan, fori_loop and while_loop against JAX's own.

`Inputs/jax_control.mlir` holds what JAX exports for the losses here. Reverse mode of JAX refuses loops whose
trip count it does not know; forward mode gives their gradients.
"""

import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from remat.testing.libraries import Library  # noqa: E402

PASSES = "remat-differentiate, canonicalize, cse, remat-lower-tapes, remat-prepare-bufferization"


def switch(w, x, i):
    return jnp.sum(lax.switch(i, [lambda a: jnp.sin(a) @ x, lambda a: jnp.exp(a @ x), lambda a: a[:, 0] * 2], w))


def scan(m, x):
    return jnp.sum(lax.scan(lambda c, s: (jnp.tanh(m @ c + s), c.sum()), x, jnp.arange(6.0))[0])


def scan_stacks(m, x):
    last, stack = lax.scan(lambda c, s: (jnp.tanh(m @ c + s), jnp.sin(c)), x, m * 0.5)
    return jnp.sum(last) + jnp.sum(stack**2)


def fori(m, x, n):
    return jnp.sum(lax.fori_loop(0, n, lambda i, c: jnp.tanh(m @ c) * (1.0 + i), x))


def while_(m, x):
    return jnp.sum(lax.while_loop(lambda s: (s[1] < 10) & (jnp.sum(s[0]**2) > 0.1),
                                  lambda s: (jnp.tanh(m @ s[0]) * 0.9, s[1] + 1), (x, 0))[0])


def scan_cond(m, x):
    def step(c, s):
        return lax.cond(s > 2., lambda c: jnp.tanh(m @ c + s), lambda c: c * jnp.sin(c), c), c.sum()
    return jnp.sum(lax.scan(step, x, jnp.arange(6.0))[0])


def cond(w, x, p):
    return jnp.sum(lax.cond(p > 0, lambda a: jnp.sin(a) @ x, lambda a: jnp.exp(a @ x), w))


def vmap_cond(w, x):
    return jnp.sum(jax.vmap(lambda r: lax.cond(r[0] > 0, lambda r: jnp.sin(r) @ x, lambda r: jnp.exp(r @ x), r))(w))


WIDE, SQUARE = (3, 4), (4, 4)
CASES = [("cond", cond, WIDE, [1.0, -1.0]), ("switch", switch, WIDE, [0, 1, 2, 7]), ("scan", scan, SQUARE, [None]),
         ("scan_stacks", scan_stacks, SQUARE, [None]), ("fori_static", lambda m, x: fori(m, x, 5), SQUARE, [None]),
         ("fori_dynamic", fori, SQUARE, [0, 1, 5]), ("while", while_, SQUARE, [None]),
         ("scan_cond", scan_cond, SQUARE, [None]), ("vmap_cond", vmap_cond, WIDE, [None])]


def main():
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(3)
    checked = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        text = (Path(__file__).parent / "Inputs/jax_control.mlir").read_text()
        library = Library(text, folder, PASSES)
        for name, loss, shape, choices in CASES:
            w, x = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, 4)
            for choice in choices:
                data = [] if choice is None else [np.asarray(choice)]
                expected = [loss(w, x, *data), *jax.jacfwd(loss, (0, 1))(w, x, *data)]
                found = library.call(f"{name}_grad", [w, x, *data], [("f64", 0), ("f64", 2), ("f64", 1)])
                for part, a, b in zip(("loss", "gradient 0", "gradient 1"), found, expected):
                    checked += 1
                    if not np.allclose(a, b, rtol=1e-10, atol=1e-12):
                        wrong += 1
                        print(f"{name}({choice}): {part} is {a}, but JAX gives {b}")
    print(f"{checked} values, {wrong} wrong")
    return wrong != 0 or checked == 0


if __name__ == "__main__":
    sys.exit(main())
