//===- SelectKinds.cpp - Operations by what they do -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selective recompute: cheap values are known by kinds of operations, not by
// their place. Front ends write most kinds as `linalg.generic`, so that names
// of operations say little; a softmax or a normalization is several of them.
//===----------------------------------------------------------------------===//

#include "Origins.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Single operations
//===----------------------------------------------------------------------===//

/// Returns true if `op` is what `ops=elementwise` selects.
static bool isElementwiseKind(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.hasPureTensorSemantics() && !isDot(op) &&
           !isa<linalg::FillOp, linalg::TransposeOp>(op) && isParallel(op) &&
           !extractsElements(op);
  return isElementwiseOnTensors(op);
}

static bool isReduction(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && structured.hasPureTensorSemantics() && !isDot(op) &&
         !isParallel(op);
}

static bool isGather(Operation *op) {
  return isa<tensor::GatherOp>(op) || extractsElements(op);
}

static bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
             tensor::ExtractSliceOp, linalg::TransposeOp>(op);
}

/// Returns true if `op`, or its body if it is structured, is one of `Ops`.
template <typename... Ops> static bool computes(Operation *op) {
  if (isa<Ops...>(op))
    return true;
  return isa<linalg::LinalgOp>(op) && op->walk([](Operation *inner) {
                                          return isa<Ops...>(inner)
                                                     ? WalkResult::interrupt()
                                                     : WalkResult::advance();
                                        }).wasInterrupted();
}

static bool hasName(Operation *op, const llvm::GlobPattern &name) {
  if (name.match(op->getName().getStringRef()))
    return true;
  return isa<linalg::LinalgOp>(op) &&
         op->walk([&](Operation *inner) {
             return inner != op && name.match(inner->getName().getStringRef())
                        ? WalkResult::interrupt()
                        : WalkResult::advance();
           }).wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Several operations
//===----------------------------------------------------------------------===//

/// Follows what becomes of a small value (a sum, a reciprocal root) until an
/// operation that combines it with another activation: through views,
/// broadcasts and scaling by parameters.
static SmallVector<Operation *> findCombinations(Value value,
                                                 const Origins &origins) {
  SmallVector<Operation *> found;
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    for (Operation *user : next.getUsers()) {
      if (!isElementwiseKind(user) && !isView(user))
        continue;
      auto dps = dyn_cast<DestinationStyleOpInterface>(user);
      if (dps && llvm::none_of(dps.getDpsInputs(),
                               [&](Value input) { return input == next; }))
        continue;
      bool combines = false;
      for (Value other : getInputs(user)) {
        unsigned origin = origins.get(other);
        combines |= !seen.contains(other) && (Origins::isActivation(origin) ||
                                              (origin & Origins::kInput));
      }
      if (combines) {
        if (!llvm::is_contained(found, user))
          found.push_back(user);
      } else if (seen.insert(user->getResult(0)).second) {
        worklist.push_back(user->getResult(0));
      }
    }
  }
  return found;
}

/// The operations on the ways from `begin` to `end`, which `end` is one of.
static SmallVector<Operation *> findBetween(Value begin, Operation *end) {
  Operation *first = begin.getDefiningOp();
  Block *block = end->getBlock();
  if (first && first->getBlock() != block)
    return {};
  DenseSet<Operation *> behind, before = {end};
  SmallVector<Operation *> window;
  for (Operation *op = first ? first->getNextNode() : &block->front();;
       op = op->getNextNode()) {
    window.push_back(op);
    for (Value value : getInputs(op))
      if (value == begin || behind.contains(value.getDefiningOp()))
        behind.insert(op);
    if (op == end)
      break;
  }
  SmallVector<Operation *> between;
  for (Operation *op : llvm::reverse(window)) {
    if (!before.contains(op) || !behind.contains(op))
      continue;
    between.push_back(op);
    for (Value value : getInputs(op)) {
      if (Operation *source = value.getDefiningOp(); value != begin && source)
        before.insert(source);
    }
  }
  return between;
}

/// Returns the value from which `value` was computed by an elementwise
/// subtraction; `value` itself if there was none.
static Value findShifted(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isElementwiseKind(op) || !computes<arith::SubFOp>(op))
    return value;
  // The minuend: the operand that is as big as the result.
  for (Value operand : op->getOperands())
    if (operand.getType() == value.getType())
      return operand;
  return value;
}

