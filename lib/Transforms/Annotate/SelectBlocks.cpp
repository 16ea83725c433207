//===- SelectBlocks.cpp - Layers found in the operations themselves -------===//
//
// An export says nowhere where a layer begins. But layers are the same
// operations over and over, on parameters of their own, each on the result of
// the one before it: a tandem repeat in the sequence of the operations on
// activations. Repeats do not say where the first layer begins (ABABAB is three
// times AB, or BA twice); it begins where the fewest bytes pass from one to the
// next.
//
// Matching subgraphs would not depend on the order of the text; but exporters
// write layers in the order in which they trace them, all in the same way, and
// a sequence is searched in n log n.
//
//===----------------------------------------------------------------------===//

#include "Bytes.h"
#include "Origins.h"
#include "Repeats.h"

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/BitVector.h"

#include <map>

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The operations on activations of one block, and what is known of them.
struct Sequence {
  SmallVector<Operation *> ops;
  /// Equal for operations that are equal up to their operands; these have the
  /// same types and are activations in the same places.
  SmallVector<unsigned> classes;
  DenseMap<Operation *, size_t> positions;
  /// Bytes of activations that are made before position i and read at i or
  /// later in the block, other than by its terminator.
  SmallVector<int64_t> liveBytes;
};

/// Makes operations that are equal up to their operands look equal.
struct SameKind : DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::ignoreHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *first, const Operation *second) {
    if (first == second)
      return true;
    if (isSpecial(first) || isSpecial(second))
      return false;
    // Values inside the operations correspond to each other; of those from
    // outside, the type counts.
    DenseMap<Value, Value> inside;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(first), const_cast<Operation *>(second),
        [&](Value a, Value b) {
          auto it = inside.find(a);
          return success(it == inside.end() ? a.getType() == b.getType()
                                            : it->second == b);
        },
        [&](Value a, Value b) { inside[a] = b; },
        OperationEquivalence::IgnoreLocations);
  }

private:
  static bool isSpecial(const Operation *op) {
    return op == getEmptyKey() || op == getTombstoneKey();
  }
};
} // namespace

/// The position of whoever reads a value of the sequence; none for one that is
/// no operation on activations.
static std::optional<size_t> getPosition(const Sequence &sequence, Block &block,
                                         Operation *user) {
  Operation *ancestor = block.findAncestorOpInBlock(*user);
  auto it = sequence.positions.find(ancestor);
  if (it == sequence.positions.end())
    return std::nullopt;
  return it->second;
}

/// With `countInputs`, what is made of inputs counts as an activation, too.
static Sequence buildSequence(Block &block, const Origins &origins,
                              bool countInputs) {
  auto isActivation = [&](unsigned origin) {
    return Origins::isActivation(origin) ||
           (countInputs && (origin & Origins::kInput));
  };
  Sequence sequence;
  DenseMap<Operation *, unsigned, SameKind> kinds;
  std::map<SmallVector<unsigned>, unsigned> classes;
  for (Operation &op : block.without_terminator()) {
    if (!isActivation(origins.get(&op)) || isBoundToItsPlace(&op) ||
        isa<RegionOp>(op))
      continue;
    sequence.positions[&op] = sequence.ops.size();
    sequence.ops.push_back(&op);
    SmallVector<unsigned> key = {
        kinds.try_emplace(&op, kinds.size()).first->second};
    forEachUsedValue(&op, [&](Value value) {
      key.push_back(isActivation(origins.get(value)));
    });
    sequence.classes.push_back(
        classes.try_emplace(std::move(key), classes.size()).first->second);
  }
  SmallVector<int64_t> changes(sequence.ops.size() + 2);
  for (auto [position, op] : llvm::enumerate(sequence.ops))
    for (Value result : op->getResults()) {
      size_t last = position;
      for (Operation *user : result.getUsers())
        last = std::max(last,
                        getPosition(sequence, block, user).value_or(position));
      changes[position + 1] += getBytes(result.getType());
      changes[last + 1] -= getBytes(result.getType());
    }
  int64_t live = 0;
  for (int64_t change : changes)
    sequence.liveBytes.push_back(live += change);
  return sequence;
}

/// Whether `op` is what layers are made of, rather than a step of one.
static bool isHeavy(Operation *op) {
  return isDot(op) || isa<CallOpInterface, LoopLikeOpInterface>(op);
}

