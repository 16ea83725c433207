# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives that a PyTorch module takes in its forward: `torch.autograd.grad`, and `torch.func.grad`, `vjp`, `jacrev`, `jacfwd` and
`hessian`, which end in it here.

What torch.export traces are calls of operators, not what autograd saves for its own backward. So a derivative is taken of the graph that
has been traced so far: the operations between the inputs and the outputs run once more, without contents, and PyTorch's backward of them
is traced to operations of the model like all others. The derivative of these, too, is then the compiler's, or that of another call.
"""
import contextlib
import functools
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch._functorch import eager_transforms
from torch._subclasses import FakeTensorMode
from torch.fx.experimental import proxy_tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_flatten, tree_unflatten

from remat.errors import ExportError
from remat.export.locations import find_in_trace
from remat.torch import resample, stops
from remat.torch.nodes import arguments_of
from remat.torch.reference import draws_nothing

of_autograd = torch.autograd.grad
VALUES = "remat_values"
# Rules for PyTorch's operations that occur in a backward only, and for those whose backward uses results without a derivative.
KEEPING = ("native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
           "_fused_rms_norm", "log_sigmoid_forward")
DECOMPOSED = {op: rule for op, rule in torch._decomp.decomposition_table.items()
              if "backward" in str(op) or isinstance(op, torch._ops.OpOverload) and op.overloadpacket.__name__ in KEEPING} | resample.TABLE


def refuse(reason: str, node: torch.fx.Node | None = None) -> ExportError:
    place = find_in_trace(node.meta.get("stack_trace") or "") if node else None
    return ExportError(f"{reason}{f' ({place[0]}:{place[1]})' if place else ''}")


def find_modes(nodes: list[torch.fx.Node]) -> set[torch.fx.Node]:
    """Returns the nodes that change how those after them run: no_grad, autocast, and vmap where that has ended."""
    found, begun = set(), []
    for node in nodes:
        name = getattr(node.target, "__name__", "") if node.op == "call_function" else ""
        if name in ("_set_grad_enabled", "_enter_autocast", "_exit_autocast"):
            found.add(node)
        elif name == "_vmap_increment_nesting":
            begun.append(node)
        elif name == "_vmap_decrement_nesting" and begun:
            found.update((begun.pop(), node))
    return found


def written(node: torch.fx.Node) -> list[torch.fx.Node]:
    """Returns the tensors that the operands which `node` writes to are views of."""
    return [stops.find_root(value) for value, alias in stops.find_aliases(node) if alias.is_write]


def draws(node: torch.fx.Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload) or torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    given = arguments_of(node)
    is_off = 0 in [given[name] for name in ("p", "dropout", "dropout_p") if name in given] or given.get("train") is False
    return not is_off and not draws_nothing(node.target, node.args, node.kwargs)


def is_kept(target: Any) -> bool:
    """Returns true if results of `target` without a derivative are there for its backward: it has a derivative of its own,
    rather than those of the operations that it consists of."""
    return isinstance(target, torch._ops.OpOverload) and not target.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)


class Replay:
    """The part of `graph` between `inputs` and `outputs`."""

    def __init__(self, graph: torch.fx.Graph, inputs: list[torch.fx.Node], outputs: list[torch.fx.Node]):
        self.inputs, self.outputs, order = inputs, outputs, list(graph.nodes)
        self.between = set(inputs)
        writers: dict[torch.fx.Node, list[torch.fx.Node]] = {}
        for node in order:
            for root in written(node) if node.op == "call_function" and node.target is not torch.ops.aten.detach_.default else ():
                writers.setdefault(root, []).append(node)
        size = 0
        while size < len(self.between):  # what is written to counts from where it is made
            size = len(self.between)
            for node in order:
                if node.op != "call_function" or node in self.between or not any(n in self.between for n in node.all_input_nodes):
                    continue
                if draws(node) and "dropout" not in str(node.target):
                    continue  # numbers that no derivative follows
                self.between.add(node)
            for root, nodes in writers.items():
                if any(node in self.between for node in nodes) or any(user in self.between for user in root.users):
                    if root.op == "placeholder" or root in inputs:
                        raise refuse("forward takes a derivative across a write to a tensor that it does not make itself; write to a clone",
                                     nodes[0])
                    self.between.add(root)
        needed, self.nodes, modes = set(outputs), [], find_modes(order)
        for node in reversed(order):
            if node in self.between and (node in needed or any(root in needed for root in written(node))):
                needed.update(node.all_input_nodes)
                needed.update(written(node))
        for node in order:
            if node in modes or node in self.between and node not in inputs and (
                    node in needed or any(root in needed for root in written(node))):
                if draws(node):
                    raise refuse("forward takes a derivative of a tensor with respect to another, and random numbers that are drawn between them "
                                 "(dropout) would be drawn again; draw a mask before (torch.bernoulli), or set the probability to 0", node)
                if "remat::custom_" in str(getattr(node.target, "_schema", "")):
                    raise refuse("forward takes a derivative of a torch.autograd.Function, whose backward it cannot follow; write it with operations "
                                 "of PyTorch", node)
                self.nodes.append(node)
        used = {n for node in self.nodes for n in node.all_input_nodes} | set(outputs)
        self.free = [node for node in order if node in used and node not in self.between]

    def run(self, leaves: Sequence[torch.Tensor], free: Sequence[torch.Tensor]) -> list[Any]:
        values: dict[torch.fx.Node, Any] = dict(zip([*self.inputs, *self.free], [*leaves, *free]))
        for node in self.nodes:
            args, named = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
            value = node.target(*args, **named)
            if node.target is torch.ops.aten.detach.default or not torch.is_grad_enabled() and stops.is_float(node) and not written(node):
                value = torch.ops.remat.stop_gradient(value.detach())
            if node.target is operator.getitem and stops.is_float(node) and not value.requires_grad and \
                    is_kept(node.args[0].target) and any(isinstance(v, torch.Tensor) and v.requires_grad for v in args[0]):
                raise refuse("forward takes a derivative of a derivative, for which PyTorch has a rule that cannot be exported, of the operation "
                             "here", node)
            values[node] = value
        return [values[node] for node in self.outputs]

    def differentiate(self, cotangents: list[list[torch.Tensor | None]], values: Callable[[torch.fx.Node], Any]) -> torch.fx.GraphModule:
        """Returns a graph that computes the gradients for each list of cotangents, without those that are None, from the values of
        inputs and free nodes and the cotangents that are not None; `unused` tells which gradients are. Raises an ExportError for
        tensors whose shapes depend on data."""
        kinds = [like(values(node)) for node in (*self.inputs, *self.free)]
        count = len(self.inputs)
        given = [like(value) for some in cotangents for value in some if value is not None]
        self.unused: list[bool] = []

        def compute(*operands: Any) -> list[torch.Tensor]:
            with torch.enable_grad():
                leaves = [value.detach().requires_grad_() for value in operands[:count]]
                outputs = self.run(leaves, operands[count:len(kinds)])
                found: list[Any] = []
                rest = iter(operands[len(kinds):])
                for some in cotangents:
                    seeds = [torch.ones_like(output) if value is None else next(rest).to(output.dtype)
                             for output, value in zip(outputs, some)]
                    pairs = [(output, seed) for output, seed in zip(outputs, seeds) if output.requires_grad]
                    found += of_autograd([o for o, _ in pairs], leaves, [s for _, s in pairs], retain_graph=True,
                                                 allow_unused=True) if pairs else [None] * count
            self.unused = [gradient is None for gradient in found]
            return [gradient for gradient in found if gradient is not None]

        def trace() -> torch.fx.GraphModule:
            with FakeTensorMode(), sdpa_kernel(SDPBackend.MATH):
                operands = [make() for make in (*kinds, *given)]
                return proxy_tensor.make_fx(compute, decomposition_table=DECOMPOSED)(*operands)

        with ThreadPoolExecutor(1) as executor:  # the modes that trace are those of a thread
            graph = executor.submit(trace).result()
        for node in list(graph.graph.nodes):
            if node.target is torch.ops.aten.detach.default:  # autograd's own, of what it saves
                node.replace_all_uses_with(node.args[0])
                graph.graph.erase_node(node)
        graph.graph.eliminate_dead_code()
        graph.recompile()
        return graph


def like(value: Any) -> Callable[[], Any]:
    if not isinstance(value, torch.Tensor):
        return lambda: value
    if not all(isinstance(size, int) for size in value.shape):
        raise refuse("forward takes a derivative across a tensor whose shape depends on data")
    return functools.partial(torch.empty_strided, tuple(value.shape), value.stride(), dtype=value.dtype, device=value.device)


def differentiate(outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor],
                  cotangents: list[list[torch.Tensor | None]]) -> list[Any]:
    """Returns, for each list of cotangents, the gradients of the inputs, None for an input that no output depends on."""
    mode = proxy_tensor.get_proxy_mode()
    assert mode is not None
    tracer: Any = mode.tracer

    def node_of(tensor: torch.Tensor) -> Any:
        slot = proxy_tensor.get_proxy_slot(tensor, tracer, None)
        return slot.proxy.node if slot is not None else None

    known: dict[torch.fx.Node, Any] = {}
    nodes: list[list[torch.fx.Node]] = []
    for tensors, what in ((inputs, "with respect to"), (outputs, "of")):
        for tensor in tensors:
            if node_of(tensor) is None:
                raise refuse(f"forward takes a derivative {what} a tensor that is no result of an operation of PyTorch's, or an argument")
            known[node_of(tensor)] = tensor
        nodes.append([node_of(tensor) for tensor in tensors])
    replay = Replay(tracer.graph, nodes[0], nodes[1])

    def value(node: torch.fx.Node) -> Any:
        """That of a node, as a tensor that is traced as this node."""
        if node not in known:
            found = tracer.__dict__.get(VALUES, {}).get(node, node.meta.get("val"))
            if node.op == "get_attr":
                found = getattr(tracer.root, str(node.target))
            if isinstance(found, torch.Tensor) and node_of(found) is not node:
                with proxy_tensor.disable_proxy_modes_tracing():
                    found = found.detach()
                tracer.tensor_tracker[found] = proxy_tensor._ProxyTensor(torch.fx.Proxy(node, tracer), None)
            known[node] = found
        return known[node]

    graph = replay.differentiate(cotangents, value)
    operands = [value(node) for node in (*replay.inputs, *replay.free)]
    found = iter(torch.fx.Interpreter(graph).run(*operands, *(c for some in cotangents for c in some if c is not None)))
    return [None if is_unused else next(found) for is_unused in replay.unused]


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
         allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:
    """`torch.autograd.grad`."""
    if is_grads_batched:
        raise refuse("torch.autograd.grad with is_grads_batched has no rule; use torch.func.jacrev")
    outputs, inputs = ([x] if isinstance(x, torch.Tensor) else list(x) for x in (outputs, inputs))
    seeds = [None] * len(outputs) if grad_outputs is None else [grad_outputs] if isinstance(grad_outputs, torch.Tensor) else list(grad_outputs)
    if any(seed is None and output.numel() != 1 for output, seed in zip(outputs, seeds, strict=True)):
        raise refuse("grad can be implicitly created only for scalar outputs; pass grad_outputs")
    found = differentiate(outputs, inputs, [seeds])
    if materialize_grads:
        found = [torch.zeros_like(x) if gradient is None else gradient for gradient, x in zip(found, inputs)]
    if None in [gradient if gradient is None else 0 for gradient in found] and not allow_unused:
        raise refuse("one of the tensors that forward takes a derivative with respect to is not used in what it is taken of; pass allow_unused=True")
    return tuple(gradient if create_graph or gradient is None else gradient.detach() for gradient in found)


# --- torch.func -----------------------------------------------------------------------------------


def apply(function: Callable[..., Any], argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[torch.Tensor], Any]:
    """Calls `function`, and returns its result, the tensors that it is differentiated by, and their structure."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    flat, spec = tree_flatten(tuple(args[n] for n in numbers))
    inputs = [tensor.clone() for tensor in flat]
    replaced, own = list(args), tree_unflatten(inputs, spec)
    for n, value in zip(numbers, own):
        replaced[n] = value
    structure = spec if not isinstance(argnums, int) else tree_flatten(args[argnums])[1]
    return function(*replaced, **kwargs), inputs, structure


