//===- Split.cpp - From the whole batch to what one rank has --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types change in place, operation by operation, so that regions, loops,
// branches and backwards stay what they are. Wherever an operation needs a
// value in another way than the value is, it gets it so.
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "Shardings.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Shards.h"
#include "remat/Transforms/Split/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SPLITPASS
#include "remat/Transforms/Split/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Returns true if `op` makes a tensor of nothing, in any size.
static bool isSizeless(Operation *op) {
  if (isa<tensor::EmptyOp, tensor::SplatOp>(op))
    return true;
  DenseElementsAttr constant;
  if (isa<arith::ConstantOp>(op))
    return matchPattern(op, m_Constant(&constant)) && constant.isSplat();
  auto isOperandSizeless = [](Value value) {
    Operation *source = value.getDefiningOp();
    return !isa<RankedTensorType>(value.getType()) ||
           (source && isSizeless(source));
  };
  return isa<linalg::FillOp, linalg::BroadcastOp, linalg::TransposeOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp>(op) &&
         llvm::all_of(op->getOperands(), isOperandSizeless);
}

/// Gives each user of a sizeless tensor one of its own: they may want it in
/// different ways.
static void copySizeless(FunctionOpInterface function) {
  SmallVector<Operation *> sizeless;
  function->walk([&](Operation *op) {
    if (isSizeless(op))
      sizeless.push_back(op);
  });
  // Users first.
  for (Operation *op : llvm::reverse(sizeless)) {
    OpBuilder builder(op);
    SmallVector<OpOperand *> uses =
        llvm::map_to_vector(op->getUses(), [](OpOperand &use) { return &use; });
    for (OpOperand *use : llvm::drop_begin(uses))
      use->set(builder.clone(*op)->getResult(0));
  }
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static Type getLocalType(Type type, const Sharding &sharding,
                         const Mesh &mesh) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, axis] : llvm::zip_equal(shape, sharding))
    if (axis >= 0)
      size /= mesh.axes[axis].ranks;
  return tensor.clone(shape);
}

/// Attributes of `op` that repeat sizes of its tensors.
static void setSizes(Operation *op, const Shardings::Split &split) {
  auto setSliceSizes = [&](auto slice, RankedTensorType type,
                           const LoopOfDim &whole) {
    // A dimension that is split is one of which the slice has all.
    SmallVector<int64_t> sizes(slice.getStaticSizes());
    for (auto [dim, loop] : llvm::enumerate(whole))
      if (loop >= 0)
        sizes[dim] = type.getDimSize(dim);
    slice.setStaticSizes(sizes);
  };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    setSliceSizes(slice, slice.getSourceType(), split.loops.operands[0].dims);
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    setSliceSizes(slice, slice.getDestType(), split.loops.operands[1].dims);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    SmallVector<int64_t> sizes(expand.getStaticOutputShape());
    for (auto [dim, loop] : llvm::enumerate(split.loops.results[0]))
      if (loop >= 0)
        sizes[dim] = expand.getResultType().getDimSize(dim);
    expand.setStaticOutputShape(sizes);
  }
  DenseElementsAttr constant;
  if (auto op1 = dyn_cast<arith::ConstantOp>(op))
    if (auto elements = dyn_cast<DenseElementsAttr>(op1.getValue()))
      op1.setValueAttr(elements.resizeSplat(cast<ShapedType>(op1.getType())));
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

namespace {
class FunctionSplitter {
public:
  FunctionSplitter(func::FuncOp function, const Mesh &mesh, Shardings shardings)
      : function(function), mesh(mesh), shardings(std::move(shardings)) {}

  LogicalResult run();

private:
  void setArguments();
  void splitBlock(Block &block);
  void splitOp(Operation *op);
  void splitByLoops(Operation *op, const Shardings::Split &split);
  void splitByRegions(RegionBranchOpInterface op);
  void computeWhole(Operation *op);
  void splitTerminator(Operation *op);
  void splitReturn(func::ReturnOp op);

  /// Returns `value`, which is split as `from`, split as `to`.
  Value reshard(OpBuilder &builder, Location loc, Value value,
                const Sharding &from, const Sharding &to);
  void reshard(OpOperand &use, Operation *at, const Sharding &to);
  /// Gives users of `value`, which is split as `from`, what they expect.
  void setSharding(Value value, const Sharding &from);
  Value getRank(ImplicitLocOpBuilder &b, const MeshAxis &axis) {
    return RankOp::create(b, axis.ranks, axis.stride);
  }
  void addOffsets(Operation *op, const Shardings::Split &split);
  /// Operands of `op` and of its body that are tensors from around it.
  static SmallVector<OpOperand *> getTensorOperands(Operation *op);

  func::FuncOp function;
  const Mesh &mesh;
  Shardings shardings;
  /// How operands that go to other regions or leave them arrive there.
  DenseMap<OpOperand *, Sharding> passed;
};
} // namespace

SmallVector<OpOperand *> FunctionSplitter::getTensorOperands(Operation *op) {
  SmallVector<OpOperand *> operands;
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()) &&
          (inner == op ||
           !op->isAncestor(operand.get().getParentRegion()->getParentOp())))
        operands.push_back(&operand);
  });
  return operands;
}

