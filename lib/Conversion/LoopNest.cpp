//===- LoopNest.cpp - A linalg op as loops over strided memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index maps and memref layouts are both linear: their product is one stride
// for each loop and operand, which is all that code generation has to know.
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"
#include <cstdlib>

using namespace mlir;
using namespace mlir::remat;

namespace {

/// a + b and a * b on static or dynamic numbers.
struct Arithmetic {
  OpBuilder &builder;
  Location loc;

  OpFoldResult constant(int64_t value) { return builder.getIndexAttr(value); }
  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> symbols) {
    return affine::makeComposedFoldedAffineApply(
        builder, loc, AffineMap::get(0, symbols.size(), expr), symbols);
  }
  // Most numbers are constants, which need no maps.
  OpFoldResult add(OpFoldResult a, OpFoldResult b) {
    int64_t sum;
    if (auto numbers = getConstants(a, b);
        numbers && !llvm::AddOverflow(numbers->first, numbers->second, sum))
      return constant(sum);
    return apply(builder.getAffineSymbolExpr(0) +
                     builder.getAffineSymbolExpr(1),
                 {a, b});
  }
  OpFoldResult mul(OpFoldResult a, OpFoldResult b) {
    if (isConstantIntValue(a, 0) || isConstantIntValue(b, 0))
      return constant(0);
    int64_t product;
    if (auto numbers = getConstants(a, b);
        numbers && !llvm::MulOverflow(numbers->first, numbers->second, product))
      return constant(product);
    return apply(builder.getAffineSymbolExpr(0) *
                     builder.getAffineSymbolExpr(1),
                 {a, b});
  }

private:
  static std::optional<std::pair<int64_t, int64_t>>
  getConstants(OpFoldResult a, OpFoldResult b) {
    std::optional<int64_t> first = getConstantIntValue(a),
                           second = getConstantIntValue(b);
    if (!first || !second)
      return std::nullopt;
    return std::make_pair(*first, *second);
  }
};

} // namespace

/// Adds `factor` times the coefficients of `expr` to `coefficients`, of which
/// the last one is the constant term. False if `expr` is not linear.
static bool addLinear(AffineExpr expr, int64_t factor,
                      MutableArrayRef<int64_t> coefficients) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    coefficients.back() += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    coefficients[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, coefficients) &&
           addLinear(binary.getRHS(), factor, coefficients);
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() != AffineExprKind::Mul || !scale)
    return false;
  return addLinear(binary.getLHS(), factor * scale.getValue(), coefficients);
}

static FailureOr<Access> buildAccess(Arithmetic &arith, Value source,
                                     AffineMap map, ArrayRef<Range> ranges) {
  Access access;
  access.source = source;
  access.offset = access.span = access.start = arith.constant(0);
  access.strides.assign(ranges.size(), arith.constant(0));
  auto type = dyn_cast<MemRefType>(source.getType());
  if (!type) {
    access.elementType = source.getType();
    return access;
  }
  access.elementType = type.getElementType();

  SmallVector<int64_t> staticStrides;
  int64_t staticOffset;
  if (failed(type.getStridesAndOffset(staticStrides, staticOffset)))
    return failure();
  memref::ExtractStridedMetadataOp metadata;
  auto dynamic = [&](int64_t value, function_ref<Value()> get) -> OpFoldResult {
    if (!ShapedType::isDynamic(value))
      return arith.constant(value);
    if (!metadata)
      metadata = memref::ExtractStridedMetadataOp::create(arith.builder,
                                                          arith.loc, source);
    return get();
  };
  access.span = arith.constant(1);
  access.offset = dynamic(staticOffset, [&] { return metadata.getOffset(); });
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    SmallVector<int64_t> coefficients(ranges.size() + 1, 0);
    if (!addLinear(expr, 1, coefficients))
      return failure();
    OpFoldResult stride = dynamic(staticStrides[dim], [&, dim = dim] {
      return metadata.getStrides()[dim];
    });
    for (auto [loop, coefficient] :
         llvm::enumerate(ArrayRef(coefficients).drop_back())) {
      if (coefficient == 0)
        continue;
      access.strides[loop] = arith.add(
          access.strides[loop], arith.mul(stride, arith.constant(coefficient)));
      OpFoldResult last = arith.add(ranges[loop].size, arith.constant(-1));
      OpFoldResult reach = arith.mul(
          last, arith.mul(stride, arith.constant(std::abs(coefficient))));
      access.span = arith.add(access.span, reach);
      if (coefficient < 0)
        access.start = arith.add(access.start, reach);
    }
    access.offset = arith.add(
        access.offset, arith.mul(stride, arith.constant(coefficients.back())));
  }
  return access;
}

