//===- DifferentiableOpInterface.cpp - Derivative rules -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Autodiff/DifferentiableOpInterface.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Autodiff/DifferentiableOpInterface.cpp.inc"

VJPContext::~VJPContext() = default;
