//===- OutlineLayers.cpp - Outline equal layers into one function ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function is differentiated, scheduled, packed and lowered once, however
// often it is called.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Activity.h"
#include "remat/Analysis/EqualValues.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/RegionAttributes.h"
#include "remat/Transforms/Calls/Passes.h"
#include "remat/Transforms/Split/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_OUTLINELAYERSPASS
#include "remat/Transforms/Calls/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Returns all attributes but the label, which only distinguishes regions in
/// reports.
static DictionaryAttr getAttributesWithoutLabel(RegionOp region) {
  NamedAttrList attributes(region->getAttrDictionary());
  attributes.erase(region.getLabelAttrName());
  return attributes.getDictionary(region.getContext());
}

/// Returns a hash that is equal for equal regions.
static llvm::hash_code computeHash(RegionOp region) {
  llvm::hash_code hash =
      hash_value(static_cast<Attribute>(getAttributesWithoutLabel(region)));
  region->walk([&](Operation *op) {
    if (op != region)
      hash = llvm::hash_combine(hash,
                                OperationEquivalence::computeHash(
                                    op, OperationEquivalence::ignoreHashValue,
                                    OperationEquivalence::ignoreHashValue,
                                    OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

static bool areEqual(RegionOp a, RegionOp b) {
  return a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() &&
         getAttributesWithoutLabel(a) == getAttributesWithoutLabel(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

//===----------------------------------------------------------------------===//
// Layers that may be outlined
//===----------------------------------------------------------------------===//

/// Returns true if memory for all values can be planned.
static bool hasStaticShapes(RegionOp region) {
  auto isStatic = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || (shaped.hasRank() && shaped.hasStaticShape());
  };
  return llvm::all_of(region->getOperandTypes(), isStatic) &&
         llvm::all_of(region->getResultTypes(), isStatic);
}

static int64_t countOperations(RegionOp region) {
  int64_t count = 0;
  region.getBody().walk([&](Operation *) { ++count; });
  return count;
}

namespace {
/// Finds regions of a function's block whose gradients are bitwise the same,
/// inlined or called: the backward of a function sees only values of its
/// callers.
class LayerFinder {
public:
  explicit LayerFinder(func::FuncOp function);
  bool mayBeCalled(RegionOp region) const;

private:
  bool sharesComputations(RegionOp region) const;
  bool isYieldedOnly(RegionOp region, unsigned result) const;

  EqualValues equal;
  /// The values that gradients may flow to.
  DenseSet<Value> varied;
};
} // namespace

/// Returns the values computed from `params` in `block`, and all values carried
/// by loops and branches that use such values.
static DenseSet<Value> findVaried(Block &block, ArrayRef<Value> params) {
  DenseSet<Value> varied(params.begin(), params.end());
  block.walk<WalkOrder::PreOrder>([&](Operation *op) {
    WalkResult reads = op->walk([&](Operation *inner) {
      return WalkResult(
          failure(llvm::any_of(inner->getOperands(), [&](Value value) {
            return varied.contains(value);
          })));
    });
    if (!reads.wasInterrupted())
      return;
    varied.insert_range(op->getResults());
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (!isa<RegionOp>(op) ||
            varied.contains(op->getOperand(argument.getArgNumber())))
          varied.insert(argument);
  });
  return varied;
}

LayerFinder::LayerFinder(func::FuncOp function) : equal(function.front()) {
  Block &block = function.front();
  SmallVector<Value> params;
  for (BlockArgument argument : block.getArguments())
    if (function.getArgAttr(argument.getArgNumber(),
                            opt::OptDialect::getParamAttrName()))
      params.push_back(argument);
  varied = findVaried(block, params);
}

/// Returns true if an operation in `region` is equal to one elsewhere.
bool LayerFinder::sharesComputations(RegionOp region) const {
  auto isShared = [&](Value value) {
    return varied.contains(value) &&
           llvm::any_of(equal.getEqual(value), [&](Value other) {
             return !region.getBody().isAncestor(other.getParentRegion());
           });
  };
  return region.getBody()
      .walk([&](Operation *op) {
        return WalkResult(failure(llvm::any_of(op->getResults(), isShared)));
      })
      .wasInterrupted();
}

/// Returns true if the value that the region yields as `result` has no other
/// uses in it.
bool LayerFinder::isYieldedOnly(RegionOp region, unsigned result) const {
  Value value = region.getYield().getOperand(result);
  return isa<OpResult>(value) && value.getParentRegion() == &region.getBody() &&
         value.hasOneUse();
}

bool LayerFinder::mayBeCalled(RegionOp region) const {
  if (region->hasAttr(kAlwaysAttrName) || !hasStaticShapes(region) ||
      sharesComputations(region))
    return false;
  // Two operands that are one value have one cotangent.
  DenseSet<Value> operands;
  for (Value operand : region.getInputs())
    if (varied.contains(operand) && carriesDerivative(operand.getType()) &&
        (lookThroughBorders(operand) != equal.resolve(operand) ||
         !operands.insert(equal.resolve(operand)).second))
      return false;
  for (OpResult result : region->getResults())
    if (varied.contains(result) && carriesDerivative(result.getType()) &&
        !isYieldedOnly(region, result.getResultNumber()))
      return false;
  return true;
}

/// Returns the common part of numbered labels: "block" for "block.3".
static std::string getStem(std::optional<StringRef> label) {
  std::string stem = label.value_or("").rtrim("0123456789._ ").str();
  for (char &c : stem)
    if (!llvm::isAlnum(c) && c != '.')
      c = '_';
  return stem.empty() ? "layer" : stem;
}

/// Replaces `layers` by calls of a function that contains the first of them.
static void outline(ArrayRef<RegionOp> layers, SymbolTable &symbols) {
  RegionOp first = layers.front();
  std::string stem = getStem(first.getLabel());
  Location loc = first.getLoc();
  auto function = func::FuncOp::create(
      loc, stem,
      FunctionType::get(first.getContext(), first->getOperandTypes(),
                        first->getResultTypes()));
  function.setPrivate();
  function.setNoInline(true);
  symbols.insert(function,
                 first->getParentOfType<func::FuncOp>()->getIterator());
  OpBuilder builder = OpBuilder::atBlockBegin(function.addEntryBlock());
  // Where this one takes a value twice, others may take two.
  auto body = cast<RegionOp>(builder.clone(*first));
  body->setOperands(function.getArguments());
  if (first.getLabel())
    body.setLabel(stem);
  func::ReturnOp::create(builder, loc, body->getResults());
  for (RegionOp layer : layers) {
    builder.setInsertionPoint(layer);
    auto call = func::CallOp::create(builder, layer.getLoc(), function,
                                     layer->getOperands());
    layer->replaceAllUsesWith(call);
    layer->erase();
  }
}

/// Returns true if a backward is cut into parts, which may end in the middle of
/// a layer.
static bool accumulatesEagerly(ModuleOp module) {
  return llvm::any_of(module.getOps<TrainStepOp>(), [](TrainStepOp step) {
    return step.isEager() && step.getAccumulate() > 1;
  });
}

namespace {
struct OutlineLayersPass
    : public remat::impl::OutlineLayersPassBase<OutlineLayersPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (minLayers < 1 || minOps < 0) {
      module.emitError("min-layers (layers-once) must be at least 1, and "
                       "min-ops at least 0, but they are ")
          << minLayers.getValue() << " and " << minOps.getValue();
      return signalPassFailure();
    }
    if (unlessBudget && (hasBudget(module) || accumulatesEagerly(module)))
      return markAllAnalysesPreserved();
    SymbolTable symbols(module);
    // Grouped by hash, then by equality.
    llvm::MapVector<llvm::hash_code, SmallVector<SmallVector<RegionOp>, 1>>
        groups;
    for (auto function : module.getOps<func::FuncOp>()) {
      // Layers are split along with what is around them.
      if (!function.getBody().hasOneBlock() || hasShards(function))
        continue;
      SmallVector<RegionOp> regions = llvm::filter_to_vector(
          function.front().getOps<RegionOp>(),
          [&](RegionOp region) { return countOperations(region) >= minOps; });
      if (static_cast<int64_t>(regions.size()) < minLayers)
        continue;
      LayerFinder finder(function);
      for (RegionOp region : regions) {
        if (!finder.mayBeCalled(region))
          continue;
        SmallVector<SmallVector<RegionOp>, 1> &found =
            groups[computeHash(region)];
        auto *it = llvm::find_if(found, [&](ArrayRef<RegionOp> group) {
          return areEqual(group.front(), region);
        });
        if (it == found.end())
          found.push_back({region});
        else
          it->push_back(region);
      }
    }
    for (auto &[hash, found] : groups)
      for (ArrayRef<RegionOp> group : found)
        if (static_cast<int64_t>(group.size()) >= minLayers)
          outline(group, symbols);
  }
};
} // namespace