/// Dimensions that the body asks for with linalg.index.
static SmallVector<bool> findIndexedDims(linalg::LinalgOp op) {
  SmallVector<bool> indexed(op.getNumLoops(), false);
  op.getBlock()->walk(
      [&](linalg::IndexOp index) { indexed[index.getDim()] = true; });
  return indexed;
}

static void eraseLoop(LoopNest &nest, unsigned loop) {
  nest.loops.erase(nest.loops.begin() + loop);
  for (Access &access : nest.accesses)
    access.strides.erase(access.strides.begin() + loop);
  for (std::optional<unsigned> &mapped : nest.loopOfDim)
    if (mapped && *mapped > loop)
      --*mapped;
}

static void dropUnitLoops(LoopNest &nest) {
  for (unsigned loop = nest.loops.size(); loop-- > 0;) {
    if (!isConstantIntValue(nest.loops[loop].size, 1))
      continue;
    llvm::replace(nest.loopOfDim, std::optional<unsigned>(loop),
                  std::optional<unsigned>());
    eraseLoop(nest, loop);
  }
}

/// Merges adjacent loops. Which parallel loops are one has no effect on bits;
/// reductions stay as they are, since where a lane starts would depend on it.
static void mergeLoops(LoopNest &nest, Arithmetic &arith,
                       ArrayRef<bool> indexedDims, unsigned rowDims) {
  unsigned rowLoops = llvm::count_if(
      ArrayRef(nest.loopOfDim).take_front(rowDims),
      [](std::optional<unsigned> loop) { return loop.has_value(); });
  auto isIndexed = [&](unsigned loop) {
    for (auto [dim, mapped] : llvm::enumerate(nest.loopOfDim))
      if (indexedDims[dim] && mapped == loop)
        return true;
    return false;
  };
  for (unsigned inner = nest.loops.size(); inner-- > 1;) {
    unsigned outer = inner - 1;
    if (inner == rowLoops || isIndexed(inner) || isIndexed(outer) ||
        !nest.loops[outer].isParallel() || !nest.loops[inner].isParallel() ||
        !nest.stepsAlike(outer, inner))
      continue;
    nest.loops[inner].size =
        arith.mul(nest.loops[outer].size, nest.loops[inner].size);
    eraseLoop(nest, outer);
  }
}

bool LoopNest::stepsAlike(unsigned outer, unsigned inner) const {
  std::optional<int64_t> size = getConstantIntValue(loops[inner].size);
  return size && llvm::all_of(accesses, [&](const Access &access) {
           std::optional<int64_t> outerStride =
               getConstantIntValue(access.strides[outer]);
           std::optional<int64_t> innerStride =
               getConstantIntValue(access.strides[inner]);
           int64_t end;
           return outerStride && innerStride &&
                  !llvm::MulOverflow(*innerStride, *size, end) &&
                  *outerStride == end;
         });
}

FailureOr<LoopNest> mlir::remat::buildLoopNest(OpBuilder &builder,
                                               linalg::LinalgOp op,
                                               unsigned rowDims) {
  Arithmetic arith{builder, op.getLoc()};
  LoopNest nest;
  nest.op = op;
  nest.numInputs = op.getNumDpsInputs();
  SmallVector<Range, 4> ranges = op.createLoopRanges(builder, op.getLoc());
  for (auto [range, kind] :
       llvm::zip_equal(ranges, op.getIteratorTypesArray())) {
    nest.loopOfDim.push_back(nest.loops.size());
    nest.loops.push_back({range.size, kind});
  }
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<Access> access = buildAccess(
        arith, operand.get(), op.getMatchingIndexingMap(&operand), ranges);
    if (failed(access))
      return failure();
    nest.accesses.push_back(*access);
  }
  dropUnitLoops(nest);
  mergeLoops(nest, arith, findIndexedDims(op), rowDims);
  return nest;
}

bool mlir::remat::keepsOrder(AffineMap map) {
  if (!map.isProjectedPermutation())
    return false;
  auto isAfter = [&](AffineExpr a, AffineExpr b) {
    return cast<AffineDimExpr>(a).getPosition() <
           cast<AffineDimExpr>(b).getPosition();
  };
  return llvm::is_sorted(map.getResults(), isAfter);
}

bool mlir::remat::isStrided(Value operand) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  return !type || type.getLayout().isIdentity() || type.isStrided();
}

void mlir::remat::convertCopiesToLinalg(Operation *root) {
  SmallVector<memref::CopyOp> copies;
  root->walk([&](memref::CopyOp copy) {
    if (isa<MemRefType>(copy.getSource().getType()) &&
        isa<MemRefType>(copy.getTarget().getType()))
      copies.push_back(copy);
  });
  for (memref::CopyOp copy : copies) {
    OpBuilder builder(copy);
    auto replacement = linalg::CopyOp::create(
        builder, copy.getLoc(), copy.getSource(), copy.getTarget());
    replacement->setDiscardableAttrs(copy->getDiscardableAttrDictionary());
    copy.erase();
  }
}
