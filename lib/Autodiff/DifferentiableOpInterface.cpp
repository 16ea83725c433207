//===- DifferentiableOpInterface.cpp - Derivative rules -------------------===//

#include "remat/Autodiff/DifferentiableOpInterface.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Autodiff/DifferentiableOpInterface.cpp.inc"

VJPContext::~VJPContext() = default;
