//===- ScalarDifferentiableOpInterface.cpp - Scalar derivative rules ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Autodiff/ScalarDifferentiableOpInterface.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Autodiff/ScalarDifferentiableOpInterface.cpp.inc"

ScalarVJPContext::~ScalarVJPContext() = default;

Scalar Scalar::beside(Scalar other) const {
  if (value)
    return *this;
  OpBuilder &b = *other.builder;
  return {b, *other.loc,
          arith::ConstantOp::create(b, *other.loc,
                                    b.getFloatAttr(other.getType(), number))};
}

Scalar Scalar::compare(arith::CmpFPredicate predicate, Scalar other) const {
  Scalar a = beside(other), b = other.beside(a);
  return {
      *a.builder, *a.loc,
      arith::CmpFOp::create(*a.builder, *a.loc, predicate, a.value, b.value)};
}

Scalar Scalar::select(Scalar a, Scalar b) const {
  a = a.beside(b);
  b = b.beside(a);
  return {*builder, *loc,
          arith::SelectOp::create(*builder, *loc, value, a.value, b.value)};
}
