//===- RematOps.td - Operations of the remat dialect ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATOPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATOPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematAttributes.td"
include "remat/Dialect/Remat/IR/RematTypes.td"

class Remat_Op<string mnemonic, list<Trait> traits = []>
    : Op<Remat_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

def Remat_RegionOp : Remat_Op<"region", [
    IsolatedFromAbove, AttrSizedResultSegments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"::mlir::remat::YieldOp">,
    RecursivelySpeculatable, DeclareOpInterfaceMethods<RegionBranchOpInterface, [
      "getEntrySuccessorOperands", "getRegionInvocationBounds"]>]> {
  let summary = "part of a forward model whose inner values are recomputed in the backward";
  let description = [{
    The body sees the operands as block arguments and nothing else, so that
    everything that a recompute starts from is visible. `policy` says which
    inner values may be saved for the backward pass; without it nothing may
    (`#remat.nothing_saveable`). Operands are never recomputed by this region:
    they stay alive until its backward.

    `outputs` are what the model sees; `residuals` are added by
    `remat-differentiate` and are read by `remat.backward` operations only.

    `prevent_cse` has one entry for each operand (default: all true). Where it
    is true, the backward reads that operand through a `remat.barrier`, so that
    no later pass can merge the recompute with the original. In a loop whose
    backward is a loop of its own it may be false.

    Regions nest: the inner policy governs what the inner region saves, the
    outer one what crosses the outer boundary.

    Example:

    ```mlir
    %y = remat.region policy(#remat.dots_saveable)
        (%a = %x : tensor<8x16xf32>, %b = %w : tensor<16x16xf32>) -> tensor<8x16xf32> {
      ...
      remat.yield %h : tensor<8x16xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs,
                       OptionalAttr<AnyAttr>:$policy,
                       OptionalAttr<DenseBoolArrayAttr>:$prevent_cse,
                       OptionalAttr<StrAttr>:$label);
  let results = (outs Variadic<AnyType>:$outputs, Variadic<AnyType>:$residuals);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  // The terminator is known to be a remat.yield only after the traits.
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$outputs, "::mlir::TypeRange":$residuals,
                   "::mlir::ValueRange":$inputs,
                   CArg<"::mlir::Attribute", "{}">:$policy)>];
  let extraClassDeclaration = [{
    /// The policy, `nothing_saveable` if the operation has none.
    ::mlir::remat::PolicyAttrInterface getPolicyOrDefault();
    /// Returns true if the backward must read operand `index` after a barrier.
    bool preventsCSE(unsigned index);
    ::mlir::remat::YieldOp getYield();
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
  }];
}

def Remat_BackwardOp : Remat_Op<"backward", [
    IsolatedFromAbove, AttrSizedOperandSegments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"::mlir::remat::YieldOp">,
    RecursivelySpeculatable, DeclareOpInterfaceMethods<RegionBranchOpInterface, [
      "getEntrySuccessorOperands", "getRegionInvocationBounds"]>]> {
  let summary = "the backward of a remat.region";
  let description = [{
    Made by `remat-differentiate` (or by hand, or by another differentiation)
    for one `remat.region`; its results are cotangents. Its operands come in
    four groups, of which empty ones are not printed:

    - operands of the region that the adjoint reads;
    - `residuals` of the region that it reads. They are the link to the region:
      `remat-plan` follows them from it through loops, branches, calls
      and regions around it. An output of the region that is passed here is a
      residual like any other;
    - `cotangents` of the region's outputs, at least one: a recompute waits for
      them;
    - `sums` so far of cotangents to which it adds. Such a sum (the gradient of
      a weight that a loop or an earlier backward has begun) comes back as a
      result of the same type, and the operation that contributes to it has it
      as its `outs`: accumulation in place.

    Example:

    ```mlir
    %dx, %dw = remat.backward (%a = %x : tensor<8x16xf32>)
        residuals(%h = %res : tensor<8x16xf32>)
        cotangents(%dy = %ct : tensor<8x16xf32>)
        sums(%sum = %dw0 : tensor<16x16xf32>)
        -> tensor<8x16xf32>, tensor<16x16xf32> {
      ...
      remat.yield %0, %1 : tensor<8x16xf32>, tensor<16x16xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Variadic<AnyType>:$residuals,
                       Variadic<AnyType>:$cotangents, Variadic<AnyType>:$sums,
                       OptionalAttr<StrAttr>:$label);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::remat::YieldOp getYield();
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }

    /// The body's arguments for each group of operands.
    ::mlir::Block::BlockArgListType getInputArguments();
    ::mlir::Block::BlockArgListType getResidualArguments();
    ::mlir::Block::BlockArgListType getCotangentArguments();
    ::mlir::Block::BlockArgListType getSumArguments();
    /// The group of operand `index`: 0 to 3, in the order above.
    unsigned getOperandGroup(unsigned index);
    bool isResidual(unsigned index) { return getOperandGroup(index) == 1; }

    /// Passes `value` at the end of a group, at most once; returns the body's
    /// argument.
    ::mlir::BlockArgument addInput(::mlir::Value value);
    ::mlir::BlockArgument addResidual(::mlir::Value value);
    ::mlir::BlockArgument addCotangent(::mlir::Value value);
  }];
}

