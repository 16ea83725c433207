# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A loop that carries as many tensors as argv[1] says, each with a row for each iteration: tapes of residuals."""
import sys

COUNT = int(sys.argv[1])
TAPE, ROW = "tensor<3x8xf32>", "tensor<8xf32>"


def loop(starts, results="%r"):
    """The text of the loop, whose tensors start as `starts` says."""
    carried = ", ".join(f"%t{i} = {start}" for i, start in enumerate(starts))
    types = ", ".join([TAPE] * COUNT)
    lines = [f"  {results}:{COUNT} = scf.for %k = %c0 to %c3 step %c1 iter_args({carried}) -> ({types}) {{"]
    for i in range(COUNT):
        lines += [f"    %e{i} = tensor.empty() : {ROW}",
                  f"    %v{i} = linalg.exp ins(%{'x' if i == 0 else f'v{i - 1}'} : {ROW}) outs(%e{i} : {ROW}) -> {ROW}",
                  f"    %n{i} = tensor.insert_slice %v{i} into %t{i}[%k, 0] [1, 8] [1, 1] : {ROW} into {TAPE}"]
    yielded = ", ".join(f"%n{i}" for i in range(COUNT))
    return "\n".join(lines + [f"    scf.yield {yielded} : {types}", "  }"])


CONSTANTS = "".join(f"  %c{i} = arith.constant {i} : index\n" for i in (0, 1, 3))
USED = "".join(f"  %u{i} = tensor.extract %r#{i}[%c0, %c0] : {TAPE}\n  call @use(%u{i}) : (f32) -> ()\n"
               for i in range(COUNT))
print("func.func private @use(f32)")
print(f"""func.func @tapes(%x: {ROW}) {{
{CONSTANTS}  %e = tensor.empty() : {TAPE}
{"".join(f"  %s{i} = tensor.empty() : {TAPE}" + chr(10) for i in range(COUNT))}{loop([f"%s{i}" for i in range(COUNT)])}
{USED}  return
}}""")
# The first is a part of a larger tensor and goes back there, and the second is the caller's.
PART = "tensor<2x3x8xf32>"
print(f"""func.func private @called(%x: {ROW}, %given: {TAPE}) -> ({PART}, {TAPE}) {{
{CONSTANTS}  %whole = tensor.empty() : {PART}
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%whole : {PART}) -> {PART}
  %part = tensor.extract_slice %zeros[1, 0, 0] [1, 3, 8] [1, 1, 1] : {PART} to {TAPE}
{"".join(f"  %s{i} = tensor.empty() : {TAPE}" + chr(10) for i in range(2, COUNT))}{
    loop(["%part", "%given"] + [f"%s{i}" for i in range(2, COUNT)])}
{USED}  %back = tensor.insert_slice %r#0 into %zeros[1, 0, 0] [1, 3, 8] [1, 1, 1] : {TAPE} into {PART}
  return %back, %r#1 : {PART}, {TAPE}
}}
func.func @caller(%x: {ROW}, %given: {TAPE}) {{
  %c0 = arith.constant 0 : index
  %whole, %r = call @called(%x, %given) : ({ROW}, {TAPE}) -> ({PART}, {TAPE})
  %u = tensor.extract %r[%c0, %c0] : {TAPE}
  call @use(%u) : (f32) -> ()
  %v = tensor.extract %whole[%c0, %c0, %c0] : {PART}
  call @use(%v) : (f32) -> ()
  return
}}""")
