//===- Registration.cpp - All derivative rules ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one list of who has rules.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "remat/Autodiff/DifferentiableOpInterface.h"

using namespace mlir;

void mlir::remat::registerDifferentiableExternalModels(
    DialectRegistry &registry) {
  registerLinalgRules(registry);
  registerAttentionRule(registry);
  registerConvRules(registry);
  registerScalarRules(registry);
  registerScatterRules(registry);
  registerTensorRules(registry);
  registerShapeBounds(registry);
}
