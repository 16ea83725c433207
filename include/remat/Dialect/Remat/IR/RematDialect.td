//===- RematDialect.td - The remat dialect ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD
#define REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD

include "mlir/IR/OpBase.td"

def Remat_Dialect : Dialect {
  let name = "remat";
  let cppNamespace = "::mlir::remat";
  let summary = "Rematerialization of forward values in a backward pass";
  let description = [{
    A forward model marks the parts whose intermediate values it does not want
    to keep until the backward pass as `remat.region`s. Each carries a policy
    that says which values may be saved all the same. `remat-differentiate`
    gives every region a `remat.backward` and makes the values that it needs
    (residuals) extra results of the region. `remat-plan` decides which of them
    are kept; `remat-materialize` deletes the others by cloning the computation
    that leads to them into the backward, after a `remat.barrier`.

    Attributes that the dialect gives to functions and operations of others:

    | attribute | on | meaning |
    |---|---|---|
    | `remat.state = "name"` | argument and result | model state (batch-norm statistics): the result is the next step's argument |
    | `remat.init = <elements>` | argument | what a parameter or model state starts from (`dense`, or a handle `dense_resource`) |
    | `remat.seed = n` | argument | random state whose first value has this seed (`remat-thread-rng`) |
    | `remat.loss` | result | the scalar that is differentiated (default: the first floating-point scalar result) |
    | `remat.gradient_of = i` | result | the gradient of the loss with respect to argument `i` |
    | `remat.updates = i` | result | the next value of argument `i`, written in place |
    | `remat.step` | argument | the number of the step, from 0 |
    | `remat.data = "key"` | argument | a mini-batch of this array of the data file, or, if that has one dimension more, the step's value |
    | `remat.metric = "name"` | result | what the evaluation's result is called |
    | `remat.workspace_bytes = n` | operation on tensors | how many bytes it will take while it runs, besides operands and results (`remat-schedule`) |
    | `remat.always` | `remat.region` | part of how something is computed: `policy=none` does not take it away |
    | `remat.backward` | function | the backward of another function: nothing in it belongs to a forward |
    | `remat.joint = @f`, `remat.reads = array` | declaration | what stands for a half of the joint function `@f`, and the forward's arguments that its calls pass on (`remat-join-calls`) |
    | `remat.phase = "..."` | operation | `backward`, `recompute` or `update`; absent: forward. For reports: nothing is decided by it |
  }];
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;
    /// Name of the discardable attribute that says which phase of a training
    /// step an operation belongs to.
    static constexpr llvm::StringLiteral getPhaseAttrName() {
      return "remat.phase";
    }
    /// Name of the discardable attribute that says how many bytes an operation
    /// on tensors will take while it runs, besides its operands and results.
    /// What lowers the operation sets it.
    static constexpr llvm::StringLiteral getWorkspaceBytesAttrName() {
      return "remat.workspace_bytes";
    }
    static constexpr llvm::StringLiteral getStateAttrName() {
      return "remat.state";
    }
    static constexpr llvm::StringLiteral getInitAttrName() {
      return "remat.init";
    }
    static constexpr llvm::StringLiteral getSeedAttrName() {
      return "remat.seed";
    }
    static constexpr llvm::StringLiteral getStepAttrName() {
      return "remat.step";
    }
    static constexpr llvm::StringLiteral getResultAttrName() {
      return "remat.result";
    }
    static constexpr llvm::StringLiteral getDataAttrName() {
      return "remat.data";
    }
    static constexpr llvm::StringLiteral getMetricAttrName() {
      return "remat.metric";
    }
    static constexpr llvm::StringLiteral getLossAttrName() {
      return "remat.loss";
    }
    static constexpr llvm::StringLiteral getGradientOfAttrName() {
      return "remat.gradient_of";
    }
    static constexpr llvm::StringLiteral getUpdatesAttrName() {
      return "remat.updates";
    }
  }];
}

#endif // REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD
