//===- Parts.cpp - One sum for each part of a dimension -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sum over a split dimension must have the same bits on every number of
// ranks. So the dimension has a fixed number of parts, each of which is added
// up by the operation as it is, and a fixed tree adds these. How much of the
// tree one rank computes is all that differs.
//===----------------------------------------------------------------------===//

#include "Parts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Computes one operation in parts.
class PartBuilder {
public:
  PartBuilder(Operation *op, const Shardings::Split &split, const Mesh &mesh)
      : op(op), split(split), mesh(mesh), b(op->getLoc(), op) {
    for (unsigned loop : split.loops.reduced)
      if (split.axes[loop] >= 0)
        loops.push_back(loop);
  }

  SmallVector<Value> build();

private:
  using Destination = DestinationStyleOpInterface;

  /// Operands in the order of `split.loops.operands`, and for each loop the
  /// position at which its iterations begin.
  struct Inputs {
    SmallVector<Value> operands;
    SmallVector<int64_t> begins;
  };

  SmallVector<Value> buildLoop(unsigned depth, const Inputs &inputs);
  SmallVector<Value> buildPart(const Inputs &inputs);
  Value slice(Value value, const LoopOfDim &dims, unsigned loop, int64_t part,
              int64_t parts);
  Value insert(Value value, Value into, const LoopOfDim &dims, unsigned loop,
               int64_t part, int64_t parts);
  Value fill(RankedTensorType type, TypedAttr value);
  Value combine(const Combination &combination, Value lhs, Value rhs);
  Value combineAll(const Combination &combination, SmallVector<Value> parts,
                   const MeshAxis &axis);
  bool isCombined(unsigned result, unsigned loop) const {
    return !llvm::is_contained(split.loops.results[result], int(loop));
  }
  /// The position in `split.loops.operands` of a result's destination.
  unsigned getDestination(unsigned result) const {
    OpOperand *init = cast<Destination>(op).getDpsInitOperand(result);
    return llvm::find_if(split.loops.operands,
                         [&](const IterationSpace::Operand &operand) {
                           return operand.use == init;
                         }) -
           split.loops.operands.begin();
  }

  Operation *op;
  const Shardings::Split &split;
  const Mesh &mesh;
  PhaseListener listener{getPhase(op)};
  ImplicitLocOpBuilder b;
  /// Those that combine parts.
  SmallVector<unsigned> loops;
};
} // namespace

/// The rows of part `part` of `parts`, as offsets, sizes and strides.
static void getRows(RankedTensorType whole, const LoopOfDim &dims,
                    unsigned loop, int64_t part, int64_t parts, OpBuilder &b,
                    SmallVectorImpl<OpFoldResult> &offsets,
                    SmallVectorImpl<OpFoldResult> &sizes) {
  for (auto [dim, other] : llvm::enumerate(dims)) {
    int64_t size = whole.getDimSize(dim);
    bool isSplit = other == int(loop);
    offsets.push_back(b.getIndexAttr(isSplit ? part * (size / parts) : 0));
    sizes.push_back(b.getIndexAttr(isSplit ? size / parts : size));
  }
}

Value PartBuilder::slice(Value value, const LoopOfDim &dims, unsigned loop,
                         int64_t part, int64_t parts) {
  if (parts == 1 || !llvm::is_contained(dims, int(loop)))
    return value;
  SmallVector<OpFoldResult> offsets, sizes;
  getRows(cast<RankedTensorType>(value.getType()), dims, loop, part, parts, b,
          offsets, sizes);
  SmallVector<OpFoldResult> strides(dims.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, value, offsets, sizes, strides);
}

Value PartBuilder::insert(Value value, Value into, const LoopOfDim &dims,
                          unsigned loop, int64_t part, int64_t parts) {
  if (parts == 1)
    return value;
  SmallVector<OpFoldResult> offsets, sizes;
  getRows(cast<RankedTensorType>(into.getType()), dims, loop, part, parts, b,
          offsets, sizes);
  SmallVector<OpFoldResult> strides(dims.size(), b.getIndexAttr(1));
  return tensor::InsertSliceOp::create(b, value, into, offsets, sizes, strides);
}

Value PartBuilder::fill(RankedTensorType type, TypedAttr value) {
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  if (!value)
    return empty;
  Value scalar = arith::ConstantOp::create(b, value);
  return linalg::FillOp::create(b, scalar, empty).getResult(0);
}

Value PartBuilder::combine(const Combination &combination, Value lhs,
                           Value rhs) {
  auto type = cast<RankedTensorType>(lhs.getType());
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  SmallVector<AffineMap> maps(3, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> kinds(type.getRank(),
                                         utils::IteratorType::parallel);
  auto kernel = linalg::GenericOp::create(
      b, TypeRange(type), ValueRange{lhs, rhs}, ValueRange(empty), maps, kinds,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        linalg::YieldOp::create(
            inner, loc, combination.combine(inner, loc, args[0], args[1]));
      });
  return kernel.getResult(0);
}

