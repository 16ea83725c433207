//===- LinalgToKernels.cpp - linalg on memrefs to kernel functions --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without this pass every linalg op becomes scalar loops in place: no vectors,
// no threads, and a model of 48 equal layers compiles the same loops 48 times.
//===----------------------------------------------------------------------===//

#include "../KernelTable.h"
#include "../Signature.h"
#include "../TypeCasts.h"
#include "KernelEmitter.h"
#include "StreamedStores.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <map>

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTLINALGTOKERNELS
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {

/// The values that a call site passes, in the order of the kernel's arguments.
struct CallSite {
  SmallVector<Value> views;
  Captures captures;

  SmallVector<Value> arguments() const {
    SmallVector<Value> all(views);
    llvm::append_range(all, captures.values);
    return all;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Call sites
//===----------------------------------------------------------------------===//

/// The operand as a one-dimensional memref that starts at the lowest element
/// that is accessed.
static Value createView(OpBuilder &builder, const Access &access) {
  if (access.isScalar())
    return access.source;
  auto source = cast<MemRefType>(access.source.getType());
  auto layout =
      StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1});
  auto type = MemRefType::get({ShapedType::kDynamic}, access.elementType,
                              layout, source.getMemorySpace());
  Location loc = access.source.getLoc();
  SmallVector<int64_t> sizes, strides{1}, offsets;
  SmallVector<Value> dynamicSizes, dynamicOffsets;
  OpFoldResult offset =
      isConstantIntValue(access.start, 0)
          ? access.offset
          : affine::makeComposedFoldedAffineApply(
                builder, loc,
                builder.getAffineSymbolExpr(0) - builder.getAffineSymbolExpr(1),
                {access.offset, access.start});
  dispatchIndexOpFoldResult(access.span, dynamicSizes, sizes);
  dispatchIndexOpFoldResult(offset, dynamicOffsets, offsets);
  auto exact = MemRefType::get(
      sizes, access.elementType,
      StridedLayoutAttr::get(builder.getContext(), offsets[0], {1}),
      source.getMemorySpace());
  Value view = memref::ReinterpretCastOp::create(
      builder, loc, exact, access.source, offset, access.span,
      OpFoldResult(builder.getIndexAttr(1)));
  // A static type at offset 0 can be passed as a pointer; other offsets are
  // generalized, so that parts of one tensor share a kernel.
  if (exact.hasStaticShape() && offsets[0] == 0)
    type = exact;
  else
    view = memref::CastOp::create(builder, loc, type, view);
  if (!access.elementType.isInteger(1))
    return view;
  // A vector of i1 is a bit mask for LLVM, but memory has a byte for each: in
  // LLVM both memrefs are one type, so that the cast vanishes there.
  Type bytes = MemRefType::get(type.getShape(), builder.getI8Type(),
                               type.getLayout(), type.getMemorySpace());
  return castTo(builder, loc, view, bytes);
}

static CallSite collectCallSite(OpBuilder &builder, const LoopNest &nest) {
  CallSite site;
  for (const Access &access : nest.accesses)
    site.views.push_back(createView(builder, access));
  site.captures = collectCaptures(nest);
  return site;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// A function of `arguments`, without a body.
static func::FuncOp declareKernel(Location loc, const Twine &name,
                                  ValueRange arguments) {
  OpBuilder builder(loc.getContext());
  auto type = builder.getFunctionType(arguments.getTypes(), {});
  auto kernel = func::FuncOp::create(builder, loc, name.str(), type);
  kernel.setPrivate();
  // A kernel is compiled once: inlined it would be compiled at every call.
  kernel.setNoInline(true);
  auto widest = [&](StringRef key) {
    return builder.getStrArrayAttr({key, "512"});
  };
  kernel->setAttr("passthrough",
                  builder.getArrayAttr({widest("prefer-vector-width"),
                                        widest("min-legal-vector-width")}));
  return kernel;
}

/// A branch of which `emitThen` and `emitElse` are the two sides.
static void emitInBoth(OpBuilder &builder, Location loc, Value condition,
                       function_ref<void(OpBuilder &)> emitThen,
                       function_ref<void(OpBuilder &)> emitElse) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElse=*/true);
  auto b = OpBuilder::atBlockBegin(branch.thenBlock());
  emitThen(b);
  b.setInsertionPointToStart(branch.elseBlock());
  emitElse(b);
}

