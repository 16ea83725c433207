//===- TileEmitter.cpp - Transposes through workgroup memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that are neighbours in the output read elements of a transposed input
// that are a row apart, of 32 bytes of memory 4. A block reads a square of it
// along the input's rows instead, into workgroup memory, from which the body
// then reads columns. What an element is computed from stays the same, and with
// it every bit.
//===----------------------------------------------------------------------===//

#include "GridEmitter.h"
#include "IndexMath.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

namespace {

class TileEmitter : LoopEmitter {
public:
  TileEmitter(OpBuilder &builder, const KernelPart &part, KernelBody &body)
      : LoopEmitter(builder, part.nest, body), plan(part.plan),
        tile(*plan.tile), views(part.views), workgroup(part.workgroup) {}

  void emit();

private:
  static constexpr int64_t kSize = TransposeTile::kSize;

  /// The first point of this block's square.
  Point findSquare(Value block);
  /// Emits the body at each point of the square that this thread takes, the
  /// threads of a warp being neighbours along `loop`: `along` and `across` are
  /// the numbers from the square's first iteration.
  void emitSquare(
      const Point &square, unsigned loop, unsigned other,
      function_ref<void(Point point, Value along, Value across)> emitBody);
  /// Where workgroup memory has the element.
  Value findInSquare(Value out, Value in) {
    return math.add(math.mul(out, index(kSize + 1)), in);
  }

  const GridPlan &plan;
  const TransposeTile &tile;
  ArrayRef<Value> views;
  ValueRange workgroup;
  IndexMath math{b, loc};
  Value thread;
};

} // namespace

Point TileEmitter::findSquare(Value block) {
  auto isTiled = [&](unsigned loop) {
    return loop == tile.inLoop || loop == tile.outLoop;
  };
  SmallVector<Value> sizes =
      llvm::map_to_vector(plan.gridLoops, [&](unsigned loop) {
        Value size = sizeOf(loop);
        return isTiled(loop) ? math.ceilDiv(size, index(kSize)) : size;
      });
  Point point = getStart();
  for (auto [loop, at] :
       llvm::zip_equal(plan.gridLoops, math.delinearize(block, sizes))) {
    // The iterations in the square are added later, to both.
    if (isTiled(loop))
      point.iterations[loop] = math.mul(at, index(kSize));
    else
      point = advance(point, loop, at);
  }
  return point;
}

void TileEmitter::emitSquare(
    const Point &square, unsigned loop, unsigned other,
    function_ref<void(Point point, Value along, Value across)> emitBody) {
  Value along = math.rem(thread, index(kSize));
  Value at = math.add(square.iterations[loop], along);
  Value isInside = math.isBelow(at, sizeOf(loop));
  emitFor(math.div(thread, index(kSize)), index(kSize), plan.blockSize / kSize,
          {}, [&](Value across, ValueRange) {
            Value otherAt = math.add(square.iterations[other], across);
            Value exists = arith::AndIOp::create(
                b, loc, isInside, math.isBelow(otherAt, sizeOf(other)));
            auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(branch.thenBlock());
            emitBody(advance(advance(square, loop, at), other, otherAt), along,
                     across);
            return Values();
          });
}

void TileEmitter::emit() {
  thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Point square = findSquare(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  emitSquare(
      square, tile.inLoop, tile.outLoop, [&](Point point, Value in, Value out) {
        for (auto [input, memory] : llvm::zip_equal(tile.inputs, workgroup)) {
          Value element = memref::LoadOp::create(b, loc, views[input],
                                                 point.offsets[input]);
          memref::StoreOp::create(b, loc, element, memory,
                                  findInSquare(out, in));
        }
      });
  gpu::BarrierOp::create(b, loc);
  emitSquare(square, tile.outLoop, tile.inLoop,
             [&](Point point, Value out, Value in) {
               for (unsigned input : tile.inputs)
                 point.offsets[input] = findInSquare(out, in);
               emitPoint(point);
             });
}

void mlir::remat::emitTile(OpBuilder &builder, const KernelPart &part,
                           IRMapping &map) {
  SmallVector<Value> views(part.views);
  for (auto [input, memory] :
       llvm::zip_equal(part.plan.tile->inputs, part.workgroup))
    views[input] = memory;
  KernelBody body(part.nest, Lanes(), views, map);
  TileEmitter(builder, part, body).emit();
}
