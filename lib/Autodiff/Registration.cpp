//===- Registration.cpp - All derivative rules ----------------------------===//
//
// The one list of who has rules.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "remat/Autodiff/DifferentiableOpInterface.h"

using namespace mlir;

void mlir::remat::registerDifferentiableExternalModels(
    DialectRegistry &registry) {
  registerArithRules(registry);
  registerLinalgRules(registry);
  registerConvRules(registry);
  registerTensorRules(registry);
  registerShapeBounds(registry);
}
