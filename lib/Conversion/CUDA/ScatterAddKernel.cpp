//===- ScatterAddKernel.cpp - A scatter-add as one kernel -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic additions would come in another order on every run, and sorting the
// positions takes memory and several kernels. Here every element of the table
// has an owner, a thread that makes all additions to it, in the order of the
// positions: the sums of the CPU's loop, whatever the block size and the grid.
//
// The table is rows (all computed dimensions, as one number) times columns
// (all dimensions that are added to as a whole). A block owns a tile of it. Its
// threads are columns times row slots: thread (c, s) owns column c of the rows
// r of the tile with r mod slots = s. The block takes the positions in chunks
// of as many as it has threads:
//   1. each thread computes the index of one position, and notes in workgroup
//      memory whether it is in the tile, and where its elements are;
//   2. all threads walk these notes in order, 16 at once where none is in the
//      tile, and the owners add.
//
// Cost, for P positions, U elements of updates and B blocks: P x B indices are
// computed, in loads that are coalesced and come from the cache for all blocks
// but the first; P x B / 16 steps by each thread over notes of others; U
// additions to memory. B is about kWantedBlocks, enough for the largest chips.
// A table of 50,257 x 768 with 16,384 positions takes 1,020 blocks, and so 16.7
// million indices for 12.6 million elements; no thread is without a column.
//===----------------------------------------------------------------------===//

#include "ScatterAddKernel.h"
#include "WarpShuffle.h"

#include "../ScatterRows.h"
#include "DevicePointers.h"
#include "IndexMath.h"
#include "KernelLaunch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::remat;

