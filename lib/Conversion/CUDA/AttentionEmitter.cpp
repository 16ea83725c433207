//===- AttentionEmitter.cpp - Steps of attention's kernels ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How operands come to a block and results leave it: tiles of any size, of
// memory with any strides, by vectors where all of them are aligned.
//===----------------------------------------------------------------------===//

#include "AttentionEmitter.h"

#include "DevicePointers.h"
#include "WarpShuffle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::remat;

AttentionEmitter::AttentionEmitter(OpBuilder &host, Operation *op,
                                   const AttentionPlan &plan, ScoreTile tile,
                                   ArrayRef<Indexed> operands, Block &body,
                                   bool countsTraffic)
    : host(host), op(op), loc(op->getLoc()), plan(plan), tile(tile),
      layout(plan.getLayout(tile)), depth(plan.getWidth(tile, plan.depth)),
      columns(plan.getWidth(tile, plan.columns)),
      perVector(plan.getPerVector(tile)),
      indexed(operands.begin(), operands.end()), body(body), type(plan.sumType),
      storedType(plan.getStoredType(tile)), countsTraffic(countsTraffic),
      launch(host, op) {
  unsigned loops = operands.front().map.getNumDims();
  for (unsigned loop : llvm::seq(loops)) {
    auto found = findLoop(operands, loop);
    sizes.push_back(
        found ? memref::getMixedSize(host, loc, found->first, found->second)
              : OpFoldResult(host.getIndexAttr(1)));
  }
  // The loop of queries, where all rows have keys of their own.
  sizes.push_back(host.getIndexAttr(1));
  position.resize(sizes.size());
}

//===----------------------------------------------------------------------===//
// Arguments and the grid
//===----------------------------------------------------------------------===//

void AttentionEmitter::begin(ArrayRef<unsigned> loops, ArrayRef<Part> owned,
                             ArrayRef<MemRefType> buffers) {
  gridLoops.assign(loops.begin(), loops.end());
  parts.assign(owned.begin(), owned.end());
  workgroupTypes.assign(buffers.begin(), buffers.end());
  launch.begin(kAttentionThreads, {});
}

MemRefType AttentionEmitter::getMemory(int64_t elements,
                                       Type elementType) const {
  return MemRefType::get({elements},
                         elementType ? elementType : Type(storedType),
                         MemRefLayoutAttrInterface(),
                         gpu::AddressSpaceAttr::get(
                             host.getContext(), gpu::AddressSpace::Workgroup));
}

/// Blocks that share a slice of an operand are neighbours: it is read once if
/// the cache holds it, else by each of them.
std::optional<Traffic>
AttentionEmitter::countTraffic(const Operand &operand,
                               std::optional<int64_t> accessed) const {
  SmallVector<int64_t> all, strides;
  int64_t slice = getBytesInMemory(operand.elementType);
  for (auto [loop, stride] : llvm::enumerate(operand.knownStrides)) {
    std::optional<int64_t> size = knownSize(loop);
    if (!stride || !size || *size == 0)
      return std::nullopt;
    all.push_back(*size);
    strides.push_back(*stride);
    if (*stride != 0 && !llvm::is_contained(gridLoops, loop))
      slice *= *size;
  }
  auto [elements, sectors] =
      measureMemory(all, strides, getBytesInMemory(operand.elementType));
  int64_t times = 1;
  for (Part part : parts)
    if (operand.knownStrides[part.loop] == 0 && slice > Traffic::kCached)
      times *= llvm::divideCeil(*knownSize(part.loop), part.size);
  if (accessed)
    *accessed *= getBytesInMemory(operand.elementType);
  return Traffic{elements, accessed, sectors * times};
}

bool AttentionEmitter::readsMemoryInScores() {
  unsigned first = plan.dims.rows.size() + 2, count = indexed.size() - 5;
  return llvm::any_of(
             body.getArguments().slice(first, count),
             [](BlockArgument element) { return !element.use_empty(); }) ||
         llvm::any_of(body.without_terminator(), [](Operation &inner) {
           return !isMemoryEffectFree(&inner);
         });
}

