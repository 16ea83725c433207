# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LSTMs, GRUs and RNNs of PyTorch as loops over time steps, whatever their number: PyTorch's own decomposition is as many copies of a step.

What does not depend on the state is computed before, for all time steps at once: the inputs' share of the gates. The rest of a layer in one
direction is an operator, a call while torch-mlir lowers the module, and a loop (`scf.for`) in the end, whose states and results are
differentiated like those of any other loop.
"""
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_mlir import ir

from remat.export import scalars
from remat.torch import stops

NAME = "recur"
# `last`: an LSTM's projection, or what a GRU adds to its products. An output for each time step, and the last states.
stops.LIBRARY.define(f"{NAME}(Tensor gates, Tensor hidden, Tensor weights, Tensor? cell, Tensor? last, int kind, int is_backward) "
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


def run_steps(kind: int, gates: Tensor, state: list[Tensor], weights: Tensor, bias: Tensor | None, projection: Tensor | None,
              is_backward: int, mask: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
    """One step after the other: the outputs of all, and the last states. Where `mask` says that a sequence has ended, its state stays."""
    outputs: list[Any] = [None] * gates.shape[0]
    for time in range(gates.shape[0])[::-1 if is_backward else 1]:
        new = STEPS[kind](gates[time], state, weights, bias, projection)
        state = new if mask is None else [torch.where(mask[time].unsqueeze(-1), *pair) for pair in zip(new, state)]
        outputs[time] = state[0]
    return torch.stack(outputs), state


def recur(gates: Tensor, hidden: Tensor, weights: Tensor, cell: Tensor | None, last: Tensor | None, kind: int,
          is_backward: int) -> tuple[Tensor, Tensor, Tensor]:
    bias, projection = (last, None) if kind == GRU else (None, last)
    outputs, state = run_steps(kind, gates, [hidden] if cell is None else [hidden, cell], weights, bias, projection, is_backward)
    return outputs, state[0].clone(), state[-1].clone()


def recur_without_numbers(gates: Tensor, hidden: Tensor, weights: Tensor, cell: Tensor | None, last: Tensor | None, kind: int,
                          is_backward: int) -> tuple[Tensor, Tensor, Tensor]:
    return gates.new_empty(*gates.shape[:2], hidden.shape[1]), torch.empty_like(hidden), torch.empty_like(hidden if cell is None else cell)


stops.LIBRARY.impl(NAME, recur, "CompositeExplicitAutograd")
torch.library.register_fake(f"remat::{NAME}", recur_without_numbers, lib=stops.LIBRARY)


@dataclasses.dataclass
class Weights:
    """Of a layer in one direction."""

    inputs: Tensor
    states: Tensor
    input_bias: Tensor | None
    state_bias: Tensor | None
    projection: Tensor | None


# Computes a layer in one direction, from inputs with time first: its outputs and last states.
Run = Callable[[Tensor, list[Tensor], Weights, int], tuple[Tensor, list[Tensor]]]


def run_layers(run: Run, x: Tensor, start: Any, flat: list[Tensor], has_bias: bool, layers: int, dropout: float, is_training: bool,
               is_bidirectional: bool) -> list[Tensor]:
    """Returns the outputs of the last layer, and the last states of all."""
    starts, directions = [start] if isinstance(start, Tensor) else list(start), 2 if is_bidirectional else 1
    per, ends = len(flat) // (layers * directions), []
    for layer in range(layers):
        results = []
        for direction in range(directions):
            number = layer * directions + direction
            own = flat[number * per:(number + 1) * per]
            biases = own[2:4] if has_bias else [None, None]
            weights = Weights(own[0], own[1], biases[0], biases[1], own[-1] if per % 2 else None)
            output, end = run(x, [state[number] for state in starts], weights, direction)
            results.append(output)
            ends.append(end)
        x = torch.cat(results, -1) if is_bidirectional else results[0]
        if dropout and is_training and layer < layers - 1:
            x = F.dropout(x, dropout)
    return [x, *map(torch.stack, zip(*ends))]


def by_operator(kind: int) -> Run:
    def run(x: Tensor, states: list[Tensor], weights: Weights, direction: int) -> tuple[Tensor, list[Tensor]]:
        bias, last = weights.input_bias, weights.projection
        if kind == GRU:
            last = weights.state_bias
        elif bias is not None:
            bias = bias + weights.state_bias
        hidden, *cell = states
        output, *end = torch.ops.remat.recur(F.linear(x, weights.inputs, bias), hidden, weights.states, cell[0] if cell else None, last, kind,
                                             direction)
        return output, end[:len(states)]
    return run


def by_steps(kind: int, mask: Tensor | None = None) -> Run:
    """As many copies of a step as there are; of sequences that end where `mask` says so."""
    def run(x: Tensor, states: list[Tensor], weights: Weights, direction: int) -> tuple[Tensor, list[Tensor]]:
        return run_steps(kind, F.linear(x, weights.inputs, weights.input_bias), states, weights.states, weights.state_bias, weights.projection,
                         direction, mask)
    return run


def layers_of(kind: int) -> Callable[..., Any]:
    """PyTorch's operator of all layers."""
    def compute(x: Tensor, start: Any, *rest: Any) -> Any:
        *options, batch_first = rest
        run = by_steps(kind) if 0 in x.shape else by_operator(kind)
        x, *ends = run_layers(run, x.transpose(0, 1) if batch_first else x, start, *options)
        return x.transpose(0, 1) if batch_first else x, *ends
    return compute