/// Blocks that a launch should have.
static constexpr int64_t kWantedBlocks = 1024;
/// Columns of a block where their number is not known.
static constexpr int64_t kDynamicColumns = 128;
/// Notes that are skipped at once: bytes of one load.
static constexpr int64_t kGroup = 16;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Threads along the columns, a power of two: as many as there are, unless more
/// than a quarter of all threads had no column then. A warp stays in one row.
static int64_t chooseColumns(std::optional<int64_t> count, int64_t blockSize) {
  if (!count)
    return std::min(kDynamicColumns, blockSize);
  int64_t columns = std::min<int64_t>(llvm::PowerOf2Ceil(*count), blockSize);
  auto countThreads = [&](int64_t width) -> int64_t {
    return llvm::divideCeil(*count, width) * width;
  };
  while (columns > kWarp && countThreads(columns) * 3 > *count * 4)
    columns /= 2;
  return columns;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {

/// How the table is divided. On the host and in the kernel alike: numbers that
/// are not known are computed in both.
struct Tiling {
  /// In the order of the columns, the fastest dimension last.
  SmallVector<Value> columnSizes, rowSizes, positionSizes;
  Value columns, rows, positions;
  Value columnTiles, rowsPerTile, rowTiles;
};

class ScatterEmitter {
public:
  ScatterEmitter(OpBuilder &host, ScatterAddOp op, int64_t blockSize)
      : host(host), op(op), loc(op.getLoc()), rows(findScatterRows(op)),
        updates(getStridedMetadata(host, loc, op.getUpdates())),
        table(getStridedMetadata(host, loc, op.getInit())),
        blockSize(blockSize), launch(host, op) {
    sortDims();
  }

  void run(KernelTable<gpu::GPUFuncOp> &kernels);

private:
  /// A note about a position: where its elements are, and whose they are.
  struct Note {
    Value isOwn, tableOffset, updateOffset, slot;
  };

  void sortDims();
  Tiling makeTiling(IndexMath math,
                    function_ref<Value(OpFoldResult)> getNumber);
  void emitCode(ValueRange workgroup);
  void emitNote(Value position, Value thread);
  Note computeNote(Value position);
  void emitWalk();
  void emitAddition(Value note);
  Value number(OpFoldResult value) { return launch.addNumber(value); }
  /// `base` plus the offset of `position` along `dims`, by `strides`.
  Value offsetAlong(Value base, ArrayRef<unsigned> dims, ValueRange position,
                    ArrayRef<OpFoldResult> strides);
  void emitIf(Value condition, function_ref<void()> emitThen);
  void emitFor(Value from, Value to, int64_t step,
               function_ref<void(Value)> emitBody);

  OpBuilder &host;
  ScatterAddOp op;
  Location loc;
  ScatterRows rows;
  StridedMetadata updates, table;
  int64_t blockSize;
  KernelLaunch launch;
  /// Dimensions of the table, and of the updates along the columns.
  SmallVector<unsigned> columnDims, rowDims, columnArguments;
  int64_t columnsPerBlock = 1, slots = 1;

  // In the kernel.
  OpBuilder &b = launch.device;
  IndexMath math{b, loc};
  Tiling tiling;
  Value tableMemory, updateMemory;
  /// One for each thread: whether its position is in the tile, where the row's
  /// elements are in both memories, whose the row is.
  Value flags, tableOffsets, updateOffsets, slotNumbers;
  Value slot, isColumn, firstRow, tableColumn, updateColumn;
};

} // namespace

/// Neighbouring threads are neighbours in the dimension of the least stride.
void ScatterEmitter::sortDims() {
  for (unsigned dim = 0; dim < rows.rowArgument.size(); ++dim)
    (rows.rowArgument[dim] ? columnDims : rowDims).push_back(dim);
  auto getStride = [&](unsigned dim) {
    return getConstantIntValue(table.strides[dim])
        .value_or(std::numeric_limits<int64_t>::max());
  };
  llvm::stable_sort(columnDims, [&](unsigned a, unsigned other) {
    return getStride(a) > getStride(other);
  });
  for (unsigned dim : columnDims)
    columnArguments.push_back(*rows.rowArgument[dim]);
  std::optional<int64_t> columns = 1;
  for (unsigned argument : columnArguments) {
    std::optional<int64_t> size = getConstantIntValue(updates.sizes[argument]);
    columns = columns && size ? std::optional(*columns * *size) : std::nullopt;
  }
  columnsPerBlock = chooseColumns(columns, blockSize);
  slots = blockSize / columnsPerBlock;
}

Tiling ScatterEmitter::makeTiling(IndexMath math,
                                  function_ref<Value(OpFoldResult)> getNumber) {
  Tiling tiling;
  for (unsigned argument : columnArguments)
    tiling.columnSizes.push_back(getNumber(updates.sizes[argument]));
  for (unsigned dim : rowDims)
    tiling.rowSizes.push_back(getNumber(table.sizes[dim]));
  for (unsigned argument : rows.outer)
    tiling.positionSizes.push_back(getNumber(updates.sizes[argument]));
  tiling.columns = math.product(tiling.columnSizes);
  tiling.rows = math.product(tiling.rowSizes);
  tiling.positions = math.product(tiling.positionSizes);
  tiling.columnTiles =
      math.ceilDiv(tiling.columns, math.index(columnsPerBlock));
  // Of no rows, or no columns, there is no tile.
  Value some =
      math.max(math.mul(tiling.rows, tiling.columnTiles), math.index(1));
  tiling.rowsPerTile = math.mul(
      math.ceilDiv(some, math.index(kWantedBlocks * slots)), math.index(slots));
  tiling.rowTiles = math.ceilDiv(tiling.rows, tiling.rowsPerTile);
  return tiling;
}

Value ScatterEmitter::offsetAlong(Value base, ArrayRef<unsigned> dims,
                                  ValueRange position,
                                  ArrayRef<OpFoldResult> strides) {
  for (auto [dim, at] : llvm::zip_equal(dims, position))
    base = math.add(base, math.mul(at, number(strides[dim])));
  return base;
}

void ScatterEmitter::emitIf(Value condition, function_ref<void()> emitThen) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitThen();
}

void ScatterEmitter::emitFor(Value from, Value to, int64_t step,
                             function_ref<void(Value)> emitBody) {
  auto loop = scf::ForOp::create(b, loc, from, to, math.index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emitBody(loop.getInductionVar());
}

/// Where the elements of `position` are, in a copy of the body.
ScatterEmitter::Note ScatterEmitter::computeNote(Value position) {
  SmallVector<Value> outer = math.delinearize(position, tiling.positionSizes);
  SmallVector<Value> arguments(updates.sizes.size(), math.index(0));
  for (auto [argument, at] : llvm::zip_equal(rows.outer, outer))
    arguments[argument] = at;
  SmallVector<Value> indices =
      computeScatterIndices(b, op, rows, arguments, launch.map);
  Value row = math.index(0);
  SmallVector<Value> at;
  for (auto [dim, size] : llvm::zip_equal(rowDims, tiling.rowSizes)) {
    row = math.add(math.mul(row, size), indices[dim]);
    at.push_back(indices[dim]);
  }
  // Rows before the tile are far beyond its end, as unsigned numbers.
  Value inTile = math.sub(row, firstRow);
  Value tileSize =
      math.min(tiling.rowsPerTile, math.sub(tiling.rows, firstRow));
  return {math.isBelow(inTile, tileSize),
          offsetAlong(math.index(0), rowDims, at, table.strides),
          offsetAlong(math.index(0), rows.outer, outer, updates.strides),
          math.rem(inTile, math.index(slots))};
}

/// Makes `thread`'s note about `position`, if there is one.
void ScatterEmitter::emitNote(Value position, Value thread) {
  Type flag = b.getI8Type();
  auto exists = scf::IfOp::create(b, loc, TypeRange{flag},
                                  math.isBelow(position, tiling.positions),
                                  /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(exists.thenBlock());
    Note note = computeNote(position);
    emitIf(note.isOwn, [&] {
      memref::StoreOp::create(b, loc, note.tableOffset, tableOffsets, thread);
      memref::StoreOp::create(b, loc, note.updateOffset, updateOffsets, thread);
      if (slotNumbers)
        memref::StoreOp::create(b, loc, note.slot, slotNumbers, thread);
    });
    Value isOwn = arith::ExtUIOp::create(b, loc, flag, note.isOwn);
    scf::YieldOp::create(b, loc, isOwn);
    b.setInsertionPointToStart(exists.elseBlock());
    Value none = arith::ConstantIntOp::create(b, loc, flag, 0);
    scf::YieldOp::create(b, loc, none);
  }
  memref::StoreOp::create(b, loc, exists.getResult(0), flags, thread);
}

/// Adds the elements of the position that note `note` is about, if they are
/// this thread's.
void ScatterEmitter::emitAddition(Value note) {
  Value isMine = isColumn;
  if (slotNumbers) {
    Value owner = memref::LoadOp::create(b, loc, slotNumbers, note);
    Value isSlot =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, owner, slot);
    isMine = b.createOrFold<arith::AndIOp>(loc, isColumn, isSlot);
  }
  emitIf(isMine, [&] {
    Value at = math.add(memref::LoadOp::create(b, loc, tableOffsets, note),
                        tableColumn);
    Value from = math.add(memref::LoadOp::create(b, loc, updateOffsets, note),
                          updateColumn);
    Value old = memref::LoadOp::create(b, loc, tableMemory, at);
    Value element = memref::LoadOp::create(b, loc, updateMemory, from);
    Value sum = arith::AddFOp::create(b, loc, old, widenUpdate(b, op, element));
    memref::StoreOp::create(b, loc, sum, tableMemory, at);
  });
}

void ScatterEmitter::emitWalk() {
  Value zero = math.index(0);
  auto bytes = VectorType::get({kGroup}, b.getI8Type());
  auto words = VectorType::get({kGroup / 8}, b.getI64Type());
  emitFor(zero, math.index(blockSize), kGroup, [&](Value first) {
    Value group =
        vector::LoadOp::create(b, loc, bytes, flags, first,
                               /*nontemporal=*/false, llvm::Align(kGroup));
    Value halves = vector::BitCastOp::create(b, loc, words, group);
    Value any = arith::OrIOp::create(
        b, loc, vector::ExtractOp::create(b, loc, halves, int64_t(0)),
        vector::ExtractOp::create(b, loc, halves, int64_t(1)));
    Value none = arith::ConstantIntOp::create(b, loc, b.getI64Type(), 0);
    Value isAny =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, any, none);
    emitIf(isAny, [&] {
      emitFor(zero, math.index(kGroup), 1, [&](Value i) {
        Value note = math.add(first, i);
        Value flag = memref::LoadOp::create(b, loc, flags, note);
        Value isOwn = arith::TruncIOp::create(b, loc, b.getI1Type(), flag);
        emitIf(isOwn, [&] { emitAddition(note); });
      });
    });
  });
}

