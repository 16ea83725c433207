//===- OptDialect.td - The opt dialect --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_OPT_IR_OPTDIALECT_TD
#define REMAT_DIALECT_OPT_IR_OPTDIALECT_TD

include "mlir/IR/OpBase.td"

def Opt_Dialect : Dialect {
  let name = "opt";
  let cppNamespace = "::mlir::opt";
  let summary = "Optimizers inside the backward pass";
  let description = [{
    Update rules, and the step that applies one to a parameter as soon as its
    gradient is final.

    Attributes that the dialect gives to function arguments:

    | attribute | meaning |
    |---|---|
    | `opt.param` or `opt.param = "name"` | a trainable parameter |
    | `opt.init = "..."` | how a parameter, a model state or an optimizer state starts: `zeros`, `ones`, `constant(c)`, `normal(stddev)`, `uniform(low, high)` |
    | `opt.state = "m"` | optimizer state called `m` of the parameter that `opt.state_of` names |
    | `opt.state_of = i` | the argument to which this optimizer state belongs |
    | `opt.stored = type` | the type that a state's numbers are stored in: of a state of a rule that is a function, `bf16` or `!opt.blockwise<...>`; of codes, what they stand for |

    `opt.rule_name = "..."` is what `opt-lower-steps` leaves of an optimizer at
    its `remat.train_step`: the rule's name, which checkpoints record.

    Numbers: a rule computes in f64 for f64 parameters and in f32 for all
    others; state is kept in the type that the rule computes in, unless the
    rule's `states` says otherwise. Scalars that depend on the step only (learning
    rate, bias corrections) are computed once, in f64, and rounded.

    `states = bf16`, `int8` or `int4` of a rule with moments stores them in fewer
    bytes: they are read, updated and stored again in the kernel of the update.
    `int8` has blocks of 256 elements, `int4` of 128 (`!opt.blockwise`). States of
    fewer than 4096 elements, or of sizes that are not known, are not quantized.

    `rounding` is how a new value becomes a bf16 or f16 that is stored: `nearest`,
    `stochastic` (bf16 only; random bits are a function of the seed of the
    `remat.train_step`, the number of the step, the name of the parameter and the
    position of the element), or `kahan`, which keeps what was rounded away in a
    state, `compensation`, of the parameter's type. Parameters of other types are
    never rounded.
  }];
  let hasRegionArgAttrVerify = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;
    static constexpr llvm::StringLiteral getParamAttrName() {
      return "opt.param";
    }
    static constexpr llvm::StringLiteral getInitAttrName() {
      return "opt.init";
    }
    static constexpr llvm::StringLiteral getStateAttrName() {
      return "opt.state";
    }
    static constexpr llvm::StringLiteral getStateOfAttrName() {
      return "opt.state_of";
    }
    static constexpr llvm::StringLiteral getStoredAttrName() {
      return "opt.stored";
    }
  }];
}

#endif // REMAT_DIALECT_OPT_IR_OPTDIALECT_TD
