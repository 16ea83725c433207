//===- RematDialect.cpp - The remat dialect -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Dialect/Remat/IR/RematDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematTypes.cpp.inc"

namespace {
/// Functions that hold our operations, or are called inside a region, inline
/// like any others: no operation depends on the function it stands in.
struct RematInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Operation *, bool) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void RematDialect::initialize() {
  addInterfaces<RematInlinerInterface>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "remat/Dialect/Remat/IR/RematTypes.cpp.inc"
      >();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "remat/Dialect/Remat/IR/RematOps.cpp.inc"
      >();
}

Operation *RematDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

bool mlir::remat::isComputable(FloatType type) {
  return !isa<FloatTF32Type>(type) && type.getWidth() >= 16;
}

bool mlir::remat::hasCotangentType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (sparse_tensor::getSparseTensorEncoding(tensor))
      return false;
    type = tensor.getElementType();
  }
  auto number = dyn_cast<FloatType>(type);
  return number && isComputable(number);
}