void ScatterEmitter::emitCode(ValueRange workgroup) {
  flags = workgroup[0];
  tableOffsets = workgroup[1];
  updateOffsets = workgroup[2];
  if (slots > 1)
    slotNumbers = workgroup[3];
  Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  Value width = math.index(columnsPerBlock);
  slot = math.div(thread, width);
  Value column = math.add(math.mul(math.rem(block, tiling.columnTiles), width),
                          math.rem(thread, width));
  isColumn = math.isBelow(column, tiling.columns);
  firstRow = math.mul(math.div(block, tiling.columnTiles), tiling.rowsPerTile);
  SmallVector<Value> at = math.delinearize(column, tiling.columnSizes);
  tableColumn = offsetAlong(math.index(0), columnDims, at, table.strides);
  updateColumn =
      offsetAlong(math.index(0), columnArguments, at, updates.strides);
  std::optional<int64_t> count = getConstantIntValue(tiling.positions);
  bool isOneChunk = count && *count <= blockSize;
  emitFor(math.index(0), tiling.positions, blockSize, [&](Value chunk) {
    emitNote(math.add(chunk, thread), thread);
    gpu::BarrierOp::create(b, loc);
    emitWalk();
    // The next chunk's notes take the place of these.
    if (!isOneChunk)
      gpu::BarrierOp::create(b, loc);
  });
}

void ScatterEmitter::run(KernelTable<gpu::GPUFuncOp> &kernels) {
  auto space = gpu::AddressSpaceAttr::get(host.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto getMemory = [&](Type element) -> Type {
    return MemRefType::get({blockSize}, element, MemRefLayoutAttrInterface(),
                           space);
  };
  Type index = host.getIndexType();
  SmallVector<Type> workgroup{getMemory(host.getI8Type()), getMemory(index),
                              getMemory(index)};
  if (slots > 1)
    workgroup.push_back(getMemory(index));
  launch.begin(blockSize, workgroup);
  auto addMemory = [&](Value memref, const StridedMetadata &metadata,
                       KernelLaunch::Access access) {
    return launch.addMemory(
        createDevicePointer(host, loc, memref, metadata.offset),
        cast<MemRefType>(memref.getType()).getElementType(), access,
        getSpannedBytes(memref));
  };
  updateMemory =
      addMemory(op.getUpdates(), updates, KernelLaunch::Access::Read);
  tableMemory = addMemory(op.getInit(), table, KernelLaunch::Access::ReadWrite);
  launch.addCaptures(collectCaptures(op->getRegions()));
  // All arguments, before there is code.
  for (const StridedMetadata *metadata : {&updates, &table})
    for (OpFoldResult value :
         llvm::concat<const OpFoldResult>(metadata->sizes, metadata->strides))
      launch.addNumber(value);
  tiling = makeTiling(math, [&](OpFoldResult value) { return number(value); });
  emitCode(launch.beginCode());
  gpu::GPUFuncOp kernel = launch.finish();
  // Its groups of flags are loaded as vectors.
  kernel.setWorkgroupAttributionAttr(0, "llvm.align",
                                     b.getI64IntegerAttr(kGroup));

  Tiling onHost = makeTiling({host, loc}, [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(host, loc, value);
  });
  Value blocks = IndexMath{host, loc}.mul(onHost.columnTiles, onHost.rowTiles);
  launch.createLaunch(kernels.getOrInsert(kernel), blocks);
}

void mlir::remat::launchScatterAdd(OpBuilder &builder,
                                   KernelTable<gpu::GPUFuncOp> &table,
                                   ScatterAddOp op, int64_t blockSize) {
  if (!isEmptyScatter(op))
    ScatterEmitter(builder, op, blockSize).run(table);
}
