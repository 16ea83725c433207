//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_PASSES_TD
#define REMAT_TRANSFORMS_PACKMEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareBufferizationPass
    : Pass<"remat-prepare-bufferization", "ModuleOp"> {
  let summary = "mark tensors that may be written in place, and make loops do so";
  let description = [{
    Run before one-shot bufferization.

    **Arguments** of functions without callers become read-only
    (`bufferization.writable = false`) unless they say that they are writable.
    Upstream's default is the opposite: a step would compute in its input batch.
    Those that are writable lose the attribute, which is that default. Such
    functions return buffers of their tensors. Arguments of called functions are
    judged by the later reads of their callers.

    **Loops.** Bufferization refuses one whose yielded tensor lives in another
    buffer than the one that the iteration got. Each such tensor is
    materialized in the iteration's own:

    ```mlir
    %r = scf.for ... iter_args(%h = %x) -> (tensor<16xf32>) {
      %y = linalg.generic ... outs(%empty : tensor<16xf32>)
      scf.yield %y : tensor<16xf32>
    }
    ```
    becomes
    ```mlir
    %r = scf.for ... iter_args(%h = %x) -> (tensor<16xf32>) {
      %y = linalg.generic ... outs(%empty : tensor<16xf32>)
      %n = bufferization.materialize_in_destination %y in %h
      scf.yield %n : tensor<16xf32>
    }
    ```

    Where nothing else reads `%h`, `-eliminate-empty-tensors` then computes `%y`
    in its memory directly; otherwise one copy per iteration remains. Tensors
    that a loop updates in place (tapes, accumulators) are left as they are.
    Values that move to another carried tensor are copied in an order in which none
    is overwritten too early, those that are swapped through a temporary. A loop
    starts from a copy of a tensor that it, or an operation after it, reads. The
    before-region of an `scf.while` forwards all carried values, in order.

    **Branches.** Each tensor that an `scf.if` returns gets a buffer before it,
    which both branches fill, unless both update the same tensor in place. Two
    results of which each branch defines another (residuals of the one and of the
    other) become one. A tensor that an inner branch yields while others read
    it too is copied there: `-eliminate-empty-tensors` would compute it in the
    result's buffer, which the inner branch's other region overwrites. An
    `scf.index_switch` becomes a chain of `scf.if`s: one-shot bufferization of
    LLVM 22 writes over its results.

    **Calls.** Where a function returns an argument, or a view of all of it, callers
    take their operand, and a private function returns it no more: of two such
    results one-shot bufferization of LLVM 22 does not know that they are one buffer,
    and writes into one before the other is read.

    **Results.** A result of a function that a kernel computes element by element
    in a `tensor.empty` is computed in the buffer of an operand without later
    reads. Elsewhere `remat-pack-memory` does so, but memory of results is not in
    its arena.

    **Long chains.** More than 8 operations, loops or insertions that compute
    in one another's results are cut into pieces, each of which gets the tensor from
    the buffer of the piece before: one-shot bufferization takes the third to fifth
    power of the number of values in one buffer. All other reads of a value of the
    chain come before the next write. Slices with later reads are copied; so are
    inserted tensors that are read elsewhere and overwritten by another insertion.
    Chains in an argument from a caller, or in a carried tensor, stay whole.

    **Counted loops** that carry more than 32 tensors, or a long chain, carry only
    those whose buffers bufferization has to know. Each iteration reads the rest from
    the buffers of their initial values, and copies them back there, unless they have
    been computed there.

    **Many reads.** An argument of a function, or a result that is never overwritten,
    with 64 reads or more: the reads before the first use of another kind get
    the tensor from its buffer, 32 by one value. Bufferization would compare all
    of them pairwise.

    **Barriers** are erased, for the same reason: a `remat.barrier` of a weight is one
    more value in its buffer. No CSE on tensors may follow.
  }];
  let dependentDialects = ["bufferization::BufferizationDialect",
                           "linalg::LinalgDialect", "memref::MemRefDialect"];
}