/// Calls `visit` with what each softmax of which `op` is the exponential, or
/// all of it, is computed from, and with its last operation.
static void forEachSoftmax(Operation *op, const Origins &origins,
                           function_ref<void(Value, Operation *)> visit) {
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
    return visit(softmax.getInput(), op);
  if (!isElementwiseKind(op) || !computes<math::ExpOp, math::Exp2Op>(op))
    return;
  for (Operation *sum : op->getResult(0).getUsers()) {
    if (!isReduction(sum) || !computes<arith::AddFOp>(sum))
      continue;
    for (Operation *end : findCombinations(sum->getResult(0), origins))
      if (computes<arith::DivFOp>(end) || computes<arith::MulFOp>(end))
        visit(findShifted(op->getOperand(0)), end);
  }
}

/// x, max(x), x - max(x), exp, sum, exp / sum.
static void findSoftmax(Operation *op, const Origins &origins,
                        SmallVectorImpl<Operation *> &members) {
  if (isa<linalg::SoftmaxOp>(op)) {
    members.push_back(op);
    return;
  }
  forEachSoftmax(op, origins, [&](Value begin, Operation *end) {
    llvm::append_range(members, findBetween(begin, end));
  });
}

/// Returns true if `op` multiplies two activations, as attention does, but no
/// layer's product with its weights, be it the gate of experts.
static bool multipliesActivations(Operation *op, const Origins &origins) {
  auto product = dyn_cast<linalg::LinalgOp>(op);
  return product && isDot(op) &&
         llvm::all_of(product.getDpsInputs(), [&](Value input) {
           return origins.isActivation(origins.get(input)) ||
                  (origins.get(input) & Origins::kInput);
         });
}

/// Returns true if scores and weights of attention may pass through `op` on
/// their way from one product to the other: scaled, masked, dropped, reshaped.
static bool isStepOfScores(Operation *op, const DenseSet<Operation *> &ofScores,
                           const Origins &origins) {
  if (!isElementwiseKind(op) && !isView(op))
    return false;
  return llvm::all_of(getInputs(op), [&](Value value) {
    return ofScores.contains(value.getDefiningOp()) ||
           !origins.isActivation(origins.get(value));
  });
}

/// Products of which `value` is made by steps of scores alone.
static SmallVector<Operation *> findProductsBefore(Value value,
                                                   const Origins &origins) {
  SmallVector<Operation *> products;
  SmallVector<Value> worklist = {value};
  DenseSet<Operation *> seen;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (multipliesActivations(op, origins))
      products.push_back(op);
    else if (isElementwiseKind(op) || isView(op))
      for (Value input : getInputs(op))
        if (origins.isActivation(origins.get(input)))
          worklist.push_back(input);
  }
  return products;
}

/// Products that read the result of `end`, or what steps of scores make of it.
static SmallVector<Operation *> findProductsAfter(Operation *end,
                                                  const Origins &origins) {
  llvm::SetVector<Operation *> products;
  SmallVector<Operation *> worklist = {end};
  DenseSet<Operation *> ofScores = {end};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val()->getUsers()) {
      if (multipliesActivations(user, origins))
        products.insert(user);
      else if (!ofScores.contains(user) && user->getNumResults() == 1 &&
               isStepOfScores(user, ofScores, origins)) {
        ofScores.insert(user);
        worklist.push_back(user);
      }
    }
  return products.takeVector();
}

/// From the product of queries and keys through a softmax to the one with
/// values. With `resultsOnly`, the last one alone.
static void findAttention(Operation *op, const Origins &origins,
                          bool resultsOnly,
                          SmallVectorImpl<Operation *> &members) {
  if (isa<AttentionOp>(op)) {
    members.push_back(op);
    return;
  }
  forEachSoftmax(op, origins, [&](Value begin, Operation *end) {
    SmallVector<Operation *> before = findProductsBefore(begin, origins);
    if (before.size() != 1)
      return;
    for (Operation *after : findProductsAfter(end, origins)) {
      if (!resultsOnly) {
        members.push_back(before.front());
        llvm::append_range(members,
                           findBetween(before.front()->getResult(0), after));
      }
      members.push_back(after);
    }
  });
}

/// From x to x * rsqrt(statistic of x), or (x - mean) * rsqrt(...).
static void findNorm(Operation *op, const Origins &origins,
                     SmallVectorImpl<Operation *> &members) {
  if (!isElementwiseKind(op) || !computes<math::RsqrtOp, math::SqrtOp>(op))
    return;
  for (Operation *end : findCombinations(op->getResult(0), origins))
    for (Value operand : end->getOperands()) {
      Value begin = findShifted(operand);
      SmallVector<Operation *> between = findBetween(begin, end);
      if (operand.getType() == end->getResult(0).getType() &&
          llvm::is_contained(between, op)) {
        llvm::append_range(members, between);
        break;
      }
    }
}

