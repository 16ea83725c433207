//===- Tapes.cpp - Which iteration a tape's slot belongs to ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward and a backward loop correspond by where they write and read;
// cleanups in between may have merged the arithmetic of one and not of the
// other.
//===----------------------------------------------------------------------===//

#include "Tapes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;

/// Returns true if the two do the same with their operands.
static bool isSameComputation(Operation *left, Operation *right) {
  return left && right && left->getNumResults() == 1 &&
         left->getName() == right->getName() && isPure(left) &&
         left->getNumRegions() == 0 &&
         left->getNumOperands() == right->getNumOperands() &&
         left->getPropertiesAsAttribute() == right->getPropertiesAsAttribute();
}

bool mlir::remat::isSameIndex(Value lhs, Value rhs) {
  llvm::SetVector<std::pair<Value, Value>> pairs;
  pairs.insert({lhs, rhs});
  for (unsigned next = 0; next < pairs.size(); ++next) {
    auto [a, b] = pairs[next];
    if (a == b)
      continue;
    Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
    if (!isSameComputation(left, right))
      return false;
    for (auto [x, y] :
         llvm::zip_equal(left->getOperands(), right->getOperands()))
      pairs.insert({x, y});
  }
  return true;
}

scf::ForOp mlir::remat::getRecordingLoop(TapeWriteOp write, unsigned &index) {
  auto tape = dyn_cast<BlockArgument>(write.getTape());
  auto loop = tape ? dyn_cast<scf::ForOp>(tape.getOwner()->getParentOp())
                   : scf::ForOp();
  if (!loop || write->getBlock() != loop.getBody() ||
      tape == loop.getInductionVar() || !write.getResult().hasOneUse())
    return {};
  index = tape.getArgNumber() - loop.getNumInductionVars();
  bool isCarried =
      loop.getBody()->getTerminator()->getOperand(index) == write.getResult();
  return isCarried ? loop : scf::ForOp();
}

TapeWriteOp mlir::remat::getWriteOf(Value tape) {
  auto loop = tape.getDefiningOp<scf::ForOp>();
  if (!loop)
    return {};
  unsigned number = cast<OpResult>(tape).getResultNumber(), index;
  auto write = loop.getBody()
                   ->getTerminator()
                   ->getOperand(number)
                   .getDefiningOp<TapeWriteOp>();
  return write && getRecordingLoop(write, index) == loop && index == number
             ? write
             : TapeWriteOp();
}