Value FunctionSplitter::reshard(OpBuilder &builder, Location loc, Value value,
                                const Sharding &from, const Sharding &to) {
  ImplicitLocOpBuilder b(loc, builder);
  for (auto [dim, axes] : llvm::enumerate(llvm::zip_equal(from, to))) {
    auto [old, next] = axes;
    if (old < 0 || old == next || mesh.axes[old].ranks == 1)
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] *= mesh.axes[old].ranks;
    Value into = tensor::EmptyOp::create(b, shape, type.getElementType());
    value = AllGatherOp::create(b, into.getType(), dim, mesh.axes[old].ranks,
                                mesh.axes[old].stride, value, into)
                ->getResult(0);
  }
  for (auto [dim, axes] : llvm::enumerate(llvm::zip_equal(from, to))) {
    auto [old, next] = axes;
    if (next < 0 || old == next || mesh.axes[next].ranks == 1)
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    int64_t size = type.getDimSize(dim) / mesh.axes[next].ranks;
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), sizes,
        strides(type.getRank(), b.getIndexAttr(1));
    for (int64_t other : type.getShape())
      sizes.push_back(b.getIndexAttr(other));
    sizes[dim] = b.getIndexAttr(size);
    offsets[dim] =
        arith::MulIOp::create(b, getRank(b, mesh.axes[next]),
                              arith::ConstantIndexOp::create(b, size))
            .getResult();
    value = tensor::ExtractSliceOp::create(b, value, offsets, sizes, strides);
  }
  return value;
}

void FunctionSplitter::reshard(OpOperand &use, Operation *at,
                               const Sharding &to) {
  Sharding from = shardings.get(use.get());
  if (from == to)
    return;
  PhaseListener listener(getPhase(at));
  OpBuilder builder(at);
  builder.setListener(&listener);
  use.set(reshard(builder, at->getLoc(), use.get(), from, to));
}

void FunctionSplitter::setSharding(Value value, const Sharding &from) {
  Sharding to = shardings.get(value);
  if (from == to)
    return;
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Operation *op = value.getDefiningOp();
  PhaseListener listener(op ? getPhase(op) : StringRef());
  builder.setListener(&listener);
  SmallVector<OpOperand *> uses =
      llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  Value next = reshard(builder, value.getLoc(), value, from, to);
  shardings.set(next, to);
  for (OpOperand *use : uses)
    use->set(next);
}

/// Counts positions from the first one of the whole.
void FunctionSplitter::addOffsets(Operation *op,
                                  const Shardings::Split &split) {
  for (unsigned loop = 0; loop < split.loops.count; ++loop) {
    if (split.axes[loop] < 0 || mesh.axes[split.axes[loop]].ranks == 1)
      continue;
    SmallVector<OpOperand *> positions = findPositions(op, split.loops, loop);
    if (positions.empty())
      continue;
    int64_t size = 0;
    for (const IterationSpace::Operand &operand : split.loops.operands)
      for (auto [dim, other] : llvm::enumerate(operand.dims))
        if (other == int(loop))
          size = cast<RankedTensorType>(operand.use->get().getType())
                     .getDimSize(dim);
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value offset =
        arith::MulIOp::create(b, getRank(b, mesh.axes[split.axes[loop]]),
                              arith::ConstantIndexOp::create(b, size));
    for (OpOperand *position : positions) {
      OpBuilder inner(position->getOwner());
      position->set(
          arith::AddIOp::create(inner, op->getLoc(), position->get(), offset));
    }
  }
}

void FunctionSplitter::splitByLoops(Operation *op,
                                    const Shardings::Split &split) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    fixReductionOrder(linalgOp);
  DenseMap<OpOperand *, Sharding> wanted;
  for (const IterationSpace::Operand &operand : split.loops.operands)
    wanted[operand.use] = split.get(operand.dims);
  for (OpOperand *operand : getTensorOperands(op)) {
    auto found = wanted.find(operand);
    Sharding whole(cast<RankedTensorType>(operand->get().getType()).getRank(),
                   -1);
    reshard(*operand, op, found == wanted.end() ? whole : found->second);
  }
  for (auto [result, dims] :
       llvm::zip_equal(op->getResults(), split.loops.results))
    result.setType(getLocalType(result.getType(), split.get(dims), mesh));
  setSizes(op, split);
  addOffsets(op, split);
  SmallVector<Value> results(op->getResults());
  if (combinesParts(split)) {
    results = splitIntoParts(op, split, mesh);
    for (auto [old, next] : llvm::zip_equal(op->getResults(), results)) {
      shardings.set(next, shardings.get(old));
      old.replaceAllUsesWith(next);
    }
    op->erase();
  }
  for (auto [result, dims] : llvm::zip_equal(results, split.loops.results))
    setSharding(result, split.get(dims));
}