static func::FuncOp createKernel(const LoopNest &nest, const CallSite &site) {
  Location loc = nest.op.getLoc();
  func::FuncOp kernel = declareKernel(
      loc, "kernel_" + nest.op->getName().stripDialect(), site.arguments());
  Block *entry = kernel.addEntryBlock();
  auto builder = OpBuilder::atBlockBegin(entry);
  IRMapping map;
  SmallVector<Value> views = llvm::to_vector_of<Value>(
      entry->getArguments().take_front(site.views.size()));
  for (auto [outside, inside] :
       llvm::zip_equal(site.captures.values,
                       entry->getArguments().drop_front(site.views.size())))
    map.map(outside, inside);
  for (Operation *constant : site.captures.constants)
    builder.clone(*constant, map);

  KernelPlan plan = planKernel(nest);
  auto emit = [&](OpBuilder &b, ArrayRef<unsigned> streamed) {
    KernelBody body(nest, {plan.lanes, plan.vectorLoop}, views, map);
    body.stream(streamed);
    emitKernelLoops(b, nest, plan, body);
  };
  SmallVector<unsigned> streamed = findStreamed(nest, plan);
  if (streamed.empty()) {
    emit(builder, {});
  } else {
    SmallVector<Value> outputs = llvm::map_to_vector(
        streamed, [&](unsigned access) { return views[access]; });
    emitInBoth(
        builder, loc, emitBeginWithLines(builder, loc, outputs),
        [&](OpBuilder &b) { emit(b, streamed); },
        [&](OpBuilder &b) { emit(b, {}); });
  }
  func::ReturnOp::create(builder, loc);
  return kernel;
}

namespace {
/// The kernels of a module, each made once for operations that look alike, and
/// kept once for those that turn out to be.
class Kernels {
public:
  explicit Kernels(ModuleOp module) : table(module) {}

  func::FuncOp getOrCreate(Operation *op, function_ref<func::FuncOp()> create) {
    func::FuncOp &kernel = bySignature[getSignature(op)];
    if (!kernel)
      kernel = table.getOrInsert(create());
    return kernel;
  }
  func::FuncOp insert(func::FuncOp kernel) { return table.getOrInsert(kernel); }

private:
  KernelTable<func::FuncOp> table;
  std::map<Signature, func::FuncOp> bySignature;
};
} // namespace

/// Returns true if the types of operands alone say how `op` iterates.
static bool hasStaticStrides(linalg::LinalgOp op) {
  return llvm::all_of(op->getOperandTypes(), [](Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || (memref.hasStaticShape() && memref.getLayout().isIdentity()))
      return true;
    SmallVector<int64_t> strides;
    int64_t offset;
    return memref.hasStaticShape() &&
           succeeded(memref.getStridesAndOffset(strides, offset)) &&
           llvm::none_of(strides, ShapedType::isDynamic);
  });
}

/// Replaces `op`, whose maps are not linear, by loops over scalars.
static void convertToScalarLoops(linalg::LinalgOp op) {
  IRRewriter rewriter(op);
  if (succeeded(linalg::linalgOpToLoops(rewriter, op)))
    rewriter.eraseOp(op);
}

/// Replaces `op` by a call of its kernel.
static void convertToKernel(linalg::LinalgOp op, Kernels &kernels) {
  OpBuilder builder(op);
  FailureOr<LoopNest> nest = buildLoopNest(builder, op);
  if (failed(nest))
    return convertToScalarLoops(op);
  CallSite site = collectCallSite(builder, *nest);
  auto create = [&] { return createKernel(*nest, site); };
  func::FuncOp kernel = hasStaticStrides(op) ? kernels.getOrCreate(op, create)
                                             : kernels.insert(create());
  auto call =
      func::CallOp::create(builder, op.getLoc(), kernel, site.arguments());
  copyPhase(op, call);
  op->erase();
}