//===----------------------------------------------------------------------===//
// Selectors
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<Selection>>
findKinds(func::FuncOp function, ArrayRef<std::string> kinds, bool resultsOnly,
          SmallVectorImpl<bool> &matched) {
  Origins origins(function);
  matched.resize(kinds.size());
  DenseMap<Operation *, size_t> kindOf;
  for (auto [index, kind] : llvm::enumerate(kinds)) {
    SmallVector<Operation *> members;
    std::function<bool(Operation *)> is;
    if (kind == "softmax")
      visitOps(function,
               [&](Operation *op) { findSoftmax(op, origins, members); });
    else if (kind == "norm")
      visitOps(function,
               [&](Operation *op) { findNorm(op, origins, members); });
    else if (kind == "attention")
      visitOps(function, [&](Operation *op) {
        findAttention(op, origins, resultsOnly, members);
      });
    else if (kind == "dot")
      is = isDot;
    else if (kind == "elementwise")
      is = isElementwiseKind;
    else if (kind == "reduction")
      is = isReduction;
    else if (kind == "gather")
      is = isGather;
    else if (StringRef(kind).starts_with("#")) {
      int64_t number;
      if (StringRef(kind).drop_front().getAsInteger(10, number))
        return emitError(function.getLoc(), "ops=")
               << kind << " is no number of an operation, such as #17";
      is = [number](Operation *op) {
        auto attribute = op->getAttrOfType<IntegerAttr>(kNumberAttrName);
        return attribute && attribute.getInt() == number;
      };
    } else if (!StringRef(kind).contains('.'))
      return emitError(function.getLoc(), "ops=")
             << kind << " is no kind of operations; choose " << kKindChoices
             << ", or a name of operations such as math.tanh";
    else if (auto glob = llvm::GlobPattern::create(kind))
      is = [glob = std::move(*glob)](Operation *op) {
        return hasName(op, glob);
      };
    else
      return emitError(function.getLoc(), "ops=")
             << kind << " is no pattern of operations: "
             << llvm::toString(glob.takeError());
    if (is)
      visitOps(function, [&](Operation *op) {
        if (is(op) && !origins.isMadeAgain(op) && !isBoundToItsPlace(op))
          members.push_back(op);
      });
    for (Operation *op : members) {
      kindOf.try_emplace(op, index);
      matched[index] = true;
    }
  }
  SmallVector<Selection> selections;
  visitOps(function, [&](Operation *op) {
    if (auto it = kindOf.find(op); it != kindOf.end())
      selections.push_back({kinds[it->second], {op}});
  });
  return selections;
}

FailureOr<SmallVector<Selection>>
mlir::remat::selectKinds(func::FuncOp function, ArrayRef<std::string> kinds,
                         SmallVectorImpl<bool> &matched) {
  return findKinds(function, kinds, /*resultsOnly=*/false, matched);
}

FailureOr<SmallVector<Selection>>
mlir::remat::selectResultsOfKinds(func::FuncOp function,
                                  ArrayRef<std::string> kinds,
                                  SmallVectorImpl<bool> &matched) {
  return findKinds(function, kinds, /*resultsOnly=*/true, matched);
}

SmallVector<std::string> mlir::remat::collectKinds(func::FuncOp function) {
  SmallVector<StringRef> names;
  kKindChoices.split(names, ", ");
  SmallVector<std::string> kinds =
      llvm::map_to_vector(names, [](StringRef name) { return name.str(); });
  SmallVector<bool> matched;
  (void)selectKinds(function, kinds, matched);
  SmallVector<std::string> present;
  for (auto [kind, isPresent] : llvm::zip_equal(kinds, matched))
    if (isPresent)
      present.push_back(kind);
  return present;
}

SmallVector<Selection>
mlir::remat::joinConnected(ArrayRef<Selection> selections) {
  llvm::EquivalenceClasses<Operation *> parts;
  for (const Selection &selection : selections)
    for (Operation *op : selection.ops) {
      parts.insert(op);
      parts.unionSets(op, selection.ops.front());
    }
  for (const Selection &selection : selections)
    for (Operation *op : selection.ops)
      for (Value value : getInputs(op)) {
        Operation *source = value.getDefiningOp();
        if (source && source->getBlock() == op->getBlock() &&
            parts.contains(source))
          parts.unionSets(source, op);
      }
  SmallVector<Selection> joined;
  DenseMap<Operation *, size_t> indices;
  for (const Selection &selection : selections)
    for (Operation *op : selection.ops) {
      auto [it, isFirst] =
          indices.try_emplace(parts.getLeaderValue(op), joined.size());
      if (isFirst)
        joined.push_back({selection.label, {}});
      joined[it->second].ops.push_back(op);
    }
  return joined;
}
