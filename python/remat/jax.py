"""Losses written in JAX, as training steps.

    step = remat.jax.train_step(loss_fn, params, *example_batch, optimizer=remat.AdamW(3e-4))
    loss = step(*batch)

Needs jax and iree-base-compiler (`pip install remat[jax]`).
"""
from remat import extras
from remat.spec import compile_exported
from remat.step import Step


def _name(path) -> str:
    """A path in a pytree, as state dictionaries have it: layers.0.kernel. A tree that is one array is called params."""
    import jax
    return jax.tree_util.keystr(path, simple=True, separator=".") or "params"


class JaxStep(Step):
    """A `remat.Step` that takes batches, and has parameters, as pytrees."""

    def __init__(self, compiled, params_tree, batch_tree, results_tree):
        super().__init__(*compiled)
        self._params_tree, self._batch_tree, self._results_tree = params_tree, batch_tree, results_tree

    def __call__(self, *batch):
        """Runs one step and returns the loss, or, if the function returns `(loss, auxiliary)`, both."""
        import jax
        leaves, tree = jax.tree.flatten(batch)
        if tree != self._batch_tree:
            raise TypeError(f"the batch must have the structure {self._batch_tree}, but got {tree}")
        result = super().__call__(*leaves)
        if self._results_tree is None:
            return result
        loss, extras = result if isinstance(result, tuple) else (result, {})
        return loss, jax.tree.unflatten(self._results_tree, extras.values())

    @property
    def params(self):
        """The parameters as the pytree that the step was made with: views of the step's own memory."""
        import jax
        return jax.tree.unflatten(self._params_tree, self.parameters.values())


def train_step(loss_fn, params, *example_batch, **arguments) -> JaxStep:
    """Compiles a training step of `loss_fn(params, *batch)`, which returns a scalar, or `(scalar, auxiliary)`.

    `params` is a pytree of floating-point arrays, which the step starts from (and leaves alone: it has a copy); the leaves
    of `example_batch` say what types and shapes all batches have. States are named by their paths in the tree (`dense.kernel`,
    `dense.kernel.m`). What is under `jax.checkpoint` is selected by `policy=remat.checkpoints()`, values of
    `checkpoint_name` by `remat.save_names`. The other arguments are those of `remat.mlir.train_step`.

    Raises `remat.export.ExportError` where the function uses what has no way to MLIR, and `remat.CompileError`.
    """
    extras.require("jax")
    import jax
    import numpy as np

    from remat import export

    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        if not jax.numpy.issubdtype(np.asarray(leaf).dtype, jax.numpy.floating):
            raise TypeError(f"parameters must be floating-point arrays, but '{_name(path)}' is of "
                            f"{np.asarray(leaf).dtype.name}; pass it with the batch, or close over it")
    leaves, batch_tree = jax.tree.flatten(example_batch)
    results_tree = None

    def flat(params, *leaves):
        nonlocal results_tree
        result = loss_fn(params, *jax.tree.unflatten(batch_tree, leaves))
        if not isinstance(result, tuple):
            return result
        loss, auxiliary = result
        extras, results_tree = jax.tree.flatten(auxiliary)
        return loss, *extras

    flat.__name__ = getattr(loss_fn, "__name__", "loss")
    shape = jax.eval_shape(flat, params, *leaves)
    results = shape if isinstance(shape, tuple) else (shape,)
    if results[0].shape != () or not jax.numpy.issubdtype(results[0].dtype, jax.numpy.floating):
        raise TypeError(f"the loss must be a floating-point scalar, but it is {results[0].dtype.name}"
                        f"{list(results[0].shape)}")
    names = [_name(path) for path, _ in jax.tree_util.tree_leaves_with_path(example_batch)]
    outputs = ["loss", *(f"result{i}" for i in range(1, len(results)))]
    exported = export.from_jax(flat, params, dict(zip((f"batch.{name}" for name in names), leaves)), outputs=outputs,
                               check=False, x64=bool(jax.config.read("jax_enable_x64")))
    for argument in exported.arguments:
        argument.name = argument.name or "params"
    return compile_exported(lambda *compiled: JaxStep(compiled, jax.tree.structure(params), batch_tree, results_tree),
                            exported, flat.__name__, **arguments)
