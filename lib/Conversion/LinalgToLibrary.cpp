//===- LinalgToLibrary.cpp - Products to calls of the runtime -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product as loops reaches a few percent of what the processor can do.
// Operands are passed as they lie in memory: transposes, slices and heads cost
// no copy.
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "Products.h"
#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/RoundedProduct.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTLINALGTOLIBRARY
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {

/// The roles of a loop in c[b, m, n] += a[b, m, k] * b[b, k, n].
enum Role : unsigned { Batch, M, N, K, NumRoles };

/// The loops of a product by role, outermost first.
struct Product {
  LoopNest nest;
  SmallVector<unsigned> loops[NumRoles];

  const Access &a() const { return nest.accesses[0]; }
  const Access &b() const { return nest.accesses[1]; }
  const Access &c() const { return nest.accesses[2]; }
};

} // namespace

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static FailureOr<Role> findRole(const LoopNest &nest, unsigned loop) {
  bool inA = !nest.accesses[0].isInvariantIn(loop),
       inB = !nest.accesses[1].isInvariantIn(loop),
       inC = !nest.accesses[2].isInvariantIn(loop);
  if (inA && inB)
    return inC ? Batch : K;
  if (inC && (inA || inB))
    return inA ? M : N;
  return failure();
}

/// Returns true if BLAS takes the matrix of `row` and `column` loops: one of
/// the strides is 1.
static bool isBlasMatrix(const Access &access, ArrayRef<unsigned> row,
                         ArrayRef<unsigned> column) {
  if (row.empty() || column.empty())
    return true;
  return access.isContiguousIn(row.back()) ||
         access.isContiguousIn(column.back());
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Merges two of `loops`, if there are two that are as good as one.
static bool mergeTwo(OpBuilder &builder, Location loc, LoopNest &nest,
                     SmallVectorImpl<unsigned> &loops) {
  for (unsigned outer : loops)
    for (unsigned inner : loops) {
      if (outer == inner || !nest.stepsAlike(outer, inner))
        continue;
      AffineExpr product =
          builder.getAffineSymbolExpr(0) * builder.getAffineSymbolExpr(1);
      nest.loops[inner].size = affine::makeComposedFoldedAffineApply(
          builder, loc, AffineMap::get(0, 2, product),
          {nest.loops[outer].size, nest.loops[inner].size});
      llvm::erase(loops, outer);
      return true;
    }
  return false;
}

/// The innermost loop of a matrix dimension is the one that BLAS runs over; put
/// the loop with stride 1 there.
static void putContiguousLast(const LoopNest &nest,
                              SmallVectorImpl<unsigned> &loops) {
  for (unsigned i = 0; i + 1 < loops.size(); ++i)
    if (llvm::any_of(nest.accesses, [&](const Access &access) {
          return access.isContiguousIn(loops[i]);
        }))
      std::swap(loops[i], loops.back());
}

static FailureOr<Product> matchProduct(OpBuilder &builder, linalg::LinalgOp op,
                                       bool alike) {
  if (!isLibraryProduct(op, alike))
    return failure();
  Product product;
  FailureOr<LoopNest> nest = buildLoopNest(builder, op);
  if (failed(nest))
    return failure();
  product.nest = *nest;
  for (unsigned loop = 0; loop < nest->loops.size(); ++loop) {
    FailureOr<Role> role = findRole(*nest, loop);
    if (failed(role))
      return failure();
    product.loops[*role].push_back(loop);
  }
  for (SmallVector<unsigned> &loops : product.loops) {
    // Three dimensions of a tensor that are all rows of the matrix are its
    // rows.
    while (mergeTwo(builder, op.getLoc(), product.nest, loops))
      ;
    putContiguousLast(product.nest, loops);
  }
  if (isRoundedProduct(op) && product.loops[K].size() > 1)
    return failure();
  if (!isBlasMatrix(product.a(), product.loops[M], product.loops[K]) ||
      !isBlasMatrix(product.b(), product.loops[K], product.loops[N]) ||
      !isBlasMatrix(product.c(), product.loops[M], product.loops[N]))
    return failure();
  return product;
}

namespace {

/// Emits the call, and loops around it for dimensions beyond two batch
/// dimensions and one of each other kind.
class CallEmitter {
public:
  CallEmitter(OpBuilder &builder, SymbolTable &symbols, Product &product,
              bool tf32)
      : b(builder), symbols(symbols), loc(product.nest.op.getLoc()),
        product(product), nest(product.nest), tf32(tf32) {}

  void emit(bool accumulate) {
    SmallVector<unsigned> batch = product.loops[Batch], outer;
    for (Role role : {M, N}) {
      SmallVector<unsigned> &loops = product.loops[role];
      while (loops.size() > 1) {
        batch.push_back(loops.front());
        loops.erase(loops.begin());
      }
    }
    while (batch.size() > 2) {
      outer.push_back(batch.front());
      batch.erase(batch.begin());
    }
    bool addsUp = product.loops[K].size() > 1;
    while (product.loops[K].size() > 1) {
      outer.push_back(product.loops[K].front());
      product.loops[K].erase(product.loops[K].begin());
    }
    assert((accumulate || !addsUp) &&
           "a sum of products starts from what is there");
    SmallVector<OpFoldResult> offsets;
    for (const Access &access : nest.accesses)
      offsets.push_back(access.offset);
    emitLoops(outer, batch, offsets, accumulate);
  }

private:
  void emitLoops(ArrayRef<unsigned> outer, ArrayRef<unsigned> batch,
                 ArrayRef<OpFoldResult> offsets, bool accumulate) {
    if (outer.empty())
      return emitCall(batch, offsets, accumulate);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    Value size =
        getValueOrCreateConstantIndexOp(b, loc, nest.loops[outer[0]].size);
    auto loop = scf::ForOp::create(b, loc, constant(0), size, constant(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    AffineExpr next = b.getAffineSymbolExpr(0) +
                      b.getAffineSymbolExpr(1) * b.getAffineSymbolExpr(2);
    SmallVector<OpFoldResult> inner;
    for (auto [offset, access] : llvm::zip_equal(offsets, nest.accesses))
      inner.push_back(affine::makeComposedFoldedAffineApply(
          b, loc, AffineMap::get(0, 3, next),
          {offset, loop.getInductionVar(), access.strides[outer[0]]}));
    emitLoops(outer.drop_front(), batch, inner, accumulate);
  }

  void emitCall(ArrayRef<unsigned> batch, ArrayRef<OpFoldResult> offsets,
                bool accumulate) {
    std::string name = getFunction();
    int64_t dynamic = ShapedType::kDynamic;
    auto layout = StridedLayoutAttr::get(b.getContext(), dynamic,
                                         SmallVector<int64_t>(4, dynamic));
    const Role rows[] = {M, K, M}, columns[] = {K, N, N};
    SmallVector<Value> arguments;
    for (unsigned i = 0; i < 3; ++i) {
      auto type = MemRefType::get(SmallVector<int64_t>(4, dynamic),
                                  nest.accesses[i].elementType, layout);
      arguments.push_back(createMatrices(type, i, offsets[i], batch,
                                         product.loops[rows[i]],
                                         product.loops[columns[i]]));
    }
    arguments.push_back(
        arith::ConstantIntOp::create(b, loc, b.getI64Type(), accumulate));
    func::CallOp call = createRuntimeCall(b, loc, symbols, name, arguments);
    copyPhase(nest.op, call);
  }

  /// By the factors' types, and the result's where it is another.
  std::string getFunction() const {
    Type a = product.a().elementType, b = product.b().elementType,
         c = product.c().elementType;
    std::string name;
    llvm::raw_string_ostream os(name);
    os << "remat_gemm_";
    if (tf32 && a.isF32() && b.isF32())
      os << "tf32";
    else
      os << a;
    if (a != b)
      os << 'x' << b;
    if (a != b || b != c)
      os << '_' << c;
    return name;
  }

  /// The operand as batch x batch x rows x columns.
  Value createMatrices(MemRefType type, unsigned operand, OpFoldResult offset,
                       ArrayRef<unsigned> batch, ArrayRef<unsigned> row,
                       ArrayRef<unsigned> column) {
    const Access &access = nest.accesses[operand];
    SmallVector<OpFoldResult> sizes(4, b.getIndexAttr(1)),
        strides(4, b.getIndexAttr(1));
    auto set = [&](unsigned position, unsigned loop) {
      sizes[position] = nest.loops[loop].size;
      strides[position] = access.strides[loop];
    };
    for (auto [i, loop] : llvm::enumerate(batch))
      set(2 - batch.size() + i, loop);
    if (!row.empty())
      set(2, row.back());
    if (!column.empty())
      set(3, column.back());
    return memref::ReinterpretCastOp::create(b, loc, type, access.source,
                                             offset, sizes, strides);
  }

  OpBuilder &b;
  SymbolTable &symbols;
  Location loc;
  Product &product;
  LoopNest &nest;
  /// True if factors of f32 may be rounded.
  bool tf32;
};

struct ConvertLinalgToLibrary
    : remat::impl::ConvertLinalgToLibraryBase<ConvertLinalgToLibrary> {
  using ConvertLinalgToLibraryBase::ConvertLinalgToLibraryBase;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics())
        ops.push_back(op);
    });
    SymbolTable symbols(getOperation());
    for (linalg::LinalgOp op : ops)
      if (!convertProduct(symbols, op) && isRoundedProduct(op)) {
        op->emitOpError("is rounded after each term, for it is no product of "
                        "the library; run remat-split-rounded-products before "
                        "bufferization");
        return signalPassFailure();
      }
  }

  bool convertProduct(SymbolTable &symbols, linalg::LinalgOp op) {
    OpBuilder builder(op);
    FailureOr<Product> product = matchProduct(builder, op, alike);
    if (failed(product))
      return false;
    // BLAS writes zeros itself, unless the product is a sum of several calls.
    linalg::FillOp fill =
        product->loops[K].size() > 1 ? linalg::FillOp() : findZeroFill(op);
    CallEmitter(builder, symbols, *product, tf32).emit(/*accumulate=*/!fill);
    op.erase();
    if (fill)
      fill.erase();
    return true;
  }
};
} // namespace
