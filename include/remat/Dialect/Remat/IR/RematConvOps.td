//===- RematConvOps.td - Padded convolutions --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATCONVOPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATCONVOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematDialect.td"

def Remat_Image : AnyTypeOf<[TensorRankOf<[F32, F64], [4, 5]>, MemRefRankOf<[F32, F64], [4, 5]>],
    "4-d or 5-d tensor or memref of f32 or f64">;

class Remat_AnyConvOp<string mnemonic> : Op<Remat_Dialect, mnemonic, [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Remat_Image:$lhs, Remat_Image:$rhs, Remat_Image:$init,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$padding, UnitAttr:$channels_first);
  let results = (outs Optional<TensorRankOf<[F32, F64], [4, 5]>>:$result);
  let assemblyFormat = [{
    `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)`
    `outs` `(` $init `:` type($init) `)` attr-dict (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

defvar convText = [{
    Images are (n, h, w, c), filters (kh, kw, c, f); with `channels_first` (n,
    c, h, w) and (f, c, kh, kw). `strides` and `dilations` are (y, x), `padding`
    is (low y, high y, low x, high x): that many positions around the input
    count as zero. They exist in no buffer, where a `tensor.pad` in front of a
    convolution is one more residual. With three dimensions in space, the depth
    comes before the height in all of them. As with linalg's convolutions, a
    result may be smaller than the input allows: the positions at its end are
    left out.

    Filters of fewer channels than the images have read groups of them: of f
    filters of c channels on images of g * c, the first f / g read the first c
    channels, and so on. Channels last, a group has one channel and one filter
    (a depthwise convolution).

    `init` is overwritten, not added to. `remat-fuse-padding` makes these
    operations of `tensor.pad` and linalg's convolutions, and
    `convert-conv-to-library` calls of the runtime.
}];

def Remat_ConvOp : Remat_AnyConvOp<"conv"> {
  let summary = "convolution of two or three dimensions with zero padding";
  let description = !strconcat("Operands: images, filters. ", convText, [{

    Example:

    ```mlir
    %y = remat.conv ins(%x, %w : tensor<8x32x32x3xf32>, tensor<3x3x3x64xf32>)
        outs(%e : tensor<8x32x32x64xf32>)
        {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>}
        -> tensor<8x32x32x64xf32>
    ```
  }]);
}

def Remat_ConvBackwardDataOp : Remat_AnyConvOp<"conv_backward_data"> {
  let summary = "cotangent of the images of a remat.conv";
  let description = !strconcat([{
    A transposed convolution is this as well: of `lhs`, which it reads as if
    there were zeros between its elements. Operands: cotangent of the result,
    filters.
  }], convText);
}

def Remat_ConvBackwardFilterOp : Remat_AnyConvOp<"conv_backward_filter"> {
  let summary = "cotangent of the filters of a remat.conv";
  let description = !strconcat("Operands: images, cotangent of the result. ", convText);
}

#endif // REMAT_DIALECT_REMAT_IR_REMATCONVOPS_TD