std::optional<AttentionEmitter::Visits> AttentionEmitter::countVisits() {
  std::optional<int64_t> queries = knownSize(plan.queryLoop),
                         keys = knownSize(plan.dims.key);
  if (!countsTraffic || !queries || !keys || readsMemoryInScores())
    return std::nullopt;
  int64_t blocks = 1;
  for (unsigned loop : gridLoops) {
    std::optional<int64_t> size = knownSize(loop);
    if (!size)
      return std::nullopt;
    blocks *= *size;
  }
  int64_t own = ownsQueries() ? *queries : *keys,
          others = ownsQueries() ? *keys : *queries,
          step = ownsQueries() ? tile.queries : tile.keys,
          otherStep = ownsQueries() ? tile.keys : tile.queries;
  Visits visits;
  for (int64_t start = 0; start < own; start += step) {
    auto find = ownsQueries() ? findKeyRange : findRowRange;
    auto [from, length] =
        find(host, loc, plan.visible, host.getIndexAttr(start),
             host.getIndexAttr(std::min(step, own - start)),
             host.getIndexAttr(others), otherStep);
    std::optional<int64_t> first = getConstantIntValue(from),
                           count = getConstantIntValue(length);
    if (!first || !count)
      return std::nullopt;
    int64_t tiles = llvm::divideCeil(*count, otherStep);
    visits.own += std::min(step, own - start) * blocks;
    visits.ownTiles += blocks;
    visits.others +=
        (std::min(others, *first + tiles * otherStep) - *first) * blocks;
    visits.otherTiles += tiles * blocks;
  }
  return visits;
}

AttentionEmitter::Operand
AttentionEmitter::addOperand(Indexed indexed, Access access,
                             std::optional<int64_t> accessed) {
  auto [value, map] = indexed;
  StridedMetadata metadata = getStridedMetadata(host, loc, value);
  Operand operand;
  operand.elementType = getElementTypeOrSelf(value);
  operand.strides.resize(sizes.size());
  operand.knownStrides.assign(sizes.size(), 0);
  for (auto [expr, stride] :
       llvm::zip_equal(map.getResults(), metadata.strides))
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      operand.strides[loop.getPosition()] = launch.addNumber(stride);
      operand.knownStrides[loop.getPosition()] = getConstantIntValue(stride);
    }
  operand.offset = getConstantIntValue(metadata.offset);
  operand.memory = launch.addMemory(
      createDevicePointer(host, loc, value, metadata.offset),
      operand.elementType, access, getSpannedBytes(value),
      countsTraffic ? countTraffic(operand, accessed) : std::nullopt);
  return operand;
}

void AttentionEmitter::addScoreOperands() {
  for (const Indexed &operand : ArrayRef(indexed).drop_front(3).drop_back(2))
    scoreOperands.push_back(addOperand(operand, Access::Read));
  launch.addCaptures(collectCaptures(op->getRegions()));
}

/// Creates buffers one after the other in dynamic memory, which may be larger
/// than memory that a kernel declares.
AttentionEmitter::Values AttentionEmitter::createBuffers() {
  Value memory = gpu::DynamicSharedMemoryOp::create(
      b, loc, getMemory(ShapedType::kDynamic, b.getI8Type()));
  Values buffers;
  for (MemRefType type : workgroupTypes) {
    buffers.push_back(memref::ViewOp::create(
        b, loc, type, memory, index(workgroupBytes), ValueRange()));
    workgroupBytes += llvm::alignTo(type.getNumElements() *
                                        getBytesInMemory(type.getElementType()),
                                    kVectorBytes);
  }
  return buffers;
}

