//===- DifferentiableOpInterface.td - Derivative rules ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_TD
#define REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::remat";
  let description = [{
    An operation with a derivative rule: the vector-Jacobian product (VJP) that
    turns the cotangents of its results into those of its operands. Rules for
    upstream dialects are external models of this interface, registered in
    `remat::registerDifferentiableExternalModels`; a third party's dialect
    implements it in the same way.

    A rule reads forward values directly: the operation's operands, its results
    and anything else that dominates it. The driver finds out which of them the
    backward uses and turns them into residuals where a region, a loop or a
    call lies between. A rule therefore decides what is saved by what it reads:
    read the smaller of two sufficient values, and never a value inside a
    kernel.

    A loop or a branch of another dialect is differentiated through its body by
    `DecomposableOpInterface`.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the backward of this operation: for every operand `i` with
        `vjp.isWanted(i)`, adds the contribution of the results' cotangents with
        `vjp.accumulate(i, value)`. An operand without a contribution has a
        zero cotangent. On failure a diagnostic that says what is unsupported
        has been emitted at the operation.
      }], "::llvm::LogicalResult", "buildVJP",
      (ins "::mlir::remat::VJPContext &":$vjp)>,
  ];
}

#endif // REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_TD
