//===- LinalgToKernels.cpp - linalg on memrefs to kernel functions --------===//
//
// Without this pass every linalg op becomes scalar loops in place: no vectors,
// no threads, and a model of 48 equal layers compiles the same loops 48 times.
//
//===----------------------------------------------------------------------===//

#include "../KernelTable.h"
#include "KernelEmitter.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTLINALGTOKERNELS
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {

/// What a kernel takes from its call site, in the order of its arguments.
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
  OpFoldResult offset = affine::makeComposedFoldedAffineApply(
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
  return UnrealizedConversionCastOp::create(builder, loc, bytes, view)
      .getResult(0);
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

static func::FuncOp createKernel(const LoopNest &nest, const CallSite &site) {
  MLIRContext *context = nest.op.getContext();
  OpBuilder builder(context);
  Location loc = nest.op.getLoc();
  SmallVector<Value> arguments = site.arguments();
  auto type = builder.getFunctionType(ValueRange(arguments).getTypes(), {});
  std::string name = "kernel_" + nest.op->getName().stripDialect().str();
  auto kernel = func::FuncOp::create(builder, loc, name, type);
  kernel.setPrivate();
  // A kernel is compiled once: inlined it would be compiled at every call.
  kernel.setNoInline(true);
  auto widest = [&](StringRef key) {
    return builder.getStrArrayAttr({key, "512"});
  };
  kernel->setAttr("passthrough",
                  builder.getArrayAttr({widest("prefer-vector-width"),
                                        widest("min-legal-vector-width")}));

  Block *entry = kernel.addEntryBlock();
  builder.setInsertionPointToStart(entry);
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
  KernelBody body(nest, {plan.lanes, plan.vectorLoop}, views, map);
  emitKernelLoops(builder, nest, plan, body);
  func::ReturnOp::create(builder, loc);
  return kernel;
}

/// Replaces `op` by a call of its kernel. False if its maps are not linear.
static bool convertToKernel(linalg::LinalgOp op,
                            KernelTable<func::FuncOp> &table) {
  OpBuilder builder(op);
  FailureOr<LoopNest> nest = buildLoopNest(builder, op);
  if (failed(nest))
    return false;
  CallSite site = collectCallSite(builder, *nest);
  auto kernel = table.getOrInsert(createKernel(*nest, site));
  auto call =
      func::CallOp::create(builder, op.getLoc(), kernel, site.arguments());
  copyPhase(op, call);
  op->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertLinalgToKernels
    : remat::impl::ConvertLinalgToKernelsBase<ConvertLinalgToKernels> {
  void runOnOperation() override {
    convertCopiesToLinalg(getOperation());
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics())
        ops.push_back(op);
    });
    KernelTable<func::FuncOp> table(getOperation());
    for (linalg::LinalgOp op : ops)
      convertToKernel(op, table);
  }
};
} // namespace
