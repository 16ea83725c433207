"""LSTMs, GRUs and RNNs of PyTorch as loops over time steps, whatever their number: PyTorch's own decomposition is as many copies of a step.

What does not depend on the state is computed before, for all time steps at once: the inputs' share of the gates. The rest of a layer in one
direction is an operator, a call while torch-mlir lowers the module, and a loop (`scf.for`) in the end, whose states and results are
differentiated like those of any other loop.
"""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_mlir import ir

from remat import torch_stops

NAME = "recur"
# `last`: an LSTM's projection, or what a GRU adds to its products. An output for each time step, and the last states.
torch_stops.LIBRARY.define(f"{NAME}(Tensor gates, Tensor hidden, Tensor weights, Tensor? cell, Tensor? last, int kind, int is_backward) "
                           "-> (Tensor, Tensor, Tensor)")


def step_lstm(gates: Tensor, state: list[Tensor], weights: Tensor, bias: Tensor | None, projection: Tensor | None) -> list[Tensor]:
    i, f, g, o = (gates + F.linear(state[0], weights, bias)).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    hidden = o.sigmoid() * cell.tanh()
    return [hidden if projection is None else F.linear(hidden, projection), cell]


def step_gru(gates: Tensor, state: list[Tensor], weights: Tensor, bias: Tensor | None, _: Tensor | None) -> list[Tensor]:
    (reset, update, new), own = gates.chunk(3, -1), F.linear(state[0], weights, bias).chunk(3, -1)
    update = (update + own[1]).sigmoid()
    new = (new + (reset + own[0]).sigmoid() * own[2]).tanh()
    return [new + update * (state[0] - new)]


def step_rnn(activation: Callable[[Tensor], Tensor]) -> Callable[..., list[Tensor]]:
    return lambda gates, state, weights, bias, _: [activation(gates + F.linear(state[0], weights, bias))]


LSTM, GRU, TANH, RELU = range(4)
STEPS: list[Callable[..., list[Tensor]]] = [step_lstm, step_gru, step_rnn(torch.tanh), step_rnn(torch.relu)]


def times(count: int, is_backward: int) -> range:
    return range(count)[::-1 if is_backward else 1]


def recur(gates: Tensor, hidden: Tensor, weights: Tensor, cell: Tensor | None, last: Tensor | None, kind: int,
          is_backward: int) -> tuple[Tensor, Tensor, Tensor]:
    state, outputs = [hidden] if cell is None else [hidden, cell], gates.new_empty(*gates.shape[:2], hidden.shape[1])
    bias, projection = (last, None) if kind == GRU else (None, last)
    for time in times(gates.shape[0], is_backward):
        state = STEPS[kind](gates[time], state, weights, bias, projection)
        outputs[time] = state[0]
    return outputs, state[0].clone(), state[-1].clone()


def recur_without_numbers(gates: Tensor, hidden: Tensor, weights: Tensor, cell: Tensor | None, last: Tensor | None, kind: int,
                          is_backward: int) -> tuple[Tensor, Tensor, Tensor]:
    return gates.new_empty(*gates.shape[:2], hidden.shape[1]), torch.empty_like(hidden), torch.empty_like(hidden if cell is None else cell)


torch_stops.LIBRARY.impl(NAME, recur, "CompositeExplicitAutograd")
torch.library.register_fake(f"remat::{NAME}", recur_without_numbers, lib=torch_stops.LIBRARY)


def layers_of(kind: int) -> Callable[..., Any]:
    """PyTorch's operator of all layers, in both directions if it says so."""
    def compute(x: Tensor, start: Any, flat: list[Tensor], has_bias: bool, layers: int, dropout: float, is_training: bool,
                is_bidirectional: bool, batch_first: bool) -> Any:
        start, directions = [start] if isinstance(start, Tensor) else list(start), 2 if is_bidirectional else 1
        per = len(flat) // (layers * directions)
        if 0 in x.shape or x.is_complex():
            return NotImplemented
        x, ends = x.transpose(0, 1) if batch_first else x, []
        for layer in range(layers):
            results = []
            for direction in range(directions):
                number = layer * directions + direction
                own = flat[number * per:(number + 1) * per]
                bias, last = own[2] if has_bias else None, own[-1] if per % 2 else None
                if has_bias and kind == GRU:
                    last = own[3]
                elif has_bias:
                    bias = own[2] + own[3]
                hidden, *cell = (state[number] for state in start)
                output, *end = torch.ops.remat.recur(F.linear(x, own[0], bias), hidden, own[1], cell[0] if cell else None, last, kind, direction)
                results.append(output)
                ends.append(end)
            x = torch.cat(results, -1) if is_bidirectional else results[0]
            if dropout and is_training and layer < layers - 1:
                x = F.dropout(x, dropout)
        return x.transpose(0, 1) if batch_first else x, *(torch.stack(parts) for parts in list(zip(*ends))[:len(start)])
    return compute