aten = torch.ops.aten
TABLE = {aten.lstm.input: layers_of(LSTM), aten.gru.input: layers_of(GRU), aten.rnn_tanh.input: layers_of(TANH),
         aten.rnn_relu.input: layers_of(RELU)}


class Scalars(scalars.Scalars):
    """The lines of an elementwise operation's body; %one is there."""

    def sigmoid(self, value: str) -> str:
        power = self.add("math.exp", self.add("arith.negf", value))
        return self.add("arith.divf", "%one", self.add("arith.addf", power, "%one"))


class Body:
    """The text of a function. Of all its tensors the first dimension is the batch, whose size may be unknown (`?`)."""

    def __init__(self, kind: str, rows: str):
        self.kind, self.wide = kind, "f32" if kind in ("bf16", "f16") else kind
        self.rows, self.size = rows, "%batch" if rows == "?" else rows
        self.lines: list[str] = []
        self.count = 0

    def add(self, text: str) -> str:
        """Adds an operation of one result, and returns its name."""
        self.lines.append(f"%v{self.count} = {text}")
        self.count += 1
        return f"%v{self.count - 1}"

    def take(self) -> str:
        """Returns the lines that were added, and removes them."""
        text, self.lines = "\n  ".join(self.lines), []
        return text

    def shape(self, *sizes: int | str, kind: str = "") -> str:
        return f"tensor<{'x'.join(map(str, sizes))}x{kind or self.kind}>"

    def empty(self, width: int, kind: str = "") -> str:
        return self.add(f"tensor.empty({'%batch' if self.rows == '?' else ''}) : {self.shape(self.rows, width, kind=kind)}")

    def map(self, width: int, compute: Callable[..., str], inputs: list[str], vectors: list[str] | None = None, source: str = "",
            target: str = "") -> str:
        """An elementwise operation, of which `compute` adds the body: on arrays, and on rows that all lines of an array share."""
        vectors, source, target = vectors or [], source or self.kind, target or self.kind
        like, other, row = self.shape(self.rows, width, kind=target), self.shape(self.rows, width, kind=source), self.shape(width)
        elements = [f"%a{n}" for n in range(len(inputs))] + [f"%b{n}" for n in range(len(vectors))]
        kinds = [source] * len(inputs) + [self.kind] * len(vectors)
        body = Scalars(self.kind)
        result = compute(body, *elements)
        maps = ["affine_map<(i, j) -> (i, j)>"] * len(inputs) + ["affine_map<(i, j) -> (j)>"] * len(vectors) + ["affine_map<(i, j) -> (i, j)>"]
        arguments = [f"{element}: {kind}" for element, kind in zip(elements, kinds)] + [f"%o: {target}"]
        lines = "\n  ".join(body.lines)
        return self.add(f"""linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = ["parallel", "parallel"]}}
    ins({', '.join(inputs + vectors)} : {', '.join([other] * len(inputs) + [row] * len(vectors))})
    outs({self.empty(width, target)} : {like}) {{
^bb0({', '.join(arguments)}):
  {lines}
  linalg.yield {result} : {target}
}} -> {like}""")

    def cast(self, value: str, width: int, source: str, target: str) -> str:
        if source == target:
            return value
        name = "arith.truncf" if target == self.kind else "arith.extf"
        return self.map(width, lambda s, a: s.add(name, a, kind=f"{source} to {target}"), [value], source=source, target=target)

    def product(self, value: str, matrix: str, inner: int, width: int, start: str | None = None) -> str:
        """The sum of `start` and `value` x `matrix`, of 16-bit numbers in f32."""
        result = self.shape(self.rows, width, kind=self.wide)
        if start is None:
            out = self.add(f"linalg.fill ins(%zero_sum : {self.wide}) outs({self.empty(width, self.wide)} : {result}) -> {result}")
        else:
            out = self.cast(start, width, self.kind, self.wide)
        product = self.add(f"linalg.matmul ins({value}, {matrix} : {self.shape(self.rows, inner)}, {self.shape(inner, width)}) "
                           f"outs({out} : {result}) -> {result}")
        return self.cast(product, width, self.wide, self.kind)

    def transpose(self, value: str, rows: int, width: int) -> str:
        like = self.shape(width, rows)
        empty = self.add(f"tensor.empty() : {like}")
        return self.add(f"linalg.transpose ins({value} : {self.shape(rows, width)}) outs({empty} : {like}) permutation = [1, 0]")

    def parts(self, value: str, width: int, count: int) -> list[str]:
        """Of columns, `count` of the same width."""
        return [self.add(f"tensor.extract_slice {value}[0, {n * width}] [{self.size}, {width}] [1, 1] : "
                         f"{self.shape(self.rows, count * width)} to {self.shape(self.rows, width)}") for n in range(count)]

    def pieces(self, value: str, width: int, count: int) -> list[str]:
        """The same of a vector."""
        return [self.add(f"tensor.extract_slice {value}[{n * width}] [{width}] [1] : {self.shape(count * width)} to {self.shape(width)}")
                for n in range(count)]


