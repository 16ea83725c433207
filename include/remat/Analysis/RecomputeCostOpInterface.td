//===- RecomputeCostOpInterface.td - Cost of a recompute --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_TD
#define REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def RecomputeCostOpInterface : OpInterface<"RecomputeCostOpInterface"> {
  let cppNamespace = "::mlir::remat";
  let description = [{
    The cost of recomputing an operation whose operands are in memory.
    `remat-plan` saves no result of an operation that costs nothing and whose
    operands are live anyway and no bigger, even if the policy permits it, and
    reports the cost of what it recomputes.

    An operation without this interface has a cost by default
    (`remat::getRecomputeCost`): structured operations that of all iterations of
    their body, in which a division counts as 8 scalar operations and an
    exponential as 20, others one for each element of their results. Views of tensors
    are external models of this interface that cost 0; a dialect implements it for
    operations of its own.
  }];
  let methods = [
    InterfaceMethod<[{
        Returns the number of scalar operations that computing the results
        takes, 0 for a view or anything else that is not worth saving. Dynamic
        sizes count as 1.
      }], "int64_t", "getRecomputeCost">,
  ];
}

#endif // REMAT_ANALYSIS_RECOMPUTECOSTOPINTERFACE_TD
