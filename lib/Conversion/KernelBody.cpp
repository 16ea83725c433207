//===- KernelBody.cpp - One iteration, or one vector of them --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars stay scalars as long as all lanes agree, so that what depends on
// outer loops only (a row's mean, a random key) is computed once per row.
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::remat;

/// Integer division traps on lanes beyond the end unless the divisor is known.
static bool mayTrap(Operation *op) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
           arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
    return false;
  APInt divisor;
  return !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
         divisor.isZero() || divisor.isAllOnes();
}

bool mlir::remat::canVectorizeBody(linalg::LinalgOp op) {
  auto isElement = [](Type type) {
    return VectorType::isValidElementType(type) && type.isIntOrIndexOrFloat();
  };
  return llvm::all_of(op.getBlock()->getArgumentTypes(), isElement) &&
         llvm::all_of(*op.getBlock(), [&](Operation &inner) {
           if (isa<linalg::YieldOp>(inner))
             return true;
           if (inner.getNumRegions() || mayTrap(&inner) ||
               !llvm::all_of(inner.getResultTypes(), isElement))
             return false;
           return isa<linalg::IndexOp, memref::LoadOp>(inner) ||
                  inner.hasTrait<OpTrait::ConstantLike>() ||
                  OpTrait::hasElementwiseMappableTraits(&inner);
         });
}

void Captures::insert(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && op->hasTrait<OpTrait::ConstantLike>())
    constants.insert(op);
  else
    values.insert(value);
}

static void addUsedAbove(MutableArrayRef<Region> regions, Captures &captures) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(regions, used);
  for (Value value : used)
    captures.insert(value);
}

Captures mlir::remat::collectCaptures(MutableArrayRef<Region> regions) {
  Captures captures;
  addUsedAbove(regions, captures);
  return captures;
}

Captures mlir::remat::collectCaptures(const LoopNest &nest) {
  Captures captures;
  auto capture = [&](OpFoldResult number) {
    if (!getConstantIntValue(number))
      captures.values.insert(cast<Value>(number));
  };
  for (const Loop &loop : nest.loops)
    capture(loop.size);
  for (const Access &access : nest.accesses) {
    llvm::for_each(access.strides, capture);
    capture(access.start);
  }
  addUsedAbove(nest.op->getRegions(), captures);
  return captures;
}

static bool isVector(Value value) { return isa<VectorType>(value.getType()); }

Type KernelBody::vectorOf(Type element) const {
  return lanes.count == 1 ? element : VectorType::get({lanes.count}, element);
}

Value KernelBody::broadcast(OpBuilder &builder, Value value) const {
  if (lanes.count == 1 || isVector(value))
    return value;
  return vector::BroadcastOp::create(builder, nest.op.getLoc(),
                                     vectorOf(value.getType()), value);
}

Value KernelBody::materialize(OpBuilder &builder, OpFoldResult number) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return arith::ConstantIndexOp::create(builder, nest.op.getLoc(), *constant);
  return captured.lookup(cast<Value>(number));
}

bool KernelBody::isVectorized(unsigned access) const {
  return lanes.count > 1 && lanes.loop && !nest.accesses[access].isScalar() &&
         !nest.accesses[access].isInvariantIn(*lanes.loop);
}

bool KernelBody::isScattered(unsigned access) const {
  return isVectorized(access) &&
         !nest.accesses[access].isContiguousIn(*lanes.loop);
}

Value KernelBody::laneOffsets(OpBuilder &builder, unsigned access) {
  Location loc = nest.op.getLoc();
  auto type = VectorType::get({lanes.count}, builder.getIndexType());
  Value steps = vector::StepOp::create(builder, loc, type);
  Value stride = broadcast(
      builder,
      materialize(builder, nest.accesses[access].strides[*lanes.loop]));
  return arith::MulIOp::create(builder, loc, steps, stride);
}

llvm::MaybeAlign KernelBody::getAlignment(VectorType type) const {
  if (!lanes.isAligned)
    return {};
  return llvm::Align(estimateBytes(type));
}

Value KernelBody::maskOrAll(OpBuilder &builder, const Point &point) {
  if (point.mask)
    return point.mask;
  auto type = VectorType::get({lanes.count}, builder.getI1Type());
  return arith::ConstantOp::create(builder, nest.op.getLoc(),
                                   DenseElementsAttr::get(type, true));
}