AttentionEmitter::Values AttentionEmitter::beginCode() {
  // All arguments, before there is code.
  for (OpFoldResult size : sizes)
    launch.addNumber(size);
  launch.beginCode();
  Values workgroup = createBuffers();
  thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  lane = math.rem(thread, index(layout.lanes));
  firstColumn = math.mul(lane, index(layout.perScore));
  slot = math.div(thread, index(layout.lanes));
  // A warp's threads are in 8 rows, and have those 8, 16, ... below these.
  if (tile.usesMatrices) {
    int64_t rowsOfWarp = parts.front().size / kAttentionWarps;
    slot = math.add(
        math.mul(math.div(slot, index(layout.rowStep)), index(rowsOfWarp)),
        math.rem(slot, index(layout.rowStep)));
  }
  auto getBox = [&](IndexMath math, function_ref<Value(unsigned)> getSize) {
    Values box;
    for (unsigned loop : gridLoops)
      box.push_back(getSize(loop));
    for (Part part : parts)
      box.push_back(math.ceilDiv(getSize(part.loop), math.index(part.size)));
    return box;
  };
  findPosition(getBox(math, [&](unsigned loop) { return deviceSize(loop); }));
  IndexMath onHost{host, loc};
  blocks = onHost.product(getBox(onHost, [&](unsigned loop) -> Value {
    return getValueOrCreateConstantIndexOp(host, loc, sizes[loop]);
  }));
  return workgroup;
}

/// Blocks that read the same keys, or queries, are neighbours. If a mask leaves
/// some more of them than others, those come first: what is left at the end is
/// short. That goes by sections, what all blocks of one read is in the cache.
void AttentionEmitter::findPosition(ValueRange box) {
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  ValueRange loops = box.take_front(gridLoops.size());
  Values at;
  bool isMasked = !plan.visible.lower.empty() || !plan.visible.upper.empty();
  if (isMasked && parts.size() == 1) {
    std::optional<int64_t> others =
        knownSize(ownsQueries() ? plan.dims.key : plan.queryLoop);
    int64_t bytes = others.value_or(1024) * (plan.depth + plan.columns) *
                    getBytesInMemory(storedType);
    Value size = index(std::max<int64_t>(Traffic::kCached / (bytes + 1), 1)),
          tiles = box.back();
    Value perSection = math.mul(size, tiles);
    Value first = math.mul(math.div(block, perSection), size),
          rest = math.rem(block, perSection);
    Value count = math.min(size, math.sub(math.product(loops), first));
    Value tile = math.div(rest, count);
    // The last queries see the most keys, or the first ones do.
    if (ownsQueries() != plan.visible.upper.empty())
      tile = math.sub(math.sub(tiles, index(1)), tile);
    at = math.delinearize(math.add(first, math.rem(rest, count)), loops);
    at.push_back(tile);
  } else {
    at = math.delinearize(block, box);
  }
  for (auto [loop, number] : llvm::zip(gridLoops, at))
    position[loop] = number;
  for (auto [part, number] :
       llvm::zip(parts, ArrayRef(at).drop_front(gridLoops.size())))
    firstOfPart.push_back(math.mul(number, index(part.size)));
}

void AttentionEmitter::finish(KernelTable<gpu::GPUFuncOp> &table,
                              StringRef name, size_t sums) {
  gpu::GPUFuncOp kernel = launch.finish();
  if (isConstantIntValue(blocks, 0))
    return kernel.erase();
  kernel.setName(name);
  // Blocks on a multiprocessor for which sums and scores still stay in
  // registers. ptxas would rather spill than run few, and does not aim at more
  // than it is told.
  int64_t registers = sums + tile.queries * tile.keys / kAttentionThreads;
  int32_t least = 1;
  if (tile.usesMatrices && registers <= 80)
    least = (registers <= 64 ? 4 : 3) - (plan.roundsFactors ? 0 : 2);
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  b.getI32IntegerAttr(least));
  launch.createLaunch(table.getOrInsert(kernel), blocks, workgroupBytes);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

