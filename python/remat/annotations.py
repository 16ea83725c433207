"""Where a model is recomputed: `remat-annotate`, as values.

Each function selects parts of a plain model and gives them a policy; `|` does one after the other, inner regions first.
What it becomes is the pipeline for `remat-opt`:

    >>> print(ops("softmax", policy="everything_saveable") | layers(every=2, policy="dots_saveable"))
    remat-annotate{ops=softmax policy=everything_saveable},remat-annotate{blocks every=2 policy=dots_saveable}

A policy is written as in assembly, with or without `#remat.` (docs/reference/RematDialect.md), such as
`nothing_saveable`, `dots_saveable` or `save_only_names<"attn_out">`. Without one, nothing may be saved.
"""


class Annotation:
    """Passes that run on a model before it is differentiated."""

    def __init__(self, pipeline: str):
        self.pipeline = pipeline

    def __or__(self, other: "Annotation") -> "Annotation":
        if not isinstance(other, Annotation):
            return NotImplemented
        return Annotation(f"{self.pipeline},{other.pipeline}")

    def __str__(self):
        return self.pipeline

    def __repr__(self):
        return f"remat.passes({self.pipeline!r})"


def passes(pipeline: str) -> Annotation:
    """Any pipeline on a module, such as `remat-import{spec=model.json}`."""
    return Annotation(pipeline)


def _annotate(selector: str, policy: str | None, recompute, name: str | None, function: str | None) -> Annotation:
    actions = {"policy": policy, "recompute": recompute and ",".join(recompute), "name": name}
    if name is not None and (policy is not None or recompute):
        raise ValueError("a selection is named, or it becomes regions with a policy; not both in one annotation")
    options = [selector]
    for key, value in (actions | {"function": function}).items():
        if value:
            options.append(f"{key}={{{value}}}" if " " in value else f"{key}={value}")
    return Annotation(f"remat-annotate{{{' '.join(options)}}}")


def _patterns(patterns: tuple[str, ...]) -> str:
    if not patterns:
        raise ValueError("at least one pattern is needed")
    return ",".join(patterns)


def layers(*, every: int = 1, group: int = 1, pick: str | None = None, policy: str | None = None, recompute=(),
           name: str | None = None, function: str | None = None) -> Annotation:
    """Layers that are found in the operations: sequences that repeat. `every=k`: every k-th only; `group=k`: k in one
    region; `pick="0,3-5,-1"`: these only."""
    parts = ["blocks"] + [f"every={int(every)}"] * (every != 1) + [f"group={int(group)}"] * (group != 1)
    return _annotate(" ".join(parts + ([f"pick={pick}"] if pick else [])), policy, recompute, name, function)


def whole(*, policy: str | None = None, recompute=(), name: str | None = None, function: str | None = None) -> Annotation:
    """Everything that the function computes."""
    return _annotate("whole", policy, recompute, name, function)


def scopes(*patterns: str, policy: str | None = None, recompute=(), name: str | None = None,
           function: str | None = None) -> Annotation:
    """What the locations place under these scopes: `layers.*` (PyTorch), `layer_*` (JAX)."""
    return _annotate(f"scope={_patterns(patterns)}", policy, recompute, name, function)


def calls(*patterns: str, policy: str | None = None, recompute=(), name: str | None = None,
          function: str | None = None) -> Annotation:
    """Each call of a function with such a name."""
    return _annotate(f"calls={_patterns(patterns)}", policy, recompute, name, function)


def ops(*kinds: str, policy: str | None = None, recompute=(), name: str | None = None,
        function: str | None = None) -> Annotation:
    """Operations by kind (`dot`, `elementwise`, `reduction`, `softmax`, `norm`, `gather`) or name (`math.*`)."""
    return _annotate(f"ops={_patterns(kinds)}", policy, recompute, name, function)


def checkpoints(*, policy: str | None = None, recompute=(), name: str | None = None,
                function: str | None = None) -> Annotation:
    """Each application of `jax.checkpoint` or `torch.utils.checkpoint` that the locations tell of."""
    return _annotate("checkpoints", policy, recompute, name, function)
