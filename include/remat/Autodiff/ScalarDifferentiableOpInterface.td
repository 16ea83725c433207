//===- ScalarDifferentiableOpInterface.td - Scalar rules --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_AUTODIFF_SCALARDIFFERENTIABLEOPINTERFACE_TD
#define REMAT_AUTODIFF_SCALARDIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ScalarDifferentiableOpInterface
    : OpInterface<"ScalarDifferentiableOpInterface"> {
  let cppNamespace = "::mlir::remat";
  let description = [{
    An operation on floating-point scalars with a derivative rule. The rule
    holds in the bodies of structured operations, where the adjoint kernel
    recomputes operands and results in registers, and for the operation between
    tensor operations. Rules for arith and math are external models of this
    interface (`lib/Autodiff/ScalarRules.cpp`).
  }];
  let methods = [
    InterfaceMethod<[{
        Adds the contributions of the results' cotangents to the operands. On
        failure a diagnostic has been emitted at the operation.
      }], "::llvm::LogicalResult", "buildScalarVJP",
      (ins "::mlir::remat::ScalarVJPContext &":$vjp)>,
    InterfaceMethod<[{
        Returns what is known of the derivative at all finite operands. By
        default nothing is: the contributions to a zero cotangent are then zeros,
        whatever the rule computes.
      }], "::mlir::remat::DerivativeKind", "getDerivativeKind", (ins),
      /*methodBody=*/"",
      /*defaultImplementation=*/"return ::mlir::remat::DerivativeKind::Any;">,
  ];
}

#endif // REMAT_AUTODIFF_SCALARDIFFERENTIABLEOPINTERFACE_TD