/// Booleans are bytes in memory, and views of them have elements of i8.
static Value fromMemory(OpBuilder &builder, Location loc, Value value,
                        Type elementType) {
  if (!elementType.isInteger(1))
    return value;
  Type type = elementType;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(elementType);
  return arith::TruncIOp::create(builder, loc, type, value);
}

static Value toMemory(OpBuilder &builder, Location loc, Value value) {
  if (!getElementTypeOrSelf(value.getType()).isInteger(1))
    return value;
  Type type = builder.getI8Type();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  return arith::ExtUIOp::create(builder, loc, type, value);
}

Value KernelBody::load(OpBuilder &builder, unsigned access,
                       const Point &point) {
  Location loc = nest.op.getLoc();
  const Access &operand = nest.accesses[access];
  if (operand.isScalar())
    return views[access];
  Value stored = point.loaded.empty() ? Value() : point.loaded[access];
  if (!stored)
    stored = loadStored(builder, access, point);
  return fromMemory(builder, loc, stored, operand.elementType);
}

Value KernelBody::loadRow(OpBuilder &builder, unsigned access, Value offset) {
  auto type = cast<MemRefType>(views[access].getType());
  return vector::LoadOp::create(
      builder, nest.op.getLoc(),
      cast<VectorType>(vectorOf(type.getElementType())), views[access], offset);
}

void KernelBody::storeRow(OpBuilder &builder, unsigned access, Value row,
                          Value offset) {
  auto type = cast<VectorType>(row.getType());
  bool isStreamed = streamed.contains(access);
  // Of what is longer than a cache line, each part begins with one.
  llvm::MaybeAlign alignment =
      isStreamed ? llvm::Align(std::min<int64_t>(
                       kCacheLine, type.getNumElements() *
                                       type.getElementTypeBitWidth() / 8))
                 : getAlignment(type);
  vector::StoreOp::create(builder, nest.op.getLoc(), row, views[access], offset,
                          /*nontemporal=*/isStreamed, alignment);
}

Value KernelBody::toStored(OpBuilder &builder, Value value) const {
  return toMemory(builder, nest.op.getLoc(), broadcast(builder, value));
}

Value KernelBody::loadStored(OpBuilder &builder, unsigned access,
                             const Point &point) {
  Location loc = nest.op.getLoc();
  Value offset = point.offsets[access];
  if (!isVectorized(access))
    return memref::LoadOp::create(builder, loc, views[access], offset);
  auto type = cast<VectorType>(
      vectorOf(cast<MemRefType>(views[access].getType()).getElementType()));
  bool isContiguous = nest.accesses[access].isContiguousIn(*lanes.loop);
  if (isContiguous && !point.mask)
    return vector::LoadOp::create(builder, loc, type, views[access], offset,
                                  /*nontemporal=*/false, getAlignment(type));
  Value zeros = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
  if (isContiguous)
    return vector::MaskedLoadOp::create(builder, loc, type, views[access],
                                        offset, point.mask, zeros);
  return vector::GatherOp::create(builder, loc, type, views[access], offset,
                                  laneOffsets(builder, access),
                                  maskOrAll(builder, point), zeros);
}

void KernelBody::store(OpBuilder &builder, unsigned access, Value value,
                       const Point &point) {
  Location loc = nest.op.getLoc();
  Value offset = point.offsets[access];
  value = toMemory(builder, loc, value);
  if (!isVectorized(access)) {
    memref::StoreOp::create(builder, loc, value, views[access], offset);
    return;
  }
  value = broadcast(builder, value);
  if (!nest.accesses[access].isContiguousIn(*lanes.loop))
    vector::ScatterOp::create(
        builder, loc, /*resultType=*/Type(), views[access], offset,
        laneOffsets(builder, access), maskOrAll(builder, point), value);
  else if (point.mask)
    vector::MaskedStoreOp::create(builder, loc, views[access], offset,
                                  point.mask, value);
  else
    storeRow(builder, access, value, offset);
}

Value KernelBody::index(OpBuilder &builder, unsigned dim, const Point &point) {
  Location loc = nest.op.getLoc();
  std::optional<unsigned> loop = nest.loopOfDim[dim];
  if (!loop)
    return arith::ConstantIndexOp::create(builder, loc, 0);
  Value iteration = point.iterations[*loop];
  if (lanes.count == 1 || loop != lanes.loop)
    return iteration;
  auto type = VectorType::get({lanes.count}, builder.getIndexType());
  Value steps = vector::StepOp::create(builder, loc, type);
  return arith::AddIOp::create(builder, loc, broadcast(builder, iteration),
                               steps);
}

