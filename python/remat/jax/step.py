# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of losses in JAX."""
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from remat import extras, written
from remat.export.exported import ELEMENT_TYPES
from remat.jax import custom, optax_rules
from remat.jax.export import as_jax, from_jax
from remat.jax.optax_traced import Functions
from remat.optimizers import Optimizer
from remat.policy_text import as_policy
from remat.progress import timed
from remat.spec import compile_exported
from remat.step import Shapes, Step


def _name(path: Any) -> str:
    """A path in a pytree, as state dictionaries have it: layers.0.kernel. A tree that is one array is called params."""
    import jax
    return jax.tree_util.keystr(path, simple=True, separator=".") or "params"


def _wider(x: Any) -> str | None:
    """Returns the type in which a step has integers of less than a byte; None for others."""
    kind = str(getattr(x, "dtype", ""))
    return {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}.get(kind)


def _to_plain(x: Any) -> Any:
    """Returns `x` as a step has it: complex numbers as real and imaginary parts, in another dimension; random keys as their
    numbers; integers of less than a byte as bytes; others as they are."""
    import jax
    if custom.is_key(x):
        return jax.random.key_data(x)
    if wider := _wider(x):
        return x.astype(wider)
    if isinstance(x, jax.core.Tracer):
        return jax.numpy.stack([x.real, x.imag], -1) if np.iscomplexobj(x) else x
    return np.stack([np.real(x), np.imag(x)], -1) if np.iscomplexobj(x) else x


def _from_plain(x: Any, like: Any) -> Any:
    """Returns the array of which `_to_plain` made `x`; it is of the type of `like`."""
    import jax
    if custom.is_key(like):
        return custom.to_keys(x, like)
    if _wider(like):
        return x.astype(like.dtype)
    return jax.lax.complex(x[..., 0], x[..., 1]) if np.iscomplexobj(like) else x


def _check_types(what: str, tree: Any) -> None:
    """Raises a TypeError if a leaf of `tree` is of a type that a step has no arrays of."""
    import jax
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        kind = jax.dtypes.canonicalize_dtype(getattr(leaf, "dtype", jax.numpy.result_type(leaf)), allow_extended_dtype=True)
        if not custom.is_key(leaf) and kind.kind != "c" and kind.name not in ELEMENT_TYPES and not _wider(leaf):
            raise TypeError(f"a step has no arrays of {kind.name}, as '{_name(path)}' of {what} is; convert it to bfloat16 or float32")


