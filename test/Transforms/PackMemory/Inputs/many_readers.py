# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions in which one tensor has `COUNT` readers: many_readers.py COUNT."""
import sys

COUNT = int(sys.argv[1])
T = "tensor<4xf32>"


def unary(result, name, value, to):
    return f"  {result} = linalg.{name} ins({value} : {T}) outs({to} : {T}) -> {T}"


def readers(value):
    """A chain that reads `value` in each operation; the last one is %r<COUNT>."""
    lines = [f"  %e = tensor.empty() : {T}", unary("%r0", "exp", value, "%e")]
    for i in range(COUNT - 1):
        lines.append(f"  %r{i + 1} = linalg.add ins(%r{i}, {value} : {T}, {T}) outs(%e : {T}) -> {T}")
    return lines


def function(name, arguments, body, *results):
    types = ", ".join(T for _ in results)
    return "\n".join([f"func.func @{name}({arguments}) -> ({types}) {{", *body,
                      f"  return {', '.join(results)} : {types}", "}"])


LAST = f"%r{COUNT - 1}"
WRITABLE = f"%w: {T} {{bufferization.writable = true}}"
print(function("early", WRITABLE, [*readers("%w"), unary("%new", "exp", LAST, "%w")], "%new"))
print(function("late", f"{WRITABLE}, %x: {T}", [unary("%new", "exp", "%x", "%w"), *readers("%w")], "%new", LAST))
print(function("made", f"%x: {T}", [f"  %s = tensor.empty() : {T}", unary("%v", "exp", "%x", "%s"), *readers("%v")], LAST))
print(function("slice", "%x: tensor<8xf32>",
               [f"  %v = tensor.extract_slice %x[2] [4] [1] : tensor<8xf32> to {T}", *readers("%v")], LAST))
print(function("next_block", "%x: tensor<4xf32>",
               [f"  %s = tensor.empty() : {T}", unary("%v", "exp", "%x", "%s"), "  cf.br ^next", "^next:", *readers("%v")], LAST))
print(function("block_argument", f"{WRITABLE}", [f"  cf.br ^next(%w : {T})", f"^next(%v: {T}):", *readers("%v"),
                                                 unary("%new", "exp", LAST, "%w")], "%new"))
print(function("constant", f"%x: {T}", [f"  %v = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : {T}",
                                        unary("%new", "exp", "%x", "%v"), *readers("%v")], "%new", LAST))
PICK = [f"  %e = tensor.empty() : {T}", *(
    f"""  %r{i} = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}} outs(%e : {T}) {{
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %w[%i] : {T}
    linalg.yield %v : f32
  }} -> {T}""" for i in range(COUNT))]
print(function("picked", WRITABLE, [*PICK, unary("%new", "exp", LAST, "%w")], "%new"))