Value KernelBody::firstOfConsecutive(Value index, const Point &point) {
  auto op = index.getDefiningOp<linalg::IndexOp>();
  if (!op || !lanes.loop || nest.loopOfDim[op.getDim()] != lanes.loop)
    return {};
  return point.iterations[*lanes.loop];
}

/// A read at computed indices: one load where all lanes read one element, one
/// vector load where they read a row, else lane by lane.
Value KernelBody::gatherFromMemRef(OpBuilder &builder, memref::LoadOp load,
                                   IRMapping &values, const Point &point) {
  Location loc = load.getLoc();
  Value source = values.lookupOrDefault(load.getMemRef());
  SmallVector<Value> indices;
  for (Value index : load.getIndices())
    indices.push_back(values.lookupOrDefault(index));
  if (llvm::none_of(indices, isVector))
    return memref::LoadOp::create(builder, loc, source, indices);

  auto memref = cast<MemRefType>(source.getType());
  auto type = cast<VectorType>(vectorOf(memref.getElementType()));
  Value first = firstOfConsecutive(load.getIndices().back(), point);
  if (first && memref.isLastDimUnitStride() &&
      !memref.getElementType().isInteger(1) &&
      llvm::none_of(ArrayRef(indices).drop_back(), isVector)) {
    indices.back() = first;
    if (!point.mask)
      return vector::LoadOp::create(builder, loc, type, source, indices);
    Value zeros = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
    return vector::MaskedLoadOp::create(builder, loc, type, source, indices,
                                        point.mask, zeros);
  }
  // Lanes beyond the end read what the first lane reads: that element exists.
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    SmallVector<Value> at;
    for (Value index : indices) {
      if (!isVector(index)) {
        at.push_back(index);
        continue;
      }
      Value own = vector::ExtractOp::create(builder, loc, index, lane);
      if (point.mask && lane > 0) {
        Value exists =
            vector::ExtractOp::create(builder, loc, point.mask, lane);
        own = arith::SelectOp::create(
            builder, loc, exists, own,
            vector::ExtractOp::create(builder, loc, index, int64_t(0)));
      }
      at.push_back(own);
    }
    elements.push_back(memref::LoadOp::create(builder, loc, source, at));
  }
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

SmallVector<Value> KernelBody::loadInputs(OpBuilder &builder,
                                          const Point &point) {
  SmallVector<Value> inputs(nest.numInputs);
  for (auto [i, input] : llvm::enumerate(inputs))
    if (!nest.op.getBlock()->getArgument(i).use_empty())
      input = load(builder, i, point);
  return inputs;
}

SmallVector<Value> KernelBody::compute(OpBuilder &builder, const Point &point,
                                       ArrayRef<Value> inputs,
                                       ValueRange accumulators) {
  Block *block = nest.op.getBlock();
  IRMapping values(captured);
  for (auto [argument, input] : llvm::zip(block->getArguments(), inputs))
    if (input)
      values.map(argument, input);
  for (auto [argument, accumulator] : llvm::zip_equal(
           block->getArguments().drop_front(nest.numInputs), accumulators))
    values.map(argument, accumulator);

  for (Operation &op : block->without_terminator()) {
    if (auto indexOp = dyn_cast<linalg::IndexOp>(op)) {
      values.map(indexOp.getResult(), index(builder, indexOp.getDim(), point));
      continue;
    }
    if (auto loadOp = dyn_cast<memref::LoadOp>(op)) {
      values.map(loadOp.getResult(),
                 gatherFromMemRef(builder, loadOp, values, point));
      continue;
    }
    bool anyVector = llvm::any_of(op.getOperands(), [&](Value operand) {
      return isVector(values.lookupOrDefault(operand));
    });
    if (anyVector)
      for (Value operand : op.getOperands())
        values.map(operand,
                   broadcast(builder, values.lookupOrDefault(operand)));
    Operation *clone = builder.clone(op, values);
    if (!anyVector)
      continue;
    for (OpResult result : clone->getResults())
      result.setType(vectorOf(result.getType()));
  }
  SmallVector<Value> yielded;
  for (Value value : block->getTerminator()->getOperands())
    yielded.push_back(values.lookupOrDefault(value));
  return yielded;
}