//===----------------------------------------------------------------------===//
// Loops over rows
//===----------------------------------------------------------------------===//

/// Returns true if all that `body` does are operations that become kernels, and
/// loads and stores, perhaps in loops; `writes` is set if it does anything.
static bool isOfKernels(Block &body, bool &writes) {
  return llvm::all_of(body.without_terminator(), [&](Operation &op) {
    if (auto linalg = dyn_cast<linalg::LinalgOp>(op)) {
      writes = true;
      return linalg.hasPureBufferSemantics();
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return loop.getInitArgs().empty() && isOfKernels(*loop.getBody(), writes);
    writes |= isa<memref::StoreOp>(op);
    return isa<memref::LoadOp, memref::StoreOp>(op) || isMemoryEffectFree(&op);
  });
}

static bool isOfKernels(scf::ParallelOp loop) {
  bool writes = false;
  return isOfKernels(*loop.getBody(), writes) && writes &&
         loop.getInitVals().empty() &&
         !loop->getParentOfType<scf::ParallelOp>();
}

/// Replaces `op` by its loops, without threads. Vectors of `streamed` outputs
/// bypass the cache.
static void convertInPlace(linalg::LinalgOp op, ArrayRef<unsigned> streamed) {
  OpBuilder builder(op);
  FailureOr<LoopNest> nest = buildLoopNest(builder, op);
  if (failed(nest))
    return convertToScalarLoops(op);
  CallSite site = collectCallSite(builder, *nest);
  IRMapping map;
  for (Value value : site.captures.values)
    map.map(value, value);
  for (Operation *constant : site.captures.constants)
    map.map(constant->getResult(0), constant->getResult(0));
  KernelPlan plan = planKernel(*nest);
  plan.threadLoops.clear();
  plan.chunk = 0;
  KernelBody body(*nest, {plan.lanes, plan.vectorLoop}, site.views, map);
  body.stream(streamed);
  emitKernelLoops(builder, *nest, plan, body);
  op->erase();
}

/// Returns a view of the part of `value` that `loop` uses, with an offset that
/// is not part of its type, so that parts of one tensor share a kernel.
static Value generalizeOffset(OpBuilder &builder, scf::ParallelOp loop,
                              Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || failed(type.getStridesAndOffset(strides, offset)) || offset == 0)
    return value;
  // The types of other views may say it again.
  auto isAnywhere = [&](Operation *user) {
    if (!loop->isProperAncestor(user) || isa<linalg::LinalgOp>(user))
      return true;
    auto part = dyn_cast<memref::SubViewOp>(user);
    return part &&
           ShapedType::isDynamic(part.getType().getStridesAndOffset().second);
  };
  if (!llvm::all_of(value.getUsers(), isAnywhere))
    return value;
  auto layout = StridedLayoutAttr::get(builder.getContext(),
                                       ShapedType::kDynamic, strides);
  return memref::CastOp::create(builder, value.getLoc(),
                                MemRefType::get(type.getShape(),
                                                type.getElementType(), layout,
                                                type.getMemorySpace()),
                                value);
}

static SmallVector<linalg::LinalgOp> getLinalgOps(scf::ParallelOp rows) {
  SmallVector<linalg::LinalgOp> ops;
  rows.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  return ops;
}