/// Combines the parts of this rank as far as ranks do not come between them,
/// and then those of all.
Value PartBuilder::combineAll(const Combination &combination,
                              SmallVector<Value> parts, const MeshAxis &axis) {
  while (parts.size() > 1 && (axis.ranks == 1 || parts.size() % 2 == 0)) {
    SmallVector<Value> sums;
    for (unsigned i = 0; i + 1 < parts.size(); i += 2)
      sums.push_back(combine(combination, parts[i], parts[i + 1]));
    if (parts.size() % 2 == 1)
      sums.push_back(parts.back());
    parts = std::move(sums);
  }
  if (axis.ranks == 1)
    return parts.front();
  Value into = fill(cast<RankedTensorType>(parts[0].getType()), {});
  return AllReduceOp::create(b, into.getType(), combination.kind, axis.ranks,
                             axis.stride, parts, into)
      ->getResult(0);
}

/// Returns copies of `op` on `inputs`.
SmallVector<Value> PartBuilder::buildPart(const Inputs &inputs) {
  IRMapping mapping;
  Operation *copy = b.clone(*op, mapping);
  auto getCopied = [&](OpOperand &use) -> OpOperand & {
    Operation *owner =
        use.getOwner() == op ? copy : mapping.lookup(use.getOwner());
    return owner->getOpOperand(use.getOperandNumber());
  };
  for (auto [operand, value] :
       llvm::zip_equal(split.loops.operands, inputs.operands))
    getCopied(*operand.use).set(value);
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
    copy->getResult(i).setType(
        cast<Destination>(copy).getDpsInits()[i].getType());
  for (auto [loop, begin] : llvm::enumerate(inputs.begins)) {
    if (begin == 0)
      continue;
    for (OpOperand *position : findPositions(op, split.loops, loop)) {
      OpOperand &use = getCopied(*position);
      OpBuilder inner(use.getOwner());
      Value offset = arith::ConstantIndexOp::create(inner, op->getLoc(), begin);
      use.set(arith::AddIOp::create(inner, op->getLoc(), use.get(), offset));
    }
  }
  return copy->getResults();
}

SmallVector<Value> PartBuilder::buildLoop(unsigned depth,
                                          const Inputs &inputs) {
  if (depth == loops.size())
    return buildPart(inputs);
  unsigned loop = loops[depth], numResults = op->getNumResults();
  const MeshAxis &axis = mesh.axes[split.axes[loop]];
  int64_t parts = axis.parts / axis.ranks;
  SmallVector<SmallVector<Value>> combined(numResults);
  SmallVector<Value> results(numResults);
  for (unsigned i = 0; i < numResults; ++i)
    results[i] = inputs.operands[getDestination(i)];
  for (int64_t part = 0; part < parts; ++part) {
    Inputs ofPart = inputs;
    for (auto [operand, value] :
         llvm::zip_equal(split.loops.operands, ofPart.operands)) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      for (auto [dim, other] : llvm::enumerate(operand.dims))
        if (other == int(loop))
          ofPart.begins[loop] = part * (type.getDimSize(dim) / parts);
      value = slice(value, operand.dims, loop, part, parts);
    }
    for (unsigned i = 0; i < numResults; ++i) {
      unsigned destination = getDestination(i);
      Value init = inputs.operands[destination];
      if (isCombined(i, loop))
        ofPart.operands[destination] =
            fill(cast<RankedTensorType>(init.getType()),
                 split.loops.combinations[i]->neutral);
      else
        ofPart.operands[destination] =
            slice(results[i], split.loops.results[i], loop, part, parts);
    }
    for (auto [i, result] : llvm::enumerate(buildLoop(depth + 1, ofPart)))
      if (isCombined(i, loop))
        combined[i].push_back(result);
      else
        results[i] = insert(result, results[i], split.loops.results[i], loop,
                            part, parts);
  }
  for (unsigned i = 0; i < numResults; ++i)
    if (isCombined(i, loop))
      results[i] = combineAll(*split.loops.combinations[i], combined[i], axis);
  return results;
}

/// Returns true if `value` is filled with `neutral`, up to the sign of zero.
static bool isFilledWith(Value value, TypedAttr neutral) {
  Attribute scalar;
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    matchPattern(fill.getInputs()[0], m_Constant(&scalar));
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    scalar = elements.getSplatValue<Attribute>();
  if (!scalar)
    return false;
  auto number = dyn_cast<FloatAttr>(scalar);
  return number && number.getValue().isZero()
             ? cast<FloatAttr>(neutral).getValue().isZero()
             : scalar == neutral;
}

SmallVector<Value> PartBuilder::build() {
  b.setListener(&listener);
  Inputs inputs;
  for (const IterationSpace::Operand &operand : split.loops.operands)
    inputs.operands.push_back(operand.use->get());
  inputs.begins.assign(split.loops.count, 0);
  SmallVector<Value> results = buildLoop(0, inputs);
  for (auto [i, result] : llvm::enumerate(results)) {
    if (!llvm::any_of(loops,
                      [&](unsigned loop) { return isCombined(i, loop); }))
      continue;
    const std::optional<Combination> &combination = split.loops.combinations[i];
    Value init = inputs.operands[getDestination(i)];
    if (combination->neutral && !isFilledWith(init, combination->neutral))
      result = combine(*combination, init, result);
  }
  return results;
}

bool remat::combinesParts(const Shardings::Split &split) {
  return llvm::any_of(split.loops.reduced,
                      [&](unsigned loop) { return split.axes[loop] >= 0; });
}

SmallVector<Value> remat::splitIntoParts(Operation *op,
                                         const Shardings::Split &split,
                                         const Mesh &mesh) {
  return PartBuilder(op, split, mesh).build();
}