/// Begins the layers of `repeat` where the fewest bytes pass between them: the
/// first such place, of those that leave the most layers.
static size_t findBegin(const Sequence &sequence, const Repeat &repeat) {
  size_t best = repeat.begin;
  std::pair<int64_t, int64_t> bestCost = {INT64_MAX, 0};
  for (size_t begin = repeat.begin; begin < repeat.begin + repeat.period;
       ++begin) {
    int64_t layers = (repeat.end - begin) / repeat.period;
    if (layers < 2)
      break;
    int64_t bytes = 0;
    for (int64_t layer = 1; layer < layers; ++layer)
      bytes += sequence.liveBytes[begin + layer * repeat.period];
    // The mean, so that fewer layers are no gain.
    std::pair<int64_t, int64_t> cost = {bytes / (layers - 1), -layers};
    if (cost < bestCost) {
      bestCost = cost;
      best = begin;
    }
  }
  return best;
}

/// Whether the layer at `begin` reads its own values in the same places as the
/// one a period later, and that one reads something that this one makes.
static bool isChained(const Sequence &sequence, Block &block, size_t begin,
                      size_t period) {
  bool isRead = false;
  for (size_t offset = 0; offset < period; ++offset) {
    SmallVector<std::optional<size_t>> sources[2];
    for (size_t layer : {0, 1}) {
      size_t first = begin + layer * period;
      forEachUsedValue(sequence.ops[first + offset], [&](Value value) {
        std::optional<size_t> source;
        if (isDefinedIn(value, &block))
          source = getPosition(sequence, block, value.getDefiningOp());
        bool isInside = source && *source >= first;
        if (layer == 1 && source && !isInside && *source >= begin)
          isRead = true;
        sources[layer].push_back(
            isInside ? std::optional<size_t>(*source - first) : std::nullopt);
      });
    }
    if (sources[0] != sources[1])
      return false;
  }
  return isRead;
}

/// Cuts `repeat` into layers. Empty if they are none.
static SmallVector<size_t> cutLayers(const Sequence &sequence, Block &block,
                                     const Repeat &repeat) {
  size_t begin = findBegin(sequence, repeat);
  if (llvm::none_of(llvm::seq(begin, begin + repeat.period),
                    [&](size_t i) { return isHeavy(sequence.ops[i]); }))
    return {};
  SmallVector<size_t> layers;
  for (; begin + repeat.period <= repeat.end; begin += repeat.period) {
    bool isLast = begin + 2 * repeat.period > repeat.end;
    if (!isLast && isChained(sequence, block, begin, repeat.period)) {
      layers.push_back(begin);
      continue;
    }
    if (layers.empty())
      continue;
    layers.push_back(begin);
    break;
  }
  return layers.size() < 2 ? SmallVector<size_t>() : layers;
}

/// The layers of one block.
static SmallVector<Selection> findLayers(Block &block, const Origins &origins,
                                         bool countInputs) {
  Sequence sequence = buildSequence(block, origins, countInputs);
  SmallVector<Repeat> repeats = findRepeats(sequence.classes);
  // The longest first. A whole number of shorter periods that covers nearly as
  // much is the better answer: the rest is what the neighbours have in common.
  llvm::sort(repeats, [](const Repeat &a, const Repeat &b) {
    return std::make_tuple(b.size(), a.period, a.begin) <
           std::make_tuple(a.size(), b.period, b.begin);
  });
  llvm::BitVector taken(sequence.ops.size());
  std::map<size_t, size_t> periods; // Of the layers by where they begin.
  auto take = [&](const Repeat &repeat) {
    if (taken.find_first_in(repeat.begin, repeat.end) != -1)
      return;
    for (size_t begin : cutLayers(sequence, block, repeat)) {
      periods[begin] = repeat.period;
      taken.set(begin, begin + repeat.period);
    }
  };
  for (const Repeat &repeat : repeats) {
    if (taken.find_first_in(repeat.begin, repeat.end) != -1)
      continue;
    for (const Repeat &finer : repeats)
      if (finer.period < repeat.period && repeat.period % finer.period == 0 &&
          finer.begin >= repeat.begin && finer.end <= repeat.end &&
          finer.size() >= repeat.size() - finer.period)
        take(finer);
    take(repeat);
  }
  SmallVector<Selection> layers;
  for (auto [begin, period] : periods)
    layers.push_back({"", SmallVector<Operation *>(
                              ArrayRef(sequence.ops).slice(begin, period))});
  return layers;
}

