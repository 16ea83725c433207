//===- RematCollectiveOps.td - Exchanges between ranks -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATCOLLECTIVEOPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATCOLLECTIVEOPS_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematScatterOps.td"

def Remat_CollectiveKind : I32EnumAttr<"CollectiveKind", "how parts are put together", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Maximum", 2, "maximum">,
    I32EnumAttrCase<"Minimum", 3, "minimum">,
    I32EnumAttrCase<"MaxNum", 4, "maxnum">,
    I32EnumAttrCase<"MinNum", 5, "minnum">,
    I32EnumAttrCase<"MaxS", 6, "maxs">,
    I32EnumAttrCase<"MinS", 7, "mins">,
    I32EnumAttrCase<"MaxU", 8, "maxu">,
    I32EnumAttrCase<"MinU", 9, "minu">,
    I32EnumAttrCase<"And", 10, "and">,
    I32EnumAttrCase<"Or", 11, "or">,
    I32EnumAttrCase<"Xor", 12, "xor">]> {
  let cppNamespace = "::mlir::remat";
}

defvar axisText = [{
    The ranks of a program are numbered row-major in its grid. Along an axis of
    `size` ranks, with `stride` the product of the sizes of the axes after it,
    the coordinate of a rank is `(rank / stride) % size`, and its group is the
    ranks that differ in this coordinate only. An axis of one rank needs no
    engine.
}];

def Remat_RankOp : Op<Remat_Dialect, "rank", [
    Pure, DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "this rank's coordinate along an axis of the grid";
  let description = !strconcat(axisText, [{

    Example:

    ```mlir
    %c = remat.rank {size = 2 : i64, stride = 1 : i64} : index
    ```
  }]);
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$size,
                       ConfinedAttr<I64Attr, [IntPositive]>:$stride);
  let results = (outs Index:$coordinate);
  let assemblyFormat = "attr-dict `:` type($coordinate)";
  let hasFolder = 1;
}

class Remat_Collective<string mnemonic> : Op<Remat_Dialect, mnemonic, [
    DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  code commonDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def Remat_AllReduceOp : Remat_Collective<"all_reduce"> {
  let summary = "parts of all ranks of a group, put together element by element";
  let description = !strconcat(axisText, [{

    Each rank has as many parts as the operation has inputs, all of the type of
    the destination. Parts are put together pairwise, neighbours first, in the
    order (coordinate, input): 0 with 1, 2 with 3, ...; of an odd number, the
    last goes to the next level as it is. So the bits do not depend on how many
    ranks the parts lie on, and every rank of the group gets the same ones. Each
    level is computed in the type of the elements, as `arith.addf` does: f16 and
    bf16 are rounded after each addition.

    Kinds: `sum` and `prod` of all types; `maximum`, `minimum`, `maxnum` and
    `minnum` of floating-point numbers, as in `arith`; `maxs`, `mins`, `maxu`,
    `minu`, `and`, `or` and `xor` of integers. Types: f16, bf16, f32, f64; i1,
    i8, i16, i32, i64.

    `init` is overwritten, not read. Its memory may be that of the first input.

    On memrefs, `convert-collectives-to-runtime` makes a call of the runtime of
    it, for the CPU.

    Example: four parts on two ranks.

    ```mlir
    %sum = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64}
        ins(%p0, %p1 : tensor<8x4xf32>, tensor<8x4xf32>)
        outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
    ```
  }]);
  let arguments = (ins Remat_CollectiveKind:$kind,
                       ConfinedAttr<I64Attr, [IntPositive]>:$size,
                       ConfinedAttr<I64Attr, [IntPositive]>:$stride,
                       Variadic<Remat_TensorOrBuffer>:$inputs,
                       Remat_TensorOrBuffer:$init);
  let assemblyFormat = [{
    $kind attr-dict `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
  let extraClassDeclaration = commonDeclaration;
}

def Remat_AllGatherOp : Remat_Collective<"all_gather"> {
  let summary = "the tensors of all ranks of a group, side by side";
  let description = !strconcat(axisText, [{

    The tensors are put side by side along dimension `dim` in the order of the
    coordinates; every rank of the group gets the same result. `init` is
    overwritten, not read, and may not be in memory of the input.

    On memrefs, `convert-collectives-to-runtime` makes a call of the runtime of
    it, for the CPU.

    Example:

    ```mlir
    %all = remat.all_gather dim(1) {size = 2 : i64, stride = 1 : i64}
        ins(%x : tensor<8x4xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }]);
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim,
                       ConfinedAttr<I64Attr, [IntPositive]>:$size,
                       ConfinedAttr<I64Attr, [IntPositive]>:$stride,
                       Remat_TensorOrBuffer:$input,
                       Remat_TensorOrBuffer:$init);
  let assemblyFormat = [{
    `dim` `(` $dim `)` attr-dict `ins` `(` $input `:` type($input) `)`
    `outs` `(` $init `:` type($init) `)` (`->` type($result)^)?
  }];
  let extraClassDeclaration = commonDeclaration;
}

#endif // REMAT_DIALECT_REMAT_IR_REMATCOLLECTIVEOPS_TD
