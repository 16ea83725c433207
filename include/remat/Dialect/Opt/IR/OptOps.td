//===- OptOps.td - The opt dialect ------------------------*- tablegen -*-===//

#ifndef REMAT_DIALECT_OPT_IR_OPTOPS_TD
#define REMAT_DIALECT_OPT_IR_OPTOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Opt_Dialect : Dialect {
  let name = "opt";
  let cppNamespace = "::mlir::opt";
  let summary = "Optimizers inside the backward pass";
  let description = [{
    Update rules, and the step that applies one to a parameter as soon as its
    gradient is final.

    | attribute | on | meaning |
    |---|---|---|
    | `opt.param` or `opt.param = "name"` | argument | a trainable parameter |
  }];
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral getParamAttrName() {
      return "opt.param";
    }
  }];
}

class Opt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Opt_Dialect, mnemonic, traits>;

def Opt_OptimizerOp : Opt_Op<"optimizer", [Symbol]> {
  let summary = "an optimizer: a named update rule";
  let arguments = (ins SymbolNameAttr:$sym_name, AnyAttr:$rule);
  let assemblyFormat = "$sym_name `=` $rule attr-dict";
}

#endif // REMAT_DIALECT_OPT_IR_OPTOPS_TD