def write_lstm(body: Body, states: list[str], gates: str, matrix: str, projection: str, width: int, outputs: int) -> list[str]:
    def next_cell(s: Scalars, i: str, f: str, g: str, cell: str) -> str:
        kept = s.add("arith.mulf", s.sigmoid(f), cell)
        given = s.sigmoid(i)
        return s.add("arith.addf", kept, s.add("arith.mulf", given, s.add("math.tanh", g)))

    def output(s: Scalars, o: str, cell: str) -> str:
        gate = s.sigmoid(o)
        return s.add("arith.mulf", gate, s.add("math.tanh", cell))

    i, f, g, o = body.parts(body.product(states[0], matrix, outputs, 4 * width, gates), width, 4)
    cell = body.map(width, next_cell, [i, f, g, states[1]])
    hidden = body.map(width, output, [o, cell])
    return [body.product(hidden, projection, width, outputs) if projection else hidden, cell]


def write_gru(body: Body, states: list[str], gates: str, matrix: str, bias: str, width: int) -> list[str]:
    def biased(s: Scalars, value: str, bias: list[str]) -> str:
        return s.add("arith.addf", value, bias[0]) if bias else value

    def candidate(s: Scalars, reset: str, own_reset: str, given: str, own: str, *bias: str) -> str:
        gate = s.sigmoid(s.add("arith.addf", reset, biased(s, own_reset, list(bias[:1]))))
        return s.add("math.tanh", s.add("arith.addf", given, s.add("arith.mulf", gate, biased(s, own, list(bias[1:])))))

    def mix(s: Scalars, update: str, own: str, hidden: str, new: str, *bias: str) -> str:
        gate = s.sigmoid(s.add("arith.addf", update, biased(s, own, list(bias))))
        return s.add("arith.addf", new, s.add("arith.mulf", gate, s.add("arith.subf", hidden, new)))

    own = body.parts(body.product(states[0], matrix, width, 3 * width), width, 3)
    given, biases = body.parts(gates, width, 3), body.pieces(bias, width, 3) if bias else []
    new = body.map(width, candidate, [given[0], own[0], given[2], own[2]], biases[::2])
    return [body.map(width, mix, [given[1], own[1], states[0], new], biases[1:2])]


