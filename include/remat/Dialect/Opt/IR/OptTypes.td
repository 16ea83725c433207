//===- OptTypes.td - How numbers of a rule are stored -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_OPT_IR_OPTTYPES_TD
#define REMAT_DIALECT_OPT_IR_OPTTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "remat/Dialect/Opt/IR/OptDialect.td"

def Opt_BlockwiseType : TypeDef<Opt_Dialect, "Blockwise"> {
  let mnemonic = "blockwise";
  let summary = "numbers that are quantized in blocks";
  let description = [{
    The element type of a state that is stored in codes of 8 or 4 bits, with one
    scale (f32) for each block of consecutive elements, in row-major order: the
    largest magnitude in the block. An element is its scale times what the table
    has for its code. A step has two arguments for such a state `m` of n elements:

    | argument | type | contents |
    |---|---|---|
    | `m` | `tensor<ceil(n / block) x block x i8>` | row b has the codes (0 to 255) of block b |
    | | `tensor<ceil(n / block) x block / 2 x i8>` | for `int4`: the low four bits of byte j are the code of element j of the block, the high ones that of element j + block / 2 |
    | `m.scale` | `tensor<ceil(n / block) x f32>` | the scales |

    Tables are those of bitsandbytes and torchao, up to the last bit of f32: with
    d = 6 for `int8` and 2 for `int4`, signed numbers have zero at code 127 (7),
    and 2^i codes of each sign, in equal steps, between 10^(i-d-1) and 10^(i-d),
    for i from 0 to d; the last code is 1. Unsigned `int8` has zero at code 0, and
    2^(i+1) codes between the same bounds; unsigned `int4` has (code + 1) / 16. A
    number is stored as the code whose value is nearest to it over the scale.

    A block that holds a NaN has a scale of NaN, and all of it is NaN. One with an
    infinity has a scale of infinity, and is NaN when it is read.

    Example: `!opt.blockwise<int8, 256>`, `!opt.blockwise<int4, 128, unsigned>`.
  }];
  let parameters = (ins "unsigned":$bits, "int64_t":$block, "bool":$isSigned);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes that hold the codes of a block.
    int64_t getBytesPerBlock() const { return getBlock() * getBits() / 8; }
  }];
}

def Opt_StochasticType : TypeDef<Opt_Dialect, "Stochastic"> {
  let mnemonic = "stochastic";
  let summary = "numbers that are rounded up or down by chance";
  let description = [{
    The element type of a parameter whose new value is rounded to one of the two
    neighbours in bf16, to the nearer one more likely, so that the mean of many
    roundings is the number itself. Only `opt-lower-steps` has such tensors; the
    parameter is one of bf16.
  }];
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}

def Opt_CompensatedType : TypeDef<Opt_Dialect, "Compensated"> {
  let mnemonic = "compensated";
  let summary = "numbers with what their rounding lost";
  let description = [{
    The element type of a parameter beside which a state of the same type holds
    what rounding took away (Kahan, 1965). Only `opt-lower-steps` has such
    tensors.
  }];
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}

#endif // REMAT_DIALECT_OPT_IR_OPTTYPES_TD