void FunctionSplitter::splitByRegions(RegionBranchOpInterface op) {
  for (OpOperand &operand : op->getOpOperands())
    if (auto found = passed.find(&operand); found != passed.end())
      reshard(operand, op, found->second);
  for (Value result : op->getResults())
    result.setType(getLocalType(result.getType(), shardings.get(result), mesh));
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        argument.setType(
            getLocalType(argument.getType(), shardings.get(argument), mesh));
      splitBlock(block);
    }
}

/// Without a rule, each rank computes all of it.
void FunctionSplitter::computeWhole(Operation *op) {
  bool gathers = false;
  for (OpOperand *operand : getTensorOperands(op)) {
    Sharding whole(cast<RankedTensorType>(operand->get().getType()).getRank(),
                   -1);
    gathers |= shardings.get(operand->get()) != whole;
    reshard(*operand, op, whole);
  }
  if (gathers)
    op->emitWarning() << "remat-split has no rule for '" << op->getName()
                      << "': each rank gathers its operands and computes all "
                         "of it";
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      setSharding(result, Sharding(type.getRank(), -1));
}

void FunctionSplitter::splitTerminator(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (auto found = passed.find(&operand); found != passed.end())
      reshard(operand, op, found->second);
}

/// Next states and gradients leave as a whole, as their arguments come.
void FunctionSplitter::splitReturn(func::ReturnOp op) {
  SmallVector<Type> types;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (llvm::any_of(ArrayRef<StringRef>{RematDialect::getStateAttrName(),
                                         RematDialect::getGradientOfAttrName(),
                                         RematDialect::getUpdatesAttrName()},
                     [&](StringRef name) {
                       return function.getResultAttr(index, name);
                     }))
      if (auto type = dyn_cast<RankedTensorType>(operand.get().getType()))
        reshard(operand, op, Sharding(type.getRank(), -1));
    types.push_back(operand.get().getType());
  }
  function.setType(FunctionType::get(
      op.getContext(), function.front().getArgumentTypes(), types));
}

void FunctionSplitter::splitOp(Operation *op) {
  if (auto returns = dyn_cast<func::ReturnOp>(op))
    return splitReturn(returns);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return splitTerminator(op);
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return splitByRegions(branch);
  if (const Shardings::Split *split = shardings.get(op))
    return splitByLoops(op, *split);
  computeWhole(op);
}

void FunctionSplitter::splitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    splitOp(&op);
}

/// Data come as this rank's rows, all else as a whole.
void FunctionSplitter::setArguments() {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    unsigned index = argument.getArgNumber();
    Attribute shard = function.removeArgAttr(index, kShardAttrName);
    if (!shard ||
        function.getArgAttr(index, opt::OptDialect::getParamAttrName()) ||
        function.getArgAttr(index, RematDialect::getStateAttrName())) {
      setSharding(argument, Sharding(type.getRank(), -1));
      continue;
    }
    function.setArgAttr(index, kLocalAttrName, shard);
    argument.setType(getLocalType(type, shardings.get(argument), mesh));
  }
}

LogicalResult FunctionSplitter::run() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("has branches between blocks, which are not "
                              "split; write them as scf.if and scf.for");
  function->walk([&](RegionBranchOpInterface branch) {
    RegionBranchSuccessorMapping mapping;
    branch.getSuccessorOperandInputMapping(mapping);
    for (auto &[operand, inputs] : mapping)
      if (!inputs.empty())
        passed[operand] = shardings.get(inputs.front());
  });
  SmallVector<Operation *> ops =
      llvm::map_to_vector(function.front(), [](Operation &op) { return &op; });
  setArguments();
  for (Operation *op : ops)
    splitOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Emits an error for a step that is not yet split.
static LogicalResult checkSteps(ModuleOp module) {
  for (auto step : module.getOps<TrainStepOp>())
    if (step.getAccumulate() > 1)
      return step.emitOpError(
          "accumulates over micro-batches, which is not done for several "
          "ranks; leave 'accumulate' out, and give each rank fewer rows");
  return success();
}

namespace {
struct SplitPass : remat::impl::SplitPassBase<SplitPass> {
  using SplitPassBase::SplitPassBase;

  void runOnOperation() override {
    FailureOr<std::optional<Mesh>> mesh = Mesh::get(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    SmallVector<func::FuncOp> functions = llvm::filter_to_vector(
        getOperation().getOps<func::FuncOp>(), [](func::FuncOp function) {
          return !function.isExternal() && hasShards(function);
        });
    if (!*mesh) {
      if (functions.empty())
        return markAllAnalysesPreserved();
      functions[0].emitError(
          "has arguments with 'remat.shard', but the module has no grid; add "
          "one, as in: shard.grid @mesh(shape = 2) {remat.axes = [\"data\"]}");
      return signalPassFailure();
    }
    if (functions.empty())
      return markAllAnalysesPreserved();
    if (failed(checkSteps(getOperation())))
      return signalPassFailure();
    for (func::FuncOp function : functions) {
      copySizeless(function);
      FailureOr<Shardings> shardings = Shardings::compute(function, **mesh);
      if (failed(shardings) ||
          failed(
              FunctionSplitter(function, **mesh, std::move(*shardings)).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
