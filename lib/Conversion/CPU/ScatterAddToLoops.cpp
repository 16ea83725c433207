//===- ScatterAddToLoops.cpp - Additions one after the other --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the CPU: a loop over the positions that are computed, which adds a row at
// a time, so that the innermost dimension vectorizes. Threads share what adds
// to elements of its own, so that additions to one element keep their order.
//===----------------------------------------------------------------------===//

#include "../ScatterRows.h"
#include "KernelPlan.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTSCATTERADDTOLOOPS
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Updates below which starting threads costs more than it saves.
static constexpr int64_t kMinParallelUpdates = int64_t(1) << 14;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions of the updates, by how their loops run.
struct ScatterPlan {
  /// Shared among threads: elements of the table belong to one iteration.
  SmallVector<unsigned> shared;
  SmallVector<unsigned> inOrder;
  /// Added as a whole, last in the updates and in the table.
  SmallVector<unsigned> row;
};
} // namespace

static MemRefType getType(Value memref) {
  return cast<MemRefType>(memref.getType());
}

/// The last dimensions that the updates and the table have in common.
static SmallVector<unsigned> findRow(ScatterAddOp op, const ScatterRows &rows) {
  SmallVector<unsigned> row;
  unsigned dim = getType(op.getUpdates()).getRank();
  for (std::optional<unsigned> argument : llvm::reverse(rows.rowArgument)) {
    if (dim == 0 || argument != dim - 1)
      break;
    row.insert(row.begin(), --dim);
  }
  return row;
}

static ScatterPlan planScatter(ScatterAddOp op, const ScatterRows &rows) {
  ScatterPlan plan;
  plan.row = findRow(op, rows);
  MemRefType updates = getType(op.getUpdates());
  int64_t iterations = 1;
  bool isLarge = !updates.hasStaticShape() ||
                 multiplySizes(updates.getShape()) >= kMinParallelUpdates;
  for (unsigned dim : llvm::seq<unsigned>(updates.getRank())) {
    if (llvm::is_contained(plan.row, dim))
      continue;
    bool isOwn = llvm::is_contained(rows.ownArgument, dim);
    if (!isLarge || !isOwn || iterations >= kWantedIterations) {
      plan.inOrder.push_back(dim);
      continue;
    }
    plan.shared.push_back(dim);
    iterations *=
        updates.isDynamicDim(dim) ? kWantedIterations : updates.getDimSize(dim);
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {
/// The loops of one operation.
class Lowering {
public:
  Lowering(ScatterAddOp op, OpBuilder &b)
      : op(op), b(b), loc(op.getLoc()), rows(findScatterRows(op)),
        plan(planScatter(op, rows)),
        sizes(memref::getMixedSizes(b, loc, op.getUpdates())) {}

  void build();

private:
  void addAt(ValueRange position);
  void addElement(ValueRange at, ValueRange position);
  void addRow(ValueRange at, ValueRange position);
  Value takeRow(Value memref, ValueRange position);

  ScatterAddOp op;
  OpBuilder &b;
  Location loc;
  ScatterRows rows;
  ScatterPlan plan;
  SmallVector<OpFoldResult> sizes;
};
} // namespace

void Lowering::addElement(ValueRange at, ValueRange position) {
  Value old = memref::LoadOp::create(b, loc, op.getInit(), at);
  Value element = memref::LoadOp::create(b, loc, op.getUpdates(), position);
  Value sum = arith::AddFOp::create(b, loc, old, widenUpdate(b, op, element));
  memref::StoreOp::create(b, loc, sum, op.getInit(), at);
}

/// The row at `position` in the dimensions in front of it.
Value Lowering::takeRow(Value memref, ValueRange position) {
  MemRefType type = getType(memref);
  unsigned outer = type.getRank() - plan.row.size();
  SmallVector<OpFoldResult> offsets =
      getAsOpFoldResult(position.take_front(outer));
  SmallVector<OpFoldResult> shape(outer, b.getIndexAttr(1)),
      strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> rowShape;
  for (unsigned dim : plan.row) {
    offsets.push_back(b.getIndexAttr(0));
    shape.push_back(sizes[dim]);
    rowShape.push_back(
        getConstantIntValue(sizes[dim]).value_or(ShapedType::kDynamic));
  }
  MemRefType rowType = memref::SubViewOp::inferRankReducedResultType(
      rowShape, type, offsets, shape, strides);
  return memref::SubViewOp::create(b, loc, rowType, memref, offsets, shape,
                                   strides);
}

void Lowering::addRow(ValueRange at, ValueRange position) {
  Value row = takeRow(op.getUpdates(), position);
  Value sum = takeRow(op.getInit(), at);
  unsigned rank = plan.row.size();
  linalg::GenericOp::create(
      b, loc, row, sum,
      SmallVector<AffineMap>(2, b.getMultiDimIdentityMap(rank)),
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &body, Location, ValueRange v) {
        Value next =
            arith::AddFOp::create(body, loc, v[1], widenUpdate(body, op, v[0]));
        linalg::YieldOp::create(body, loc, next);
      });
}

/// Adds the updates at one position of the loops.
void Lowering::addAt(ValueRange position) {
  SmallVector<Value> at = computeScatterIndices(b, op, rows, position);
  plan.row.empty() ? addElement(at, position) : addRow(at, position);
}

void Lowering::build() {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> position(sizes.size(), zero);
  auto setPosition = [&](ArrayRef<unsigned> dims, ValueRange iterations) {
    for (auto [dim, iteration] : llvm::zip_equal(dims, iterations))
      position[dim] = iteration;
  };
  auto sizesOf = [&](ArrayRef<unsigned> dims) {
    return llvm::map_to_vector(dims, [&](unsigned dim) {
      return getValueOrCreateConstantIndexOp(b, loc, sizes[dim]);
    });
  };
  OpBuilder::InsertionGuard guard(b);
  if (size_t count = plan.shared.size()) {
    auto parallel = scf::ParallelOp::create(
        b, loc, SmallVector<Value>(count, zero), sizesOf(plan.shared),
        SmallVector<Value>(count, one));
    b.setInsertionPointToStart(parallel.getBody());
    setPosition(plan.shared, parallel.getInductionVars());
  }
  size_t count = plan.inOrder.size();
  scf::buildLoopNest(b, loc, SmallVector<Value>(count, zero),
                     sizesOf(plan.inOrder), SmallVector<Value>(count, one),
                     [&](OpBuilder &inner, Location, ValueRange iterations) {
                       OpBuilder::InsertionGuard innermost(b);
                       b.setInsertionPoint(inner.getInsertionBlock(),
                                           inner.getInsertionPoint());
                       setPosition(plan.inOrder, iterations);
                       addAt(position);
                     });
}

namespace {
class ConvertScatterAddToLoops
    : public remat::impl::ConvertScatterAddToLoopsBase<
          ConvertScatterAddToLoops> {
protected:
  void runOnOperation() override {
    bool changed = false;
    getOperation()->walk([&](ScatterAddOp op) {
      if (!op.hasPureBufferSemantics())
        return;
      changed = true;
      PhaseListener listener(getPhase(op));
      IRRewriter rewriter(op.getContext(), &listener);
      rewriter.setInsertionPoint(op);
      if (!isEmptyScatter(op))
        Lowering(op, rewriter).build();
      rewriter.eraseOp(op);
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