def split_auxiliary(output: Any, has_aux: bool) -> tuple[Any, Any]:
    if has_aux and not (isinstance(output, tuple) and len(output) == 2):
        raise refuse("with has_aux=True, the function must return a tuple (output, aux)")
    return output if has_aux else (output, None)


def grad_and_value(function: Callable[..., Any], argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    output, inputs, spec = apply(function, argnums, args, kwargs)
    output, aux = split_auxiliary(output, has_aux)
    if not isinstance(output, torch.Tensor) or output.dim():
        raise refuse("torch.func.grad is of functions that return a scalar; use torch.func.vjp or jacrev")
    found = [torch.zeros_like(x) if g is None else g for g, x in zip(differentiate([output], inputs, [[None]]), inputs)]
    gradients = tree_unflatten(found, spec)
    return (gradients, (output, aux)) if has_aux else (gradients, output)


def vjp_with_argnums(function: Callable[..., Any], *primals: Any, argnums: Any = None, has_aux: bool = False) -> Any:
    numbers = tuple(range(len(primals))) if argnums is None else argnums
    output, inputs, spec = apply(function, numbers, primals, {})
    output, aux = split_auxiliary(output, has_aux)
    outputs, _ = tree_flatten(output)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        found = differentiate(outputs, inputs, [tree_flatten(cotangents)[0]])
        return tree_unflatten([torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs)], spec)

    return (output, pull, aux) if has_aux else (output, pull)