def _names(tree: Any) -> list[str]:
    """Returns names of the leaves of `tree`; those whose paths look the same are numbered."""
    import jax
    names = [_name(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    return [f"{name}#{names[:i].count(name)}" if name in names[:i] else name for i, name in enumerate(names)]


@dataclasses.dataclass
class _Trees:
    """Of the batch of a loss or an evaluation, and of what it returns besides the loss."""

    batch: Any
    auxiliary: Any = None
    auxiliaries_like: list[Any] = dataclasses.field(default_factory=list)

    def flatten(self, batch: Any) -> list[Any]:
        import jax
        leaves, tree = jax.tree.flatten(batch)
        if tree != self.batch:
            raise TypeError(f"the batch must have the structure {self.batch}, but got {tree}")
        leaves = list(map(_to_plain, leaves))
        return [as_jax(leaf) if isinstance(leaf, (np.ndarray, np.generic, float, int)) else leaf for leaf in leaves]

    def unflatten(self, result: Any) -> Any:
        import jax
        if self.auxiliary is None:
            return result
        loss, extras = result if isinstance(result, tuple) else (result, {})
        values = [value[..., 0] + 1j * value[..., 1] if np.iscomplexobj(like) else _from_plain(value, like)
                  for value, like in zip(extras.values(), self.auxiliaries_like)]
        return loss, jax.tree.unflatten(self.auxiliary, values)


class JaxStep(Step):
    """A `remat.Step` that takes batches, and has parameters, as pytrees."""

    _how_to_eval = "pass eval_fn= to remat.jax.train_step"

    def __init__(self, compiled: tuple[Any, ...], params_tree: Any, trees: _Trees, eval_trees: _Trees | None):
        super().__init__(*compiled)
        self._params_tree, self._trees, self._eval_trees = params_tree, trees, eval_trees

    def __call__(self, *batch: Any) -> Any:
        """Runs one step and returns the loss, or, if the function returns `(loss, auxiliary)`, both."""
        with self._telling_others():
            return self._trees.unflatten(super().__call__(*self._trees.flatten(batch)))

    def eval(self, *batch: Any) -> Any:
        """Computes `eval_fn` with the step's present parameters, which it does not change, and returns what it does."""
        if self._eval_trees is None:
            return super().eval()
        with self._telling_others():
            return self._eval_trees.unflatten(super().eval(*self._eval_trees.flatten(batch)))

    @property
    def params(self) -> Any:
        """The parameters as the pytree that the step was made with: views of the step's own memory."""
        import jax
        return jax.tree.unflatten(self._params_tree, self.parameters.values())


def _export(function: Callable[..., Any], params: Any, batch: Any, functions: Functions | None = None,
            as_written: bool = False) -> tuple[Any, _Trees]:
    """`function(params, *batch)` as a `remat.export.Export`, with the `functions` of an optimizer, and its trees. `as_written` asks the
    policies of its checkpoints."""
    import jax

    _check_types("the batch", batch)
    leaves, tree = jax.tree.flatten(batch)
    like = leaves
    leaves = list(map(_to_plain, leaves))
    auxiliary_tree, auxiliaries_like = None, []

    def flat(params: Any, *leaves: Any) -> Any:
        nonlocal auxiliary_tree, auxiliaries_like
        result = function(params, *jax.tree.unflatten(tree, map(_from_plain, leaves, like)))
        if not isinstance(result, tuple):
            return result
        if len(result) != 2:
            raise TypeError(f"the loss must return a scalar or (scalar, auxiliary), but it returns a tuple of {len(result)}")
        loss, auxiliary = result
        _check_types("auxiliary results", auxiliary)
        extras, auxiliary_tree = jax.tree.flatten(auxiliary)
        auxiliaries_like = [jax.ShapeDtypeStruct(np.shape(x), jax.numpy.result_type(x)) for x in extras]
        return loss, *map(_to_plain, extras)

    flat.__name__ = getattr(function, "__name__", "loss")
    shape = jax.eval_shape(flat, params, *leaves)
    results = shape if isinstance(shape, tuple) else (shape,)
    if not hasattr(results[0], "dtype"):
        raise TypeError(f"the loss must return a scalar or (scalar, auxiliary), but it returns {jax.tree.structure(shape)}")
    if results[0].shape != () or not jax.numpy.issubdtype(results[0].dtype, jax.numpy.floating):
        raise TypeError(f"the loss must be a floating-point scalar, but it is {results[0].dtype.name}"
                        f"{list(results[0].shape)}")
    names = [f"batch.{name}" for name in _names(batch)]
    outputs = ["loss", *(f"result{i}" for i in range(1, len(results)))]
    with timed(f"the export of {flat.__name__}"):
        exported = from_jax(flat, params, dict(zip(names, leaves)), outputs=outputs,
                            check=False, functions=functions, as_written=as_written)
    for argument in exported.arguments:
        argument.name = argument.name or "params"
    return exported, _Trees(tree, auxiliary_tree, auxiliaries_like)


def train_step(loss_fn: Callable[..., Any], params: Any, *example_batch: Any, optimizer: Optimizer | str | Any = None,
               eval_fn: Callable[..., Any] | None = None, eval_batch: tuple[Any, ...] | None = None, dynamic: bool = False,
               **arguments: Any) -> JaxStep:
    """Compiles a training step of `loss_fn(params, *batch)`, which returns a scalar, or `(scalar, auxiliary)`.

    `params` is a pytree of floating-point arrays, which the step starts from (and leaves alone: it has a copy); the leaves
    of `example_batch` say what types and shapes all batches have, or, with `accumulate`, all micro-batches. States are named by
    their paths in the tree (`dense.kernel`, `dense.kernel.m`). What is under `jax.checkpoint` is selected by
    `policy=remat.checkpoints()`, or by `remat.as_written()` with the policies that it has there, values of `checkpoint_name` by `remat.save_names`. `optimizer` is one of remat's, or any of
    optax's whose update of a parameter reads no other one's gradient (but for clipping by the norm of all, first in a chain); its
    states have optax's names then. The other arguments are those of `remat.mlir.train_step`.

    `eval_fn(params, *batch)`, which returns what a loss does, is what `step.eval` computes; `eval_batch` is an example of its
    batches, a tuple, where they differ from those of the loss.

    With `dynamic`, batches may be of other sizes than the example: for each, another step or evaluation is compiled, which
    shares parameters and states.

    Raises `remat.ExportError` where the function uses what has no way to MLIR, and `remat.CompileError`.
    """
    extras.require("jax")
    import jax

    if not jax.tree.leaves(params):
        raise TypeError("params has no array in it, so there is nothing to train")
    _check_types("params", params)
    paths: dict[str, Any] = {}
    for path, _ in jax.tree_util.tree_leaves_with_path(params):
        if (other := paths.setdefault(_name(path), path)) is not path:
            raise TypeError(f"two parameters would be called '{_name(path)}': params{jax.tree_util.keystr(other)} and "
                            f"params{jax.tree_util.keystr(path)}; rename one of them")
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        if custom.is_key(leaf):
            raise TypeError(f"parameters must be floating-point arrays, but '{_name(path)}' is a random key; pass it with the batch")
        if np.iscomplexobj(leaf):
            raise TypeError(f"parameters must be floating-point arrays, but '{_name(path)}' is of {np.asarray(leaf).dtype.name}; "
                            "make it two, its real and its imaginary part, and jax.lax.complex of them in the loss")
        if not jax.numpy.issubdtype(np.asarray(leaf).dtype, jax.numpy.floating):
            raise TypeError(f"parameters must be floating-point arrays, but '{_name(path)}' is of "
                            f"{np.asarray(leaf).dtype.name}; pass it with the batch, or close over it")
    if eval_batch is not None and (eval_fn is None or not isinstance(eval_batch, tuple)):
        raise TypeError("eval_batch must be the tuple of arguments that eval_fn takes behind the parameters")
    functions: Functions | None = None
    starts: dict[str, Any] = {}
    if all(callable(getattr(optimizer, name, None)) for name in ("init", "update")):
        optimizer, more, functions, starts = optax_rules.convert(optimizer, params, _name)
        if twice := set(more).intersection(arguments):
            raise TypeError(f"{', '.join(twice)} is in the optimizer, too")
        arguments |= more
    policy = as_policy(arguments.get("policy"))
    is_written = written.is_asked(policy)
    exported, trees = _export(loss_fn, params, example_batch, functions, is_written)
    arguments["policy"] = written.settle(policy, exported.written, exported.text)
    evaluated, eval_trees = None, None
    if eval_batch is None:
        eval_batch = example_batch
    if eval_fn is not None:
        evaluated, eval_trees = _export(eval_fn, params, eval_batch)

    def zeros(shape: tuple[int, ...], like: Any) -> Any:
        if custom.is_key(like):
            return custom.to_keys(jax.numpy.zeros(shape, "uint32"), like)
        if np.iscomplexobj(like):
            shape = shape[:-1]  # a step has pairs
        return np.broadcast_to(np.zeros((), like.dtype), shape)  # of no size in memory

    def exporting_again(function: Callable[..., Any], batch: Any, *more: Any) -> Callable[[Shapes], Any]:
        parameters, like = jax.tree.map(
            lambda leaf: zeros(np.shape(_to_plain(leaf)), leaf if custom.is_key(leaf) else np.asarray(leaf)), (params, batch))
        leaves, tree = jax.tree.flatten(like)
        return lambda shapes: _export(function, parameters, jax.tree.unflatten(tree, map(zeros, shapes, leaves)), *more)[0]

    return compile_exported(lambda *compiled: JaxStep(compiled, jax.tree.structure(params), trees, eval_trees), exported,
                            getattr(loss_fn, "__name__", "loss"), evaluated=evaluated, optimizer=optimizer,
                            export_again=exporting_again(loss_fn, example_batch, functions, is_written) if dynamic else None,
                            evaluate_again=exporting_again(eval_fn, eval_batch) if dynamic and eval_fn else None,
                            starts=starts, **arguments)