aten = torch.ops.aten
TABLE = {aten.lstm.input: layers_of(LSTM), aten.gru.input: layers_of(GRU), aten.rnn_tanh.input: layers_of(TANH),
         aten.rnn_relu.input: layers_of(RELU)}


class Body:
    """The text of a function. Of all its tensors the first dimension is the batch, whose size may be unknown."""

    def __init__(self, kind: str):
        self.kind, self.wide = kind, "f32" if kind in ("bf16", "f16") else kind
        self.lines: list[str] = []

    def add(self, text: str) -> str:
        """Adds an operation of one result, and returns its name."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def shape(self, *sizes: int | str, kind: str = "") -> str:
        return f"tensor<{'x'.join(map(str, sizes))}x{kind or self.kind}>"

    def empty(self, rows: str, width: int, kind: str = "") -> str:
        return self.add(f"tensor.empty({'%batch' if rows == '?' else ''}) : {self.shape(rows, width, kind=kind)}")

    def map(self, rows: str, width: int, inputs: list[str], vectors: list[str], lines: list[str], kinds: tuple[str, str] = ("", "")) -> str:
        """An elementwise operation on arrays, the arguments %a0 and so on, and on rows %b0 and so on that all lines of an array share;
        its last line is the result."""
        source, target = (kind or self.kind for kind in kinds)
        like, other, row = (self.shape(rows, width, kind=target), self.shape(rows, width, kind=source), self.shape(width))
        maps = ", ".join(["affine_map<(i, j) -> (i, j)>"] * len(inputs) + ["affine_map<(i, j) -> (j)>"] * len(vectors)
                         + ["affine_map<(i, j) -> (i, j)>"])
        arguments = ", ".join([f"%a{n}: {source}" for n in range(len(inputs))] + [f"%b{n}: {self.kind}" for n in range(len(vectors))]
                              + [f"%o: {target}"])
        body = "\n".join(f"  %r{n} = {line}" for n, line in enumerate(lines))
        return self.add(f"""linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
    ins({', '.join(inputs + vectors)} : {', '.join([other] * len(inputs) + [row] * len(vectors))})
    outs({self.empty(rows, width, target)} : {like}) {{
^bb0({arguments}):
{body}
  linalg.yield %r{len(lines) - 1} : {target}
}} -> {like}""")

    def cast(self, value: str, rows: str, width: int, source: str, target: str) -> str:
        if source == target:
            return value
        name = "truncf" if target == self.kind else "extf"
        return self.map(rows, width, [value], [], [f"arith.{name} %a0 : {source} to {target}"], (source, target))

    def product(self, value: str, matrix: str, rows: str, inner: int, width: int, start: str | None = None) -> str:
        """The sum of `start` and `value` x `matrix`, of 16-bit numbers in f32."""
        if start is None:
            out = self.add(f"linalg.fill ins(%zero_sum : {self.wide}) outs({self.empty(rows, width, self.wide)} : "
                           f"{self.shape(rows, width, kind=self.wide)}) -> {self.shape(rows, width, kind=self.wide)}")
        else:
            out = self.cast(start, rows, width, self.kind, self.wide)
        result = self.shape(rows, width, kind=self.wide)
        product = self.add(f"linalg.matmul ins({value}, {matrix} : {self.shape(rows, inner)}, {self.shape(inner, width)}) "
                           f"outs({out} : {result}) -> {result}")
        return self.cast(product, rows, width, self.wide, self.kind)

    def transpose(self, value: str, rows: int, width: int) -> str:
        like = self.shape(width, rows)
        empty = self.add(f"tensor.empty() : {like}")
        return self.add(f"linalg.transpose ins({value} : {self.shape(rows, width)}) outs({empty} : {like}) permutation = [1, 0]")

    def parts(self, value: str, rows: str, width: int, count: int) -> list[str]:
        """Of columns, `count` of the same width."""
        size = "%batch" if rows == "?" else rows
        return [self.add(f"tensor.extract_slice {value}[0, {n * width}] [{size}, {width}] [1, 1] : "
                         f"{self.shape(rows, count * width)} to {self.shape(rows, width)}") for n in range(count)]

    def pieces(self, value: str, width: int, count: int) -> list[str]:
        """The same of a vector."""
        return [self.add(f"tensor.extract_slice {value}[{n * width}] [{width}] [1] : {self.shape(count * width)} to {self.shape(width)}")
                for n in range(count)]

    def sigmoid(self, value: str, first: int) -> list[str]:
        """Lines from number `first` on, the last of which is the sigmoid of `value`."""
        return [f"arith.negf {value} : {self.kind}", f"math.exp %r{first} : {self.kind}", f"arith.addf %r{first + 1}, %one : {self.kind}",
                f"arith.divf %one, %r{first + 2} : {self.kind}"]


def write_lstm(body: Body, rows: str, states: dict[str, str], gates: str, matrix: str, projection: str, width: int,
               outputs: int) -> tuple[str, str]:
    kind = body.kind
    i, f, g, o = body.parts(body.product(states["hidden"], matrix, rows, outputs, 4 * width, gates), rows, width, 4)
    cell = body.map(rows, width, [i, f, g, states["cell"]], [], [
        *body.sigmoid("%a1", 0), f"arith.mulf %r3, %a3 : {kind}", *body.sigmoid("%a0", 5), f"math.tanh %a2 : {kind}",
        f"arith.mulf %r8, %r9 : {kind}", f"arith.addf %r4, %r10 : {kind}"])
    hidden = body.map(rows, width, [o, cell], [], [
        *body.sigmoid("%a0", 0), f"math.tanh %a1 : {kind}", f"arith.mulf %r3, %r4 : {kind}"])
    return body.product(hidden, projection, rows, width, outputs) if projection else hidden, cell


def write_gru(body: Body, rows: str, states: dict[str, str], gates: str, matrix: str, bias: str, width: int) -> tuple[str, str]:
    kind = body.kind
    own = body.parts(body.product(states["hidden"], matrix, rows, width, 3 * width), rows, width, 3)
    given, biases = body.parts(gates, rows, width, 3), body.pieces(bias, width, 3) if bias else []

    def add(lines: list[str], value: str, other: int) -> str:
        """A line that adds a part of the bias, if there is one, and the result of it."""
        if not bias:
            return value
        lines.append(f"arith.addf {value}, %b{other} : {kind}")
        return f"%r{len(lines) - 1}"

    lines: list[str] = []
    lines.append(f"arith.addf %a0, {add(lines, '%a1', 0)} : {kind}")
    lines += body.sigmoid(f"%r{len(lines) - 1}", len(lines))
    reset = f"%r{len(lines) - 1}"
    lines.append(f"arith.mulf {reset}, {add(lines, '%a3', 1)} : {kind}")
    lines += [f"arith.addf %a2, %r{len(lines) - 1} : {kind}", f"math.tanh %r{len(lines)} : {kind}"]
    new = body.map(rows, width, [given[0], own[0], given[2], own[2]], [biases[0], biases[2]] if bias else [], lines)
    lines = []
    lines.append(f"arith.addf %a0, {add(lines, '%a1', 0)} : {kind}")
    lines += body.sigmoid(f"%r{len(lines) - 1}", len(lines))
    lines += [f"arith.subf %a2, %a3 : {kind}", f"arith.mulf %r{len(lines) - 1}, %r{len(lines)} : {kind}",
              f"arith.addf %a3, %r{len(lines) + 1} : {kind}"]
    hidden = body.map(rows, width, [given[1], own[1], states["hidden"], new], biases[1:2], lines)
    return hidden, hidden


def write_rnn(body: Body, rows: str, states: dict[str, str], gates: str, matrix: str, is_relu: bool, width: int) -> tuple[str, str]:
    sums, kind = body.product(states["hidden"], matrix, rows, width, width, gates), body.kind
    lines = ([f"arith.cmpf ugt, %a0, %zero : {kind}", f"arith.select %r0, %a0, %zero : {kind}"] if is_relu else
             [f"math.tanh %a0 : {kind}"])
    hidden = body.map(rows, width, [sums], [], lines)
    return hidden, hidden


def write(name: str, gates: ir.RankedTensorType, hidden: ir.RankedTensorType, weights: ir.RankedTensorType, *rest: Any) -> str:
    """The function `name`: from gates of time steps x batch x gates, states of batch x width, and weights of gates x width."""
    *others, kind, is_backward = rest
    body = Body(str(gates.element_type))
    steps, rows = ("?" if gates.is_dynamic_dim(d) else str(gates.shape[d]) for d in (0, 1))
    wide, outputs = weights.shape
    width = wide // {LSTM: 4, GRU: 3}.get(kind, 1)
    names = (["cell"] if kind == LSTM else []) + ["last"]
    arguments = {"gates": body.shape(steps, rows, wide), "hidden": body.shape(rows, outputs), "weights": body.shape(wide, outputs),
                 **{argument: str(other) for argument, other in zip(names, others)}}
    last = "%last" if "last" in arguments else ""
    matrix = body.transpose("%weights", wide, outputs)
    if kind == LSTM and last:
        last = body.transpose("%last", outputs, width)
    before, body.lines = body.lines, [""] * len(body.lines)
    count, size = len(before), "%batch" if rows == "?" else rows
    given = body.add(f"tensor.extract_slice %gates[%time, 0, 0] [1, {size}, {wide}] [1, 1, 1] : {arguments['gates']} to {body.shape(rows, wide)}")
    states = {"hidden": outputs, **({"cell": width} if kind == LSTM else {})}
    before_step = {state: f"%{state}" for state in states}
    if rows == "?":  # States have as many rows as gates, which the compiler has to see.
        before_step = {state: body.add(f"tensor.extract_slice %{state}[0, 0] [%batch, {columns}] [1, 1] : {arguments[state]} to {arguments[state]}")
                       for state, columns in states.items()}
    if kind == LSTM:
        new, cell = write_lstm(body, rows, before_step, given, matrix, last, width, outputs)
    elif kind == GRU:
        new, cell = write_gru(body, rows, before_step, given, matrix, last, width)
    else:
        new, cell = write_rnn(body, rows, before_step, given, matrix, kind == RELU, width)
    state, cells, stack = body.shape(rows, outputs), body.shape(rows, width), body.shape(steps, rows, outputs)
    all_outputs = body.add(f"tensor.insert_slice {new} into %outputs[%time, 0, 0] [1, {size}, {outputs}] [1, 1, 1] : {state} into {stack}")
    loops = {"hidden": (state, new), **({"cell": (cells, cell)} if kind == LSTM else {}), "outputs": (stack, all_outputs)}
    carried = ", ".join(f"%{loop} = {'%stack' if loop == 'outputs' else f'%{loop}_0'}" for loop in loops)
    types = ", ".join(loop_type for loop_type, _ in loops.values())
    last_cell = f"%all#{1 if kind == LSTM else 0}"
    sizes = [f"%{size}" for size, known in (("steps", steps), ("batch", rows)) if known == "?"]
    inside, outside = "\n".join(body.lines[count:]), "\n".join(before)
    parameters = ", ".join(f"%{argument}{'_0' if argument in loops else ''}: {text}" for argument, text in arguments.items())
    return f"""
func.func private @{name}({parameters})
    -> ({stack}, {state}, {cells}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : {body.kind}
  %one = arith.constant 1.0 : {body.kind}
  %zero_sum = arith.constant 0.0 : {body.wide}
  %steps = tensor.dim %gates, %c0 : {arguments['gates']}
  %batch = tensor.dim %gates, %c1 : {arguments['gates']}
  %last_step = arith.subi %steps, %c1 : index
  {outside}
  %stack = tensor.empty({', '.join(sizes)}) : {stack}
  %all:{len(loops)} = scf.for %i = %c0 to %steps step %c1 iter_args({carried}) -> ({types}) {{
    %time = arith.{'subi %last_step, %i' if is_backward else 'addi %i, %c0'} : index
    {inside}
    scf.yield {', '.join(value for _, value in loops.values())} : {types}
  }}
  return %all#{len(loops) - 1}, %all#0, {last_cell} : {stack}, {state}, {cells}
}}
"""
