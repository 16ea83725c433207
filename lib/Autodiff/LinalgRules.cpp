//===- LinalgRules.cpp - Derivative rules of the linalg dialect -----------===//

#include "remat/Autodiff/DifferentiableOpInterface.h"

using namespace mlir;

void mlir::remat::registerLinalgRules(DialectRegistry &) {}
