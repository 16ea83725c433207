# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that write a tensor slice by slice, as often as argv[1] says."""
import sys

COUNT = int(sys.argv[1])
WIDE, SLICE = "tensor<4x64xf32>", "tensor<4x8xf32>"


def function(name, step, before="", after="", disjoint=False):
    """`step` is what computes %v<i> of %v<i - 1>, at a position that others overlap unless they are `disjoint`."""
    lines = [step.format(i=i, last=i - 1, at=8 * (i - 1) if disjoint else (5 * i) % 56) for i in range(1, COUNT + 1)]
    text = (f"""func.func @{name}(%x: {WIDE}, %w: {SLICE}) -> {WIDE} {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : {SLICE}
  %wide = tensor.empty() : {WIDE}
  %v0 = linalg.exp ins(%x : {WIDE}) outs(%wide : {WIDE}) -> {WIDE}
{before}""" + "\n".join(lines) + f"""
{after}  return %v{COUNT} : {WIDE}
}}""")
    print(text.replace(WIDE, f"tensor<4x{8 * COUNT}xf32>") if disjoint else text)


INSERT = f"  %v{{i}} = tensor.insert_slice %s{{i}} into %v{{last}}[0, {{at}}] [4, 8] [1, 1] : {SLICE} into {WIDE}"
EXTRACT = f"  %o{{i}} = tensor.extract_slice %v{{last}}[0, {{at}}] [4, 8] [1, 1] : {WIDE} to {SLICE}\n"

function("filled", f"  %s{{i}} = linalg.fill ins(%z : f32) outs(%e : {SLICE}) -> {SLICE}\n" + INSERT)
function("added_to", EXTRACT + f"  %s{{i}} = linalg.add ins(%w, %o{{i}} : {SLICE}, {SLICE}) outs(%o{{i}} : {SLICE}) -> {SLICE}\n"
         + INSERT)
# A slice's value before its insertion is used after it.
function("read_late", EXTRACT + f"  %s{{i}} = linalg.fill ins(%z : f32) outs(%e : {SLICE}) -> {SLICE}\n" + INSERT
         + f"\n  %r{{i}} = linalg.add ins(%r{{last}}, %o{{i}} : {SLICE}, {SLICE}) outs(%e : {SLICE}) -> {SLICE}",
         before=f"  %r0 = linalg.exp ins(%w : {SLICE}) outs(%e : {SLICE}) -> {SLICE}\n",
         after=f"  %c0 = arith.constant 0 : index\n  %used = tensor.extract %r{COUNT}[%c0, %c0] : {SLICE}\n"
               "  call @use(%used) : (f32) -> ()\n")
# An inserted value is used after its insertion, with others that overwrite it and without.
for name, disjoint in ("inserted_and_read", False), ("concatenated_and_read", True):
    function(name, f"  %s{{i}} = linalg.exp ins(%w : {SLICE}) outs(%e : {SLICE}) -> {SLICE}\n" + INSERT
             + f"\n  %r{{i}} = linalg.add ins(%r{{last}}, %s{{i}} : {SLICE}, {SLICE}) outs(%e : {SLICE}) -> {SLICE}",
             before=f"  %r0 = linalg.exp ins(%w : {SLICE}) outs(%e : {SLICE}) -> {SLICE}\n",
             after=f"  %c0 = arith.constant 0 : index\n  %used = tensor.extract %r{COUNT}[%c0, %c0] : {SLICE}\n"
                   "  call @use(%used) : (f32) -> ()\n", disjoint=disjoint)
print("func.func private @use(f32)")

# In the buffer that a loop carries, and in an argument that the caller gave.
chain = "\n".join(f"  %s{i} = linalg.fill ins(%z : f32) outs(%e : {SLICE}) -> {SLICE}\n" + INSERT.format(i=i, last=i - 1, at=(5 * i) % 56)
                  for i in range(1, COUNT + 1))
print(f"""func.func @also_computed_in(%x: {WIDE}, %e: {SLICE}) -> ({WIDE}, {WIDE}) {{
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %wide = tensor.empty() : {WIDE}
  %start = tensor.insert_slice %e into %wide[0, 0] [4, 8] [1, 1] : {SLICE} into {WIDE}
  %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%v0 = %start) -> ({WIDE}) {{
{chain}
    scf.yield %v{COUNT} : {WIDE}
  }}
  %other = linalg.exp ins(%x : {WIDE}) outs(%wide : {WIDE}) -> {WIDE}
  return %r, %other : {WIDE}, {WIDE}
}}""")
print(f"""func.func @carried(%x: {WIDE} {{bufferization.writable = true}}, %e: {SLICE}) -> {WIDE} {{
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%v0 = %x) -> ({WIDE}) {{
{chain}
    scf.yield %v{COUNT} : {WIDE}
  }}
  return %r : {WIDE}
}}
func.func private @called(%v0: {WIDE}, %e: {SLICE}) -> {WIDE} {{
  %z = arith.constant 0.0 : f32
{chain}
  return %v{COUNT} : {WIDE}
}}
func.func @caller(%x: {WIDE}, %e: {SLICE}) -> {WIDE} {{
  %r = call @called(%x, %e) : ({WIDE}, {SLICE}) -> {WIDE}
  return %r : {WIDE}
}}""")