static size_t countOps(ArrayRef<Selection> selections) {
  size_t count = 0;
  for (const Selection &selection : selections)
    count += selection.ops.size();
  return count;
}

/// Appends the layers of one block. An input may be what the first layer works
/// on, or a table that the exporter wrote into the first layer and that all of
/// them read; what makes more layers is right.
static void selectIn(Block &block, const Origins &origins,
                     SmallVectorImpl<Selection> &selections) {
  SmallVector<Selection> layers = findLayers(block, origins, false);
  SmallVector<Selection> withInputs = findLayers(block, origins, true);
  llvm::append_range(selections, countOps(withInputs) > countOps(layers)
                                     ? std::move(withInputs)
                                     : std::move(layers));
}

/// Looks in the blocks of `region` and of the loops and branches in it.
static void selectBelow(Region &region, const Origins &origins,
                        SmallVectorImpl<Selection> &selections) {
  for (Block &block : region) {
    selectIn(block, origins, selections);
    for (Operation &op : block)
      if (!isa<linalg::LinalgOp, RegionOp>(op))
        for (Region &inner : op.getRegions())
          selectBelow(inner, origins, selections);
  }
}

SmallVector<Selection> mlir::remat::selectBlocks(func::FuncOp function) {
  Origins origins(function);
  SmallVector<Selection> selections;
  selectBelow(function.getBody(), origins, selections);
  for (auto [index, selection] : llvm::enumerate(selections))
    selection.label = "block " + std::to_string(index);
  return selections;
}

/// Appends the indices of "3", "-1" or "2-5" to `indices`.
static LogicalResult parseIndices(Location loc, StringRef text, int64_t count,
                                  SmallVectorImpl<int64_t> &indices) {
  StringRef first = text, last = text;
  if (size_t dash = text.find('-', 1); dash != StringRef::npos) {
    first = text.take_front(dash);
    last = text.drop_front(dash + 1);
  }
  int64_t begin, end;
  if (first.getAsInteger(10, begin) || last.getAsInteger(10, end))
    return emitError(loc) << "pick=" << text
                          << " is no index such as 0 or -1 and no range such "
                             "as 2-5";
  begin += begin < 0 ? count : 0;
  end += end < 0 ? count : 0;
  if (begin > end)
    return emitError(loc) << "pick=" << text << " is an empty range";
  if (begin < 0 || end >= count)
    return emitError(loc) << "pick=" << text << ": there are " << count
                          << " blocks, 0 to " << count - 1;
  llvm::append_range(indices, llvm::seq(begin, end + 1));
  return success();
}

FailureOr<SmallVector<Selection>>
mlir::remat::chooseBlocks(Location loc, SmallVector<Selection> blocks,
                          ArrayRef<std::string> pick, int64_t every,
                          int64_t group) {
  if (every < 1 || group < 1)
    return emitError(loc) << "every= and group= take a positive number";
  if (!pick.empty() && every != 1)
    return emitError(loc) << "pick= and every= contradict each other; give one";
  SmallVector<Selection> groups;
  for (auto [index, block] : llvm::enumerate(blocks)) {
    bool joins =
        index % group != 0 && !groups.empty() &&
        groups.back().ops.front()->getBlock() == block.ops.front()->getBlock();
    if (!joins) {
      groups.push_back(std::move(block));
      continue;
    }
    StringRef label = groups.back().label;
    groups.back().label = (label.take_front(label.find('-')) + "-" +
                           Twine(static_cast<uint64_t>(index)))
                              .str();
    llvm::append_range(groups.back().ops, block.ops);
  }
  SmallVector<int64_t> indices;
  for (StringRef text : pick)
    if (failed(parseIndices(loc, text, groups.size(), indices)))
      return failure();
  if (pick.empty())
    for (int64_t index = every - 1; index < int64_t(groups.size());
         index += every)
      indices.push_back(index);
  if (indices.empty())
    return emitError(loc) << "every=" << every << ": there are only "
                          << groups.size() << " blocks";
  llvm::sort(indices);
  indices.erase(llvm::unique(indices), indices.end());
  SmallVector<Selection> chosen;
  for (int64_t index : indices)
    chosen.push_back(std::move(groups[index]));
  return chosen;
}
