//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_RANDOM_PASSES_TD
#define REMAT_TRANSFORMS_RANDOM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ThreadRngPass : Pass<"remat-thread-rng", "::mlir::ModuleOp"> {
  let summary = "generators to states that are passed on as values";
  let description = [{
    A recompute must draw the numbers that the original drew, and the stream
    must advance once: both are plain once the state is a value. For each
    `remat.generator` this pass gives every function that draws from it, itself
    or through calls, one more argument and result of type `!remat.rng` (after
    its own, in the order of the generators), and passes the state through
    `scf.for`, `scf.while`, `scf.if`, `scf.index_switch`, `scf.execute_region`,
    `remat.region` and `func.call` in program order. Then it erases the
    generators. A function that draws may have any callers in the module; those
    outside of it see the new signature. Where it is public or called by none, the
    argument carries the generator's seed as `remat.seed`. A function that is
    called by none and sets a generator before anything else keeps it to itself.

    An error at the place: draws in a loop without an order (`scf.parallel`,
    `scf.forall`; `remat-decompose` gives them one) or of another dialect, in a
    kernel's body, in unstructured control flow, in a `remat.backward`; functions that draw and are used by something other than
    a call or `remat.train_step`. A generator that is read and never set gives
    the same numbers everywhere: a warning.

    Example: with `remat.generator @g seed(42)`,

    ```mlir
    func.func @f() -> tensor<8xi1> {
      %rng = remat.get_rng @g
      %m, %next = remat.random_bernoulli %rng {p = 0.9 : f64} : tensor<8xi1>
      remat.set_rng @g, %next
      return %m : tensor<8xi1>
    }
    ```

    becomes

    ```mlir
    func.func @f(%rng: !remat.rng {remat.seed = 42 : i64}) -> (tensor<8xi1>, !remat.rng) {
      %m, %next = remat.random_bernoulli %rng {p = 0.9 : f64} : tensor<8xi1>
      return %m, %next : tensor<8xi1>, !remat.rng
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def LowerRandomPass : Pass<"remat-lower-random"> {
  let summary = "random operations to kernels with Philox in their bodies";
  let description = [{
    Draws become `linalg.generic`s whose only operands are two scalars, the key
    and the counter: `remat-fuse` then evaluates them inside the kernels that
    read them, the differentiated and the recomputed ones too, and no mask is
    ever stored. The state `!remat.rng` becomes `vector<2xi64>` (key, counter)
    wherever it stands: in signatures, calls, regions, loops, tapes.

    Bits depend on (key, counter, row-major element index) only. Block b of a
    draw is Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as
    1, 2, 3", SC 2011; one `remat.philox` in the body) of the key (low word first)
    and the 128-bit counter (counter + b, 0); element i of a draw takes

    | elements | words of a block |
    |---|---|
    | i8, i16, i32, i1, f16, bf16, f32 | block i / 4, word i % 4 |
    | i64, f64 | block i / 2, words 2 (i % 2) (low) and 2 (i % 2) + 1 (high) |

    - `random_bits`: the low bits of the word or words.
    - `random_uniform`: u is the upper 24 (f32), 53 (f64), 11 (f16) or 8 (bf16)
      bits as a fraction of 1. The result is low + u * (high - low), computed in
      f64 for f64 and in f32 otherwise, rounded to the element type, but at most
      the largest number below `high` and at least the smallest not below `low`.
    - `random_bernoulli`: word < floor(p * 2^32).
    - `random_normal`: Box-Muller. Elements 2k and 2k + 1 share two uniform
      numbers, u = (upper bits + 1) of the first and v = upper bits of the second
      number of their pair, as fractions of 1 with 24 bits (53 for f64); they are
      sqrt(-2 log u) times cos(2 pi v) and sin(2 pi v). Logarithm, sine and
      cosine are polynomials in additions and products (`Philox.h`), so that a
      target's library does not change the bits. f64 pairs take a whole block.

    The state afterwards has advanced by the number of blocks drawn from.
    `python/remat/testing/philox.py` is the same in NumPy.

    Example: `%m, %s = remat.random_bernoulli %rng {p = 0.5 : f64} : tensor<8xi1>` becomes

    ```mlir
    %key = vector.extract %rng[0] : i64 from vector<2xi64>
    %counter = vector.extract %rng[1] : i64 from vector<2xi64>
    %empty = tensor.empty() : tensor<8xi1>
    %m = linalg.generic {...} ins(%key, %counter : i64, i64) outs(%empty : tensor<8xi1>) {
    ^bb0(%k: i64, %c: i64, %out: i1):
      %i = linalg.index 0 : index
      ...
      %w:4 = remat.philox %b0, %b1, %zero, %zero key %k0, %k1 : i32
      ...
    }
    %blocks = arith.constant 2 : i64
    %next = arith.addi %counter, %blocks : i64
    %s = vector.from_elements %key, %next : vector<2xi64>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // REMAT_TRANSFORMS_RANDOM_PASSES_TD