def jvp_with_argnums(function: Callable[..., Any], primals: tuple[Any, ...], tangents: Any, argnums: Any = None, *, strict: bool = False,
                     has_aux: bool = False) -> Any:
    """The gradient, in the cotangents, of the product of the tangents with the gradient for these."""
    numbers = tuple(range(len(primals))) if argnums is None else argnums
    output, inputs, _ = apply(function, numbers, primals, {})
    output, aux = split_auxiliary(output, has_aux)
    outputs, structure = tree_flatten(output)
    seeds = [torch.ones_like(value).clone() for value in outputs]
    slopes = differentiate(outputs, inputs, [list(seeds)])
    terms = [(slope * tangent).sum() for slope, tangent in zip(slopes, tree_flatten(tangents)[0]) if slope is not None]
    found = differentiate([sum(terms[1:], terms[0])], seeds, [[None]]) if terms else [None] * len(seeds)
    result = tree_unflatten([torch.zeros_like(value) if t is None else t for t, value in zip(found, outputs)], structure)
    return (output, result, aux) if has_aux else (output, result)


def jacobian(function: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **_: Any) -> Callable[..., Any]:
    """`torch.func.jacrev`, and `jacfwd`."""
    def compute(*args: Any, **kwargs: Any) -> Any:
        output, inputs, spec = apply(function, argnums, args, kwargs)
        output, aux = split_auxiliary(output, has_aux)
        outputs, structure = tree_flatten(output)
        blocks = []
        for tensor in outputs:
            basis = torch.eye(tensor.numel(), dtype=tensor.dtype).reshape(tensor.numel(), *tensor.shape)
            found = iter(differentiate([tensor], inputs, [[row] for row in basis.unbind(0)]) if tensor.numel() else [])
            rows = [[torch.zeros_like(x) if (g := next(found)) is None else g for x in inputs] for _ in range(tensor.numel())]
            blocks.append(tree_unflatten([torch.stack(column).reshape(*tensor.shape, *column[0].shape) for column in zip(*rows)], spec))
        result = tree_unflatten(blocks, structure)
        return (result, aux) if has_aux else result
    return compute


