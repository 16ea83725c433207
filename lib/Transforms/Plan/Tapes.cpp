//===- Tapes.cpp - Which iteration a tape's slot belongs to ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward and a backward loop correspond by where they write and read;
// cleanups in between may have merged the arithmetic of one and not of the
// other.
//===----------------------------------------------------------------------===//

#include "Tapes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isSameIndex(Value lhs, Value rhs) {
  if (lhs == rhs)
    return true;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (!left || !right || left->getNumResults() != 1 ||
      left->getName() != right->getName() || !isPure(left) ||
      left->getNumRegions() != 0 ||
      left->getNumOperands() != right->getNumOperands() ||
      left->getPropertiesAsAttribute() != right->getPropertiesAsAttribute())
    return false;
  return llvm::all_of(
      llvm::zip_equal(left->getOperands(), right->getOperands()),
      [](auto pair) {
        return isSameIndex(std::get<0>(pair), std::get<1>(pair));
      });
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