AttentionEmitter::Values AttentionEmitter::emitFor(Value from, Value to,
                                                   int64_t step,
                                                   ValueRange carried,
                                                   EmitLoop emitBody) {
  auto loop = scf::ForOp::create(b, loc, from, to, index(step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values next = emitBody(loop.getInductionVar(), loop.getRegionIterArgs());
  // A loop that carries nothing ends already.
  if (!carried.empty())
    scf::YieldOp::create(b, loc, next);
  return loop.getResults();
}

AttentionEmitter::Values
AttentionEmitter::emitInOrder(ArrayRef<unsigned> loops, ValueRange carried,
                              function_ref<Values(ValueRange)> emitBody) {
  if (loops.empty())
    return emitBody(carried);
  unsigned loop = loops.front();
  if (knownSize(loop) == 1) {
    position[loop] = index(0);
    return emitInOrder(loops.drop_front(), carried, emitBody);
  }
  return emitFor(index(0), deviceSize(loop), 1, carried,
                 [&](Value iteration, ValueRange inner) {
                   position[loop] = iteration;
                   return emitInOrder(loops.drop_front(), inner, emitBody);
                 });
}

AttentionEmitter::Values AttentionEmitter::emitTiles(
    Value from, Value to, int64_t step, bool isSingle, ValueRange carried,
    function_ref<void(Value first)> load, EmitLoop emitBody) {
  if (!tile.usesMatrices)
    return emitFor(from, to, step, carried,
                   [&](Value first, ValueRange carried) {
                     load(first);
                     emitBarrier();
                     Values next = emitBody(first, carried);
                     if (!isSingle)
                       emitBarrier();
                     return next;
                   });
  stage = index(0);
  emitIf(math.isBelow(from, to), [&] { load(from); });
  Values all(carried);
  all.push_back(stage);
  Values results =
      emitFor(from, to, step, all, [&](Value first, ValueRange carried) {
        Value mine = carried.back(), other = math.sub(index(1), mine);
        emitWait();
        Value following = math.add(first, index(step));
        if (!isSingle)
          emitIf(math.isBelow(following, to), [&] {
            stage = other;
            load(following);
          });
        stage = mine;
        Values next = emitBody(first, carried.drop_back());
        next.push_back(other);
        return next;
      });
  stage = Value();
  results.pop_back();
  return results;
}

void AttentionEmitter::emitIf(Value condition, function_ref<void()> emitThen) {
  if (!condition)
    return emitThen();
  auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitThen();
}

Value AttentionEmitter::emitOrZero(Value condition, Type type,
                                   function_ref<Value()> emitThen) {
  if (!condition)
    return emitThen();
  auto branch = scf::IfOp::create(b, loc, type, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, emitThen());
  b.setInsertionPointToStart(branch.elseBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  scf::YieldOp::create(b, loc, zero);
  return branch.getResult(0);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value AttentionEmitter::offsetOf(const Operand &operand) {
  Value offset = index(0);
  for (auto [stride, at] : llvm::zip_equal(operand.strides, position))
    if (stride && at)
      offset = math.add(offset, math.mul(at, stride));
  return offset;
}

Value AttentionEmitter::moveAlong(const Operand &operand,
                                  ArrayRef<unsigned> loops, Value offset,
                                  Value column) {
  Values box = llvm::map_to_vector(
      loops, [&](unsigned loop) { return deviceSize(loop); });
  for (auto [loop, at] : llvm::zip_equal(loops, math.delinearize(column, box)))
    if (Value stride = operand.strides[loop])
      offset = math.add(offset, math.mul(at, stride));
  return offset;
}

bool AttentionEmitter::hasVectors(const Tile &tile, int64_t count) const {
  const Operand &operand = tile.operand;
  auto isMultiple = [&](std::optional<int64_t> number) {
    return number && *number % count == 0;
  };
  if (!isMultiple(operand.offset) || tile.loops.empty() ||
      operand.knownStrides[tile.loops.back()] != 1 ||
      !isMultiple(knownSize(tile.loops.back())))
    return false;
  return llvm::all_of(llvm::enumerate(operand.knownStrides), [&](auto entry) {
    return entry.index() == tile.loops.back() || isMultiple(entry.value());
  });
}

Value AttentionEmitter::load(const Operand &operand, Value offset,
                             int64_t count) {
  if (count == 1)
    return memref::LoadOp::create(b, loc, operand.memory, offset);
  return vector::LoadOp::create(
      b, loc, VectorType::get({count}, operand.elementType), operand.memory,
      offset, /*nontemporal=*/false,
      llvm::Align(count * getBytesInMemory(operand.elementType)));
}

void AttentionEmitter::store(const Operand &operand, Value offset,
                             Value value) {
  value = convert(value, operand.elementType);
  auto vector = dyn_cast<VectorType>(value.getType());
  if (vector)
    vector::StoreOp::create(b, loc, value, operand.memory, offset,
                            /*nontemporal=*/false,
                            llvm::Align(getBytesInMemory(vector)));
  else
    memref::StoreOp::create(b, loc, value, operand.memory, offset);
}

Value AttentionEmitter::convert(Value value, Type elementType) {
  Type from = getElementTypeOrSelf(value), to = elementType;
  if (from == to)
    return value;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    to = vector.clone(to);
  return from.getIntOrFloatBitWidth() < elementType.getIntOrFloatBitWidth()
             ? arith::ExtFOp::create(b, loc, to, value).getResult()
             : arith::TruncFOp::create(b, loc, to, value).getResult();
}

void AttentionEmitter::emitWait() {
  if (tile.usesMatrices) {
    auto token = nvgpu::DeviceAsyncTokenType::get(b.getContext());
    Value group =
        nvgpu::DeviceAsyncCreateGroupOp::create(b, loc, token, ValueRange());
    nvgpu::DeviceAsyncWaitOp::create(b, loc, group, b.getI32IntegerAttr(0));
  }
  emitBarrier();
}

Value AttentionEmitter::findInBuffer(const Tile &tile, Value row,
                                     Value column) {
  Value at = math.add(math.mul(row, index(tile.width.stride)), column);
  return tile.start
             ? math.add(math.mul(tile.start, index(tile.width.stride)), at)
             : at;
}

void AttentionEmitter::loadTile(const Tile &tile, Value first) {
  const Operand &operand = tile.operand;
  int64_t count = kVectorBytes / getBytesInMemory(operand.elementType);
  if (!hasVectors(tile, count))
    count = 1;
  bool isAsync = this->tile.usesMatrices && count == perVector &&
                 operand.elementType == storedType;
  int64_t perRow = tile.width.padded / count;
  int64_t total = tile.rows * perRow;
  bool isPadded = tile.width.padded > tile.width.elements;
  // Neighbouring threads read neighbours in memory.
  bool alongRows =
      operand.knownStrides[tile.rowLoop] == 1 &&
      (tile.loops.empty() || operand.knownStrides[tile.loops.back()] != 1);
  Value base = offsetOf(operand);
  Type loaded = count == 1 ? operand.elementType
                           : VectorType::get({count}, operand.elementType);
  emitFor(
      index(0), index(llvm::divideCeil(total, kAttentionThreads)), 1, {},
      [&](Value round, ValueRange) -> Values {
        Value item =
            math.add(math.mul(round, index(kAttentionThreads)), thread);
        Value exists = total % kAttentionThreads == 0
                           ? Value()
                           : math.isBelow(item, index(total));
        emitIf(exists, [&] {
          Value row, column;
          if (alongRows) {
            row = math.rem(item, index(tile.rows));
            column = math.div(item, index(tile.rows));
          } else {
            row = math.div(item, index(perRow));
            column = math.mul(math.rem(item, index(perRow)), index(count));
          }
          Value inMemory = math.add(first, row);
          Value isThere = isInside(inMemory, tile.rowLoop, tile.rows);
          if (isPadded) {
            Value isElement = math.isBelow(column, index(tile.width.elements));
            isThere =
                isThere ? create<arith::AndIOp>(isThere, isElement) : isElement;
          }
          Value to = findInBuffer(tile, row, column);
          auto getOffset = [&] {
            Value offset = base;
            if (Value stride = operand.strides[tile.rowLoop])
              offset = math.add(offset, math.mul(inMemory, stride));
            return moveAlong(operand, tile.loops, offset, column);
          };
          if (isAsync) {
            // Of nothing, where there is nothing: zeros.
            Value elements =
                isThere ? arith::SelectOp::create(b, loc, isThere, index(count),
                                                  index(0))
                              .getResult()
                        : Value();
            nvgpu::DeviceAsyncCopyOp::create(
                b, loc, nvgpu::DeviceAsyncTokenType::get(b.getContext()),
                tile.buffer, to, operand.memory, getOffset(),
                b.getIndexAttr(count), elements, /*bypassL1=*/b.getUnitAttr());
            return;
          }
          Value value = emitOrZero(isThere, loaded, [&] {
            return load(operand, getOffset(), count);
          });
          value = convert(value, storedType);
          if (count == 1) {
            memref::StoreOp::create(b, loc, value, tile.buffer, to);
            return;
          }
          for (int64_t i = 0; i < count; i += perVector) {
            Value part = count == perVector
                             ? value
                             : vector::ExtractStridedSliceOp::create(
                                   b, loc, value, i, perVector, 1)
                                   .getResult();
            vector::StoreOp::create(
                b, loc, part, tile.buffer, math.add(to, index(i)),
                /*nontemporal=*/false, llvm::Align(kVectorBytes));
          }
        });
        return {};
      });
}

Value AttentionEmitter::offsetOfRow(const Operand &operand, Value query) {
  Value offset = offsetOf(operand);
  if (Value stride = operand.strides[plan.queryLoop])
    offset = math.add(offset, math.mul(query, stride));
  return offset;
}
Value AttentionEmitter::loadOfRow(const Operand &operand, Value query) {
  return load(operand, offsetOfRow(operand, query), 1);
}
void AttentionEmitter::storeOfRow(const Operand &operand, Value query,
                                  Value value) {
  store(operand, offsetOfRow(operand, query), value);
}

Value AttentionEmitter::loadShared(Value buffer, Value row, int64_t stride,
                                   Value column) {
  return vector::LoadOp::create(
      b, loc, VectorType::get({perVector}, storedType), buffer,
      math.add(math.mul(row, index(stride)), column), /*nontemporal=*/false,
      llvm::Align(kVectorBytes));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void AttentionEmitter::storeSums(const Tile &to, Value first, ValueRange sums,
                                 Initial initial) {
  const Operand &operand = to.operand;
  int64_t perSum = layout.perSum, perRow = layout.countSums(to.width.padded),
          groups = perRow / perSum;
  bool isVector = hasVectors(to, perSum);
  Value base = offsetOf(operand);
  auto add = [&](Value offset, Value sum) -> Value {
    if (initial == Initial::None)
      return sum;
    Value old =
        initial == Initial::Memory
            ? convert(load(operand, offset, isVector ? perSum : 1), type)
            : arith::ConstantOp::create(b, loc, b.getZeroAttr(sum.getType()));
    return create<arith::AddFOp>(old, sum);
  };
  for (int64_t i : llvm::seq(layout.countRows(to.rows))) {
    Value row = rowOf(first, i);
    emitIf(isInside(row, to.rowLoop, to.rows), [&] {
      Value offset = base;
      if (Value stride = operand.strides[to.rowLoop])
        offset = math.add(offset, math.mul(row, stride));
      for (int64_t group : llvm::seq(groups)) {
        int64_t start = group * layout.lanes * perSum;
        Value column = math.add(math.mul(lane, index(perSum)), index(start));
        ValueRange mine = sums.slice(i * perRow + group * perSum, perSum);
        auto isElement = [&](Value at, int64_t more) {
          return start + layout.lanes * perSum <= to.width.elements
                     ? Value()
                     : math.isBelow(at, index(to.width.elements - more));
        };
        if (isVector) {
          emitIf(isElement(column, 0), [&] {
            Value at = moveAlong(operand, to.loops, offset, column);
            auto vector = VectorType::get({perSum}, type);
            Value sum = vector::FromElementsOp::create(b, loc, vector, mine);
            store(operand, at, add(at, sum));
          });
          continue;
        }
        for (auto [e, sum] : llvm::enumerate(mine)) {
          Value element = math.add(column, index(e));
          emitIf(isElement(element, 0), [&, sum = sum] {
            Value at = moveAlong(operand, to.loops, offset, element);
            store(operand, at, add(at, sum));
          });
        }
      }
    });
  }
}