def hessian(function: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    return jacobian(jacobian(function, argnums), argnums)


@contextlib.contextmanager
def traced() -> Iterator[None]:
    """While torch.export traces a module, derivatives that it takes are a part of it."""
    tracing = threading.get_ident()  # modes that trace before they dispatch are those of all threads

    def when_traced(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(theirs)
        def choose(*args: Any, **kwargs: Any) -> Any:
            mode = proxy_tensor.get_proxy_mode()
            return (ours if mode is not None and mode.pre_dispatch and threading.get_ident() == tracing else theirs)(*args, **kwargs)
        return choose

    set_slot = proxy_tensor.set_proxy_slot

    def keep(value: Any, tracer: Any, proxy: Any) -> None:
        """Every tensor that is traced, which would else be gone when a derivative is taken across it. PyTorch copies a new one that
        somebody else has, too."""
        node = proxy.proxy.node if isinstance(value, torch.Tensor) else None
        is_made = node is not None and (any(name in str(node.target) for name in ("_like.", "new_")) or all(
            isinstance(size.meta.get("val"), torch.SymInt) for size in node.all_input_nodes))
        if node is not None and not is_made:
            tracer.__dict__.setdefault(VALUES, {})[node] = value
        set_slot(value, tracer, proxy)

    replaced: list[tuple[Any, str, Any]] = [
        (torch.autograd, "grad", grad), (eager_transforms, "grad_and_value_impl", grad_and_value),
        (eager_transforms, "_vjp_with_argnums", vjp_with_argnums), (eager_transforms, "_jvp_with_argnums", jvp_with_argnums)]
    replaced += [(module, name, ours) for module in (torch.func, eager_transforms)
                 for name, ours in (("jacrev", jacobian), ("jacfwd", jacobian), ("hessian", hessian))]
    saved = [(module, name, getattr(module, name)) for module, name, _ in replaced] + [(proxy_tensor, "set_proxy_slot", set_slot)]
    for (module, name, ours), (_, _, theirs) in zip(replaced, saved):
        setattr(module, name, when_traced(ours, theirs))
    proxy_tensor.set_proxy_slot = keep
    try:
        yield
    finally:
        for module, name, theirs in saved:
            setattr(module, name, theirs)