def EliminateEmptyTensorsPass
    : Pass<"remat-eliminate-empty-tensors", "ModuleOp"> {
  let summary = "run -eliminate-empty-tensors where it can find anything";
  let description = [{
    Upstream's `-eliminate-empty-tensors` analyzes the module as one-shot
    bufferization does, and takes as long. This pass runs it only if a tensor
    that is inserted into another one may have been computed in a
    `tensor.empty`; otherwise it would change nothing. Empty and filled tensors
    that others are inserted into are put in front of what computes those, where
    upstream would move them one by one, in a time that grows with the square of
    their number.

    Example, in and out:

    ```mlir
    %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<8xf32>) -> tensor<8xf32>
    %both = tensor.insert_slice %a into %zeros[0] [4] [1] : tensor<4xf32> into tensor<8xf32>

    %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<8xf32>) -> tensor<8xf32>
    %place = tensor.extract_slice %zeros[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %a = linalg.exp ins(%x : tensor<4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
    %both = tensor.insert_slice %a into %zeros[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RestoreLayoutsPass : Pass<"remat-restore-layouts"> {
  let summary = "branches hand on contiguous buffers as such";
  let description = [{
    Run after one-shot bufferization, which gives a result of an `scf.if` unknown
    strides where it does not see through a loop in one of its branches. If all
    branches yield a buffer with the identity layout (before casts), so does the
    operation:

    ```mlir
    %r = scf.if %c -> (memref<?x4xf32, strided<[?, ?], offset: ?>>) {
      %a = memref.cast %tape : memref<?x4xf32> to memref<?x4xf32, strided<[?, ?], offset: ?>>
      scf.yield %a : memref<?x4xf32, strided<[?, ?], offset: ?>>
    } else ...
    ```
    becomes
    ```mlir
    %s = scf.if %c -> (memref<?x4xf32>) {
      scf.yield %tape : memref<?x4xf32>
    } else ...
    %r = memref.cast %s : memref<?x4xf32> to memref<?x4xf32, strided<[?, ?], offset: ?>>
    ```

    Kernels with unknown strides are neither products for the library nor
    vectorized, and would add up in another order than those that read the same
    values from elsewhere.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def ResultsToOutParamsPass : Pass<"remat-results-to-out-params", "ModuleOp"> {
  let summary = "callers provide the memory of results";
  let description = [{
    Run after one-shot bufferization. After it no function returns a memref of
    static shape, so that no allocation outlives the function that made it:

    | a result that is | becomes |
    |---|---|
    | an argument (parameters and states, updated in place) | nothing: callers go on with their operand |
    | a view of an allocation of the whole size | a trailing argument, which takes the allocation's place |
    | anything else | a trailing argument and a copy at the end, with a remark |

    A result with `remat.updates = i` that was not computed in place is copied
    into argument `i`, with a remark. Where there are such results, others that
    are an argument are its old value, which is copied before. The new arguments carry the attributes of
    their result and `remat.result = <result index>`.

    This differs from upstream's `-drop-equivalent-buffer-results` and
    `-buffer-results-to-out-params` in that public functions are treated alike,
    that a reshaped allocation is not copied, and that copies are reported.
    Results of dynamic shape stay results.
  }];
  let dependentDialects = ["memref::MemRefDialect"];
}

def PackMemoryPass : Pass<"remat-pack-memory", "ModuleOp"> {
  let summary = "give every static buffer an offset in one arena";
  let description = [{
    Run after bufferization, on functions of structured control flow. Each
    `memref.alloc` of static shape becomes a `memref.view` of the function's
    arena; deallocations disappear. A step then allocates nothing, and its peak
    is known: the arena's size, to the byte.

    **Lifetimes.** A buffer lives from the first to the last operation that uses
    it or a view of it, in program order. One that is allocated outside a loop
    and used inside lives throughout the loop; one that lives and dies within
    an iteration occupies its bytes only there.

    **Results take over dying operands.** A result of which each iteration of all
    loops writes an element of its own is put at the place of an operand that is
    read there for the last time, if both have the same shape, element size and
    indexing map. A lowering must therefore expect that such an output is exactly
    one of the inputs, even beside a sum. A copy from a dying buffer into a new one
    disappears.

    **Calls.** Functions are packed one by one, callees first. A callee's arena
    is its last argument (`remat.arena`); its caller reserves that many bytes
    for the duration of the call. Recursion is an error. A private function may use
    memory that its callers hold for it while it holds nothing (`reuse`): that of a
    result before its first access, and that of an operand which is the whole of a
    buffer that no caller reads again, after its last one. A result of as many
    bytes takes over such an operand, and is not an argument any more; a lowering
    must therefore expect that a function writes into its operands.

    **Entry functions** are those without callers. With `arena=auto` one without
    arguments allocates its arena, any other gets a last argument
    `memref<Nxi8> {remat.arena}`, aligned to 64 bytes, which whoever runs it
    allocates once. With nothing to pack there is no such argument.

    Buffers of dynamic shape, and those that outlive an iteration of the loop
    they are allocated in, stay allocations and are reported by a remark; the
    former are freed right after their last use.

    The report says for each function, but for those without buffers that others
    call: bytes of the arena; the largest sum of
    bytes that are live at once (equal unless packing left holes); the live bytes at
    that point: `residuals` (used in the forward and later), `gradients` (used by
    the backward and by an update), `recomputed` (results of recomputation), `workspaces`
    (of operations and libraries), `temporaries`; the largest sum of residuals, wherever that is; bytes
    of arguments by class (`opt.param`, `opt.state`, `remat.state`, results, and
    data, in all of its slots) and of constant tables; and the number of
    recomputed operations that one call runs; and the buffers that are live at the peak, the largest
    first: bytes, class, elements, the operation that computes it and the line of the model,
    or its scope where an export has no lines
    (a table has the twelve largest, JSON all). `report=-` prints it to the standard
    error, `report=FILE` writes JSON.

    In JSON, `timeline` has the contents of the arena over time: `live` has
    `[first, last, bytes, kind]` for each buffer in program order, from one position
    of the program to another, both included, where `kind` is an index into `kinds`:
    `[class, elements, operation, line]`. Bytes that are live at one position add up
    to `max_live` at `peak` and to no more elsewhere. A buffer that takes over from
    another has the bytes from its own first position on. `backward` is where the
    backward begins (-1: nowhere), `positions` how many there are; a loop has those of its
    body once.
  }];
  let options = [
    Option<"arena", "arena", "std::string", "\"auto\"",
           "where an entry function gets its arena from: `auto`, `argument` "
           "(last argument), `alloc` (allocated on entry), `global` (a private "
           "global), or `none` (keep allocations, freed right after their last "
           "use: what a counting allocator measures is then what is packed)">,
    Option<"reuse", "reuse", "bool", "true",
           "let results take over dying operands">,
    Option<"alignment", "alignment", "int64_t", "64",
           "of every offset, in bytes; sizes are rounded up to it">,
    Option<"dataSlots", "data-slots", "int64_t", "1",
           "how many copies of each data argument there are where the program "
           "runs: the next batch may arrive while one is read">,
    Option<"report", "report", "std::string", "\"\"",
           "`-` for a table on the standard error, otherwise a JSON file">,
  ];
  let dependentDialects = ["arith::ArithDialect", "memref::MemRefDialect"];
}

#endif // REMAT_TRANSFORMS_PACKMEMORY_PASSES_TD