/// Replaces the operations in `rows`, which are in a kernel, by their loops.
static void convertRows(scf::ParallelOp rows) {
  SmallVector<linalg::LinalgOp> ops = getLinalgOps(rows);
  SmallVector<SmallVector<unsigned>> streamed(ops.size());
  SetVector<Value> buffers;
  for (auto [op, outputs] : llvm::zip_equal(ops, streamed)) {
    // Other iterations of a loop may read the result, or overwrite it.
    if (op->getParentOp() != rows)
      continue;
    OpBuilder builder(op);
    FailureOr<LoopNest> nest = buildLoopNest(builder, op);
    if (failed(nest))
      continue;
    outputs = findStreamed(*nest, planKernel(*nest), rows);
    for (unsigned access : outputs)
      buffers.insert(getWholeBuffer(nest->accesses[access].source));
  }
  if (!buffers.empty()) {
    OpBuilder builder(rows);
    Location loc = rows.getLoc();
    emitInBoth(
        builder, loc, emitBeginWithLines(builder, loc, buffers.getArrayRef()),
        [&](OpBuilder &b) {
          rows->moveBefore(b.getBlock(), b.getInsertionPoint());
        },
        [&](OpBuilder &b) {
          auto copy = cast<scf::ParallelOp>(b.clone(*rows));
          for (linalg::LinalgOp op : getLinalgOps(copy))
            convertInPlace(op, {});
        });
  }
  for (auto [op, outputs] : llvm::zip_equal(ops, streamed))
    convertInPlace(op, outputs);
}

/// A function that does what `loop` does.
static func::FuncOp createKernel(scf::ParallelOp loop, const Captures &captures,
                                 ValueRange arguments) {
  func::FuncOp kernel = declareKernel(loop.getLoc(), "kernel_rows", arguments);
  auto inside = OpBuilder::atBlockBegin(kernel.addEntryBlock());
  IRMapping map;
  map.map(captures.values.getArrayRef(), kernel.getArguments());
  for (Operation *constant : captures.constants)
    inside.clone(*constant, map);
  auto rows = cast<scf::ParallelOp>(inside.clone(*loop, map));
  func::ReturnOp::create(inside, loop.getLoc());
  convertRows(rows);
  return kernel;
}

static void convertToKernel(scf::ParallelOp loop, Kernels &kernels) {
  OpBuilder builder(loop);
  Captures captures = collectCaptures(loop->getRegions());
  // Bounds and steps are operands, and belong into the kernel as well.
  for (Value bound : loop->getOperands())
    captures.insert(bound);
  SmallVector<Value> arguments;
  for (Value value : captures.values)
    arguments.push_back(generalizeOffset(builder, loop, value));
  func::FuncOp kernel = kernels.getOrCreate(
      loop, [&] { return createKernel(loop, captures, arguments); });
  func::CallOp::create(builder, loop.getLoc(), kernel, arguments);
  loop->erase();
}

/// Transposes blocks by shuffles of whole vectors. The conversion to LLVM would
/// take them for moves of single elements.
static LogicalResult lowerTransposes(ModuleOp module) {
  SmallVector<Operation *> transposes;
  module.walk([&](vector::TransposeOp op) { transposes.push_back(op); });
  if (transposes.empty())
    return success();
  RewritePatternSet patterns(module.getContext());
  vector::populateVectorTransposeLoweringPatterns(
      patterns, vector::VectorTransposeLowering::Shuffle16x16);
  return applyOpPatternsGreedily(transposes, std::move(patterns),
                                 GreedyRewriteConfig().setStrictness(
                                     GreedyRewriteStrictness::ExistingOps));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertLinalgToKernels
    : remat::impl::ConvertLinalgToKernelsBase<ConvertLinalgToKernels> {
  void runOnOperation() override {
    convertCopiesToLinalg(getOperation());
    SmallVector<scf::ParallelOp> loops;
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto loop = dyn_cast<scf::ParallelOp>(op);
      if (loop && isOfKernels(loop)) {
        loops.push_back(loop);
        return WalkResult::skip();
      }
      if (auto linalg = dyn_cast<linalg::LinalgOp>(op);
          linalg && linalg.hasPureBufferSemantics())
        ops.push_back(linalg);
      return WalkResult::advance();
    });
    Kernels kernels(getOperation());
    for (scf::ParallelOp loop : loops)
      convertToKernel(loop, kernels);
    for (linalg::LinalgOp op : ops)
      convertToKernel(op, kernels);
    if (failed(lowerTransposes(getOperation())))
      signalPassFailure();
  }
};
} // namespace