def Remat_YieldOp : Remat_Op<"yield", [
    Pure, Terminator, AttrSizedOperandSegments, ReturnLike,
    ParentOneOf<["RegionOp", "BackwardOp", "ScatterAddOp", "AttentionOp",
                 "AttentionBackwardOp"]>]> {
  let summary = "results of a region or of the body of another operation";
  let description = [{
    Example: `remat.yield %y : tensor<4xf32> residuals(%h : tensor<4xf32>)`.
  }];
  let arguments = (ins Variadic<AnyType>:$outputs, Variadic<AnyType>:$residuals);
  let assemblyFormat = [{
    ($outputs^ `:` type($outputs))? (`residuals` `(` $residuals^ `:` type($residuals) `)`)? attr-dict
  }];
  let builders = [OpBuilder<(ins CArg<"::mlir::ValueRange", "{}">:$outputs), [{
    build($_builder, $_state, outputs, ::mlir::ValueRange{});
  }]>];
}

def Remat_NameOp : Remat_Op<"name", [Pure, SameOperandsAndResultType]> {
  let summary = "give a value a name that policies can mention";
  let description = [{
    The identity. The result is the named value; fusion stops at it, and
    differentiation passes through it. Several values may carry one name (the
    same place in every layer).

    Example: `%n = remat.name "mlp_out" %a : tensor<8x256xf32>`.
  }];
  let arguments = (ins StrAttr:$name, AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Remat_StopGradientOp : Remat_Op<"stop_gradient", [Pure, SameOperandsAndResultType]> {
  let summary = "a value through which no derivative passes";
  let description = [{
    The identity, with cotangent zero: what `jax.lax.stop_gradient` and torch's
    `detach` mean, and most exporters lose. Fusion stops at it;
    `remat-inline-regions` removes it.

    Example: `%t = remat.stop_gradient %teacher : tensor<8x256xf32>`.
  }];
  let arguments = (ins AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Remat_BarrierOp : Remat_Op<"barrier", [
    NoMemoryEffect, AttrSizedOperandSegments]> {
  let summary = "values that exist only after others";
  let description = [{
    Returns `values` unchanged, once `after` are known. The values that leave a
    barrier are unrelated to the ones that entered as far as any optimization
    can see: a computation on them is neither merged with the same computation
    on the originals (CSE), nor moved before `after`, nor folded. A recompute
    reads the saved values through a barrier on a cotangent.

    A barrier has no effect on memory but may not be speculated, so that it also
    stays in its loop (LICM) where all its operands are invariant: a cotangent
    may be a constant. For the same reason nothing folds through it. A backward
    that reads no cotangent has nothing to wait for; its barrier has values only.

    A barrier costs nothing: after bufferization it is its operand's buffer.

    With `repeated`, what reads from it is computed a second time, so that it
    need not be live at the peak (`remat-repeat-at-peak`, `remat-fit-budget`):
    passes that look for such values leave the block alone.

    Example: `%w1, %x1 = remat.barrier %w, %x after %dy : tensor<4xf32>, tensor<4xf32> after tensor<f32>`.
  }];
  let arguments = (ins Variadic<AnyType>:$values, Variadic<AnyType>:$after,
                       UnitAttr:$repeated);
  let results = (outs Variadic<AnyType>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$values, "::mlir::ValueRange":$after,
                                 CArg<"bool", "false">:$repeated)>];
}

def Remat_DestinationOp : Remat_Op<"destination", [
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "a tensor without contents that has a buffer of its own";
  let description = [{
    As `tensor.empty`, for one kernel to write into. It allocates, so that two of
    them are not merged (CSE) and one in a loop stays there (LICM), while one
    without users may be erased. In a schedule that is what keeps two results
    from sharing a buffer, which costs a copy of one of them.

    `remat-split-destinations` makes these of `tensor.empty`s; bufferization
    makes each a `memref.alloc`.

    Example: `%0 = remat.destination(%n) : tensor<?x4xf32>`.
  }];
  let arguments = (ins Variadic<Index>:$dynamic_sizes);
  let results = (outs Res<AnyRankedTensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "`(` $dynamic_sizes `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Remat_BeginBackwardOp : Remat_Op<"begin_backward"> {
  let summary = "where the backward of a joint function begins";
  let description = [{
    Operations before it in its block are the forward, those after it the
    backward. Up to the end of fusion, passes go by it where they must not move
    work across. `remat-differentiate` puts one into each joint
    function, and `remat-inline-regions` into one that was written by hand with
    a `remat.backward`; `remat-lower-tapes` removes it. Where a joint function was
    inlined into another one, a block has several: the first one counts, since the
    forward that follows it reads what the backward in between has made.

    It is an operation, because passes that know nothing of it may drop an
    attribute when they replace its operation, but keep the order of a block. For
    the same reason it has an effect, as far as they can see: nothing may erase it.

    Example:

    ```mlir
    %loss = math.cos %y : f32
    remat.begin_backward
    %one = arith.constant 1.0 : f32
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Remat_PlanOp : Remat_Op<"plan", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "the decision about each residual of a backward";
  let description = [{
    The decisions of `remat-plan` for the `remat.backward` in which it stands, or
    of `remat-plan-functions` for the function, between whose forward and backward
    it stands: one for each residual that the backward reads. The results are the
    residuals, unchanged. `from` are the values from which recomputed residuals
    start: operands of the region, and values inside it that are saved. They are
    operands here so that they stay available.

    With it the program computes what it computed before; `remat-materialize`
    executes the decisions. It removes the plan of a `remat.backward`; that of a
    function stays, with what is saved, until its kernels are fused.

    Example:

    ```mlir
    %dx = remat.backward (%a = %x : f32) residuals(%s = %r#0 : f32, %t = %r#1 : f32) cotangents(%dy = %ct : f32) -> f32 {
      %p:2 = remat.plan %s, %t from %a : f32, f32 from f32
          [#remat.decision<recompute by "#remat.nothing_saveable" because "not permitted">,
           #remat.decision<save by "#remat.nothing_saveable" because "a use is not understood">]
      ...
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$residuals, Variadic<AnyType>:$from,
                       Remat_DecisionArray:$decisions);
  let results = (outs Variadic<AnyType>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$residuals,
                                 "::mlir::ValueRange":$from,
                                 "::llvm::ArrayRef<::mlir::Attribute>":$decisions)>];
  let extraClassDeclaration = [{
    ::mlir::remat::DecisionAttr getDecision(unsigned residual) {
      return ::llvm::cast<::mlir::remat::DecisionAttr>(getDecisions()[residual]);
    }
  }];
}

def Remat_PlanResource : Resource<"::mlir::remat::PlanResource">;

def Remat_SavedOp : Remat_Op<"saved", [MemoryEffects<[MemWrite<Remat_PlanResource>]>]> {
  let summary = "the decision to save a forward value";
  let description = [{
    Carries a region's decision about `value` to the plan of the function:
    `remat-materialize` creates one in the forward for each value that the
    region's plan saves, and `remat-plan-functions` reads and erases them. The
    function's plan may recompute a value with the decision `save`, but not one
    with `save_named`, which a policy names.

    It has a memory effect, so that passes that do not know it neither erase it
    nor the value. Recomputes do not repeat it. Without any other use of `value`,
    canonicalization erases it.

    Example: `remat.saved %h : tensor<4xf32> #remat.decision<save_named of "h" by "#remat.save_only_names<\"h\">" because "named by the policy">`.
  }];
  let arguments = (ins AnyType:$value, Remat_Decision:$decision);
  let assemblyFormat = "$value `:` type($value) qualified($decision) attr-dict";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

//===----------------------------------------------------------------------===//
// Tapes: residuals of loops
//===----------------------------------------------------------------------===//

def Remat_TapeWriteOp : Remat_Op<"tape_write", [Pure, TypesMatchWith<
    "result type matches tape", "tape", "result", "$_self">]> {
  let summary = "record one loop iteration's residual";
  let description = [{
    Returns `tape` with `value` at position `index` of its leading dimension.
    A tape starts as a `tensor.empty`, is carried by the forward loop, written
    once in each iteration and read by `remat.tape_read` in the backward loop.
    `remat-merge-tapes` makes some that begin with a value before the first one.
    A loop in a region with `#remat.snapshots` writes what it carries, in some
    iterations only, to slots that its backward uses again.
    It is an operation of its own, rather than a `tensor.insert_slice`, so that
    `remat-materialize` can find the value that a read returns and delete both.

    Example: `%t1 = remat.tape_write %v into %t[%i] : tensor<4xf32> into tensor<10x4xf32>`.
  }];
  let arguments = (ins AnyType:$value, AnyRankedTensor:$tape, Index:$index);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value `into` $tape `[` $index `]` attr-dict `:` type($value) `into` type($tape)";
  let hasVerifier = 1;
}

def Remat_TapeReadOp : Remat_Op<"tape_read", [Pure]> {
  let summary = "read one loop iteration's residual";
  let description = [{
    Example: `%v = remat.tape_read %t[%i] : tensor<10x4xf32> -> tensor<4xf32>`.
  }];
  let arguments = (ins AnyRankedTensor:$tape, Index:$index);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$tape `[` $index `]` attr-dict `:` type($tape) `->` type($value)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Snapshots: states of loops
//===----------------------------------------------------------------------===//

def Remat_NextSnapshotOp : Remat_Op<"next_snapshot", [Pure]> {
  let summary = "the iteration before which the next snapshot of a loop is taken";
  let description = [{
    Returns the number of an iteration. `from` is the iteration of the snapshot before, `end` the
    number of iterations that are to be reversed from there, counted from the loop's first one, and
    `free` how many snapshots fit besides those that there are. A result of `end` says that none is
    left to take. The state before the last iteration is always taken. The order is the binomial
    one (`remat/Plan/Snapshots.h`), with the fewest iterations for a number of snapshots.

    `remat-differentiate` makes it for a loop in a region with `#remat.snapshots`, and
    `remat-lower-tapes` makes arithmetic of it.

    Example: `%next = remat.next_snapshot from %i to %end free %free`.
  }];
  let arguments = (ins Index:$from, Index:$end, Index:$free);
  let results = (outs Index:$next);
  let assemblyFormat = "`from` $from `to` $end `free` $free attr-dict";
  let hasFolder = 1;
}

def Remat_LastSnapshotOp : Remat_Op<"last_snapshot", [Pure]> {
  let summary = "the snapshot from which the state before an iteration is recomputed";
  let description = [{
    Returns the iteration before which the last snapshot was taken that there is when the backward
    of a loop of `count` iterations with `slots` snapshots comes to `iteration`, and the number of
    the slot that it is in. For the last iteration it is the state before that one.

    Example: `%from, %slot = remat.last_snapshot before %i of %count slots %slots`.
  }];
  let arguments = (ins Index:$iteration, Index:$count, Index:$slots);
  let results = (outs Index:$from, Index:$slot);
  let assemblyFormat = "`before` $iteration `of` $count `slots` $slots attr-dict";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

def Remat_RngInitOp : Remat_Op<"rng_init", [Pure]> {
  let summary = "a random stream from a seed";
  let description = [{
    Key `seed`, counter 0. Example: `%rng = remat.rng_init %seed`.
  }];
  let arguments = (ins I64:$seed);
  let results = (outs Remat_RngType:$rng);
  let assemblyFormat = "$seed attr-dict";
}

def Remat_RngFoldInOp : Remat_Op<"rng_fold_in", [Pure]> {
  let summary = "an independent stream for a number";
  let description = [{
    The key is the first 64 bits of Philox on (key, counter) with `data` as the
    upper half of the counter; the new counter is 0. Streams of different
    numbers are independent: one for each layer, step or example.

    Example: `%r = remat.rng_fold_in %rng, %layer`.
  }];
  let arguments = (ins Remat_RngType:$rng, I64:$data);
  let results = (outs Remat_RngType:$result);
  let assemblyFormat = "$rng `,` $data attr-dict";
}

def Remat_WordLike : TypeOrValueSemanticsContainer<I32, "i32-like">;

def Remat_PhiloxOp : Remat_Op<"philox", !listconcat(
    [Pure, SameOperandsAndResultType], ElementwiseMappable.traits)> {
  let summary = "a block of random words, from a counter and a key";
  let description = [{
    Philox 4x32 with ten rounds (Salmon et al., SC 2011): the four words of the
    block are a function of the counter's four words and the key's two, lowest
    first. `remat-lower-random` writes it into the bodies of draws. As arithmetic
    it would be more than a hundred operations in every kernel that draws, for
    each pass to go through; `convert-philox-to-arith` expands it once kernels
    are loops over scalars or vectors.

    Example: `%w:4 = remat.philox %c0, %c1, %c2, %c3 key %k0, %k1 : i32`.
  }];
  let arguments = (ins Remat_WordLike:$counter0, Remat_WordLike:$counter1,
                       Remat_WordLike:$counter2, Remat_WordLike:$counter3,
                       Remat_WordLike:$key0, Remat_WordLike:$key1);
  let results = (outs Remat_WordLike:$word0, Remat_WordLike:$word1,
                      Remat_WordLike:$word2, Remat_WordLike:$word3);
  let assemblyFormat = [{
    $counter0 `,` $counter1 `,` $counter2 `,` $counter3 `key` $key0 `,` $key1
    attr-dict `:` type($word0)
  }];
}

class Remat_RandomOp<string mnemonic, list<Trait> traits = []>
    : Remat_Op<mnemonic, !listconcat([Pure], traits)> {
  let results = (outs AnyRankedTensor:$result, Remat_RngType:$next);
  let hasVerifier = 1;
  string commonDescription = [{
    Element i (in row-major order) depends on the key, the counter and i only.
    `next` is the state after all of them: the counter advances by the number of
    128-bit blocks drawn. Dynamic dimensions are given in brackets.
  }];
}

def Remat_RandomBitsOp : Remat_RandomOp<"random_bits"> {
  let summary = "uniform random integers";
  let description = commonDescription # [{
    Example: `%b, %s = remat.random_bits %rng : tensor<8x256xi32>`.
  }];
  let arguments = (ins Remat_RngType:$rng, Variadic<Index>:$sizes);
  let assemblyFormat = "$rng (`[` $sizes^ `]`)? attr-dict `:` type($result)";
}

def Remat_RandomUniformOp : Remat_RandomOp<"random_uniform"> {
  let summary = "uniform random numbers in [low, high)";
  let description = commonDescription # [{
    Example: `%u, %s = remat.random_uniform %rng {low = 0.0 : f64, high = 1.0 : f64} : tensor<8xf32>`.
  }];
  let arguments = (ins Remat_RngType:$rng, Variadic<Index>:$sizes,
                       DefaultValuedAttr<F64Attr, "0.0">:$low,
                       DefaultValuedAttr<F64Attr, "1.0">:$high);
  let assemblyFormat = "$rng (`[` $sizes^ `]`)? attr-dict `:` type($result)";
}

def Remat_RandomNormalOp : Remat_RandomOp<"random_normal"> {
  let summary = "normally distributed random numbers (Box-Muller)";
  let description = commonDescription # [{
    Example: `%n, %s = remat.random_normal %rng {stddev = 0.02 : f64} : tensor<8xf32>`.
  }];
  let arguments = (ins Remat_RngType:$rng, Variadic<Index>:$sizes,
                       DefaultValuedAttr<F64Attr, "0.0">:$mean,
                       DefaultValuedAttr<F64Attr, "1.0">:$stddev);
  let assemblyFormat = "$rng (`[` $sizes^ `]`)? attr-dict `:` type($result)";
}

def Remat_RandomBernoulliOp : Remat_RandomOp<"random_bernoulli"> {
  let summary = "random booleans, true with probability p";
  let description = commonDescription # [{
    Example: `%m, %s = remat.random_bernoulli %rng {p = 0.9 : f64} : tensor<8x256xi1>`.
  }];
  let arguments = (ins Remat_RngType:$rng, Variadic<Index>:$sizes, F64Attr:$p);
  let assemblyFormat = "$rng (`[` $sizes^ `]`)? attr-dict `:` type($result)";
}

include "remat/Dialect/Remat/IR/RematAttentionOps.td"
include "remat/Dialect/Remat/IR/RematGeneratorOps.td"
include "remat/Dialect/Remat/IR/RematCollectiveOps.td"
include "remat/Dialect/Remat/IR/RematConvOps.td"
include "remat/Dialect/Remat/IR/RematCustomOps.td"
include "remat/Dialect/Remat/IR/RematScatterOps.td"
include "remat/Dialect/Remat/IR/RematTrainOps.td"

#endif // REMAT_DIALECT_REMAT_IR_REMATOPS_TD