def write_rnn(body: Body, states: list[str], gates: str, matrix: str, is_relu: bool, width: int) -> list[str]:
    def activate(s: Scalars, x: str) -> str:
        return s.add("arith.select", s.add("arith.cmpf ugt,", x, "%zero"), x, "%zero") if is_relu else s.add("math.tanh", x)

    return [body.map(width, activate, [body.product(states[0], matrix, width, width, gates)])]


def write(name: str, gates: ir.RankedTensorType, hidden: ir.RankedTensorType, weights: ir.RankedTensorType, *rest: Any) -> str:
    """The function `name`: from gates of time steps x batch x gates, states of batch x width, and weights of gates x width."""
    *others, kind, is_backward = rest
    steps, rows = ("?" if gates.is_dynamic_dim(d) else str(gates.shape[d]) for d in (0, 1))
    body = Body(str(gates.element_type), rows)
    wide, outputs = weights.shape
    width = wide // {LSTM: 4, GRU: 3}.get(kind, 1)
    widths = {"hidden": outputs, "cell": width} if kind == LSTM else {"hidden": outputs}
    types = {state: body.shape(rows, columns) for state, columns in widths.items()}
    stack, all_gates = body.shape(steps, rows, outputs), body.shape(steps, rows, wide)
    last = "%last" if len(others) == len(widths) else ""
    matrix = body.transpose("%weights", wide, outputs)
    if kind == LSTM and last:
        last = body.transpose(last, outputs, width)
    outside = body.take()

    given = body.add(f"tensor.extract_slice %gates[%time, 0, 0] [1, {body.size}, {wide}] [1, 1, 1] : {all_gates} to {body.shape(rows, wide)}")
    states = [f"%{state}" for state in widths]
    if rows == "?":  # States have as many rows as gates, which the compiler has to see.
        states = [body.add(f"tensor.extract_slice %{state}[0, 0] [%batch, {columns}] [1, 1] : {types[state]} to {types[state]}")
                  for state, columns in widths.items()]
    if kind == LSTM:
        new = write_lstm(body, states, given, matrix, last, width, outputs)
    elif kind == GRU:
        new = write_gru(body, states, given, matrix, last, width)
    else:
        new = write_rnn(body, states, given, matrix, kind == RELU, width)
    new.append(body.add(f"tensor.insert_slice {new[0]} into %outputs[%time, 0, 0] [1, {body.size}, {outputs}] [1, 1, 1] : "
                        f"{types['hidden']} into {stack}"))
    inside = body.take()

    carried = ", ".join([*(f"%{state} = %{state}_0" for state in widths), "%outputs = %stack"])
    loop_types = ", ".join([*types.values(), stack])
    sizes = ", ".join(f"%{size}" for size, known in (("steps", steps), ("batch", rows)) if known == "?")
    parameters = [f"%gates: {all_gates}", f"%hidden_0: {types['hidden']}", f"%weights: {body.shape(wide, outputs)}",
                  *(f"%{parameter}: {other}" for parameter, other in zip((["cell_0"] if kind == LSTM else []) + ["last"], others))]
    cells = len(widths) - 1  # the number of the result; of others than LSTMs the hidden state again
    return f"""
func.func private @{name}({', '.join(parameters)})
    -> ({stack}, {types['hidden']}, {body.shape(rows, width)}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : {body.kind}
  %one = arith.constant 1.0 : {body.kind}
  %zero_sum = arith.constant 0.0 : {body.wide}
  %steps = tensor.dim %gates, %c0 : {all_gates}
  %batch = tensor.dim %gates, %c1 : {all_gates}
  %last_step = arith.subi %steps, %c1 : index
  {outside}
  %stack = tensor.empty({sizes}) : {stack}
  %all:{len(new)} = scf.for %i = %c0 to %steps step %c1 iter_args({carried}) -> ({loop_types}) {{
    %time = arith.{'subi %last_step, %i' if is_backward else 'addi %i, %c0'} : index
    {inside}
    scf.yield {', '.join(new)} : {loop_types}
  }}
  return %all#{len(widths)}, %all#0, %all#{cells} : {stack}, {types['hidden']}, {body.shape(rows, width)}
}}
"""
