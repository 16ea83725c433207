//===- Layers.cpp - Operations that repeat --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
//===----------------------------------------------------------------------===//

#include "Layers.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Annotate/Repeats.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/BitVector.h"

#include <map>
#include <numeric>

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

/// Writes an operation as a sequence, equal for two of them if and only if they
/// are equal up to locations and operands: of these, the types count, and of
/// values and blocks inside, which one it is.
class StructureWriter {
public:
  explicit StructureWriter(Operation *op) { write(op); }
  std::vector<const void *> sequence;

private:
  void write(Operation *op);
  void writeNumber(size_t number) {
    sequence.push_back(reinterpret_cast<const void *>(number));
  }
  void writeTypes(ValueRange values) {
    writeNumber(values.size());
    for (Value value : values)
      sequence.push_back(value.getType().getAsOpaquePointer());
  }
  void define(ValueRange values) {
    writeTypes(values);
    for (Value value : values)
      inside.try_emplace(value.getAsOpaquePointer(), inside.size());
  }

  /// The numbers of values and blocks.
  DenseMap<const void *, size_t> inside;
};

/// Numbers for kinds of operations and for classes of them.
struct KindMap {
  std::map<std::vector<const void *>, unsigned> ofOps;
  std::map<SmallVector<unsigned>, unsigned> classes;
};
} // namespace

void StructureWriter::write(Operation *op) {
  sequence.push_back(op->getName().getAsOpaquePointer());
  sequence.push_back(op->getAttrDictionary().getAsOpaquePointer());
  writeTypes(op->getOperands());
  for (Value operand : op->getOperands()) {
    auto it = inside.find(operand.getAsOpaquePointer());
    writeNumber(it == inside.end() ? 0 : it->second + 1);
  }
  for (Block *successor : op->getSuccessors())
    writeNumber(inside.lookup(successor));
  define(op->getResults());
  for (Region &region : op->getRegions()) {
    writeNumber(region.getBlocks().size());
    for (Block &block : region) {
      inside.try_emplace(&block, inside.size());
      define(block.getArguments());
    }
    for (Block &block : region) {
      writeNumber(block.getOperations().size());
      for (Operation &inner : block)
        write(&inner);
    }
  }
}

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
template <typename OpRange>
static Sequence buildSequence(OpRange &&candidates, Block &block,
                              const Origins &origins, KindMap &kinds,
                              bool countInputs) {
  auto isActivation = [&](unsigned origin) {
    return Origins::isActivation(origin) ||
           (countInputs && (origin & Origins::kInput));
  };
  Sequence sequence;
  for (Operation *op : candidates) {
    if (!isActivation(origins.get(op)) || isBoundToItsPlace(op) ||
        op->hasTrait<OpTrait::IsTerminator>() || isa<RegionOp>(op))
      continue;
    sequence.positions[op] = sequence.ops.size();
    sequence.ops.push_back(op);
    SmallVector<unsigned> key = {
        kinds.ofOps
            .try_emplace(StructureWriter(op).sequence, kinds.ofOps.size())
            .first->second};
    for (Value value : getInputs(op))
      key.push_back(isActivation(origins.get(value)));
    sequence.classes.push_back(
        kinds.classes.try_emplace(std::move(key), kinds.classes.size())
            .first->second);
  }
  SmallVector<int64_t> changes(sequence.ops.size() + 2);
  for (auto [position, op] : llvm::enumerate(sequence.ops))
    for (Value result : op->getResults()) {
      size_t last = position;
      for (Operation *user : result.getUsers())
        last = std::max(last,
                        getPosition(sequence, block, user).value_or(position));
      changes[position + 1] += estimateBytes(result.getType());
      changes[last + 1] -= estimateBytes(result.getType());
    }
  int64_t live = 0;
  for (int64_t change : changes)
    sequence.liveBytes.push_back(live += change);
  return sequence;
}

/// Returns true if `op` is what layers are made of, rather than a step of one.
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

/// Returns true if the layer at `begin` reads its own values in the same places
/// as the one a period later, and that one reads something that this one makes.
static bool isChained(const Sequence &sequence, Block &block, size_t begin,
                      size_t period) {
  bool isRead = false;
  for (size_t offset = 0; offset < period; ++offset) {
    SmallVector<std::optional<size_t>> sources[2];
    for (size_t layer : {0, 1}) {
      size_t first = begin + layer * period;
      for (Value value : getInputs(sequence.ops[first + offset])) {
        std::optional<size_t> source;
        if (isDefinedIn(value, &block))
          source = getPosition(sequence, block, value.getDefiningOp());
        bool isInside = source && *source >= first;
        if (layer == 1 && source && !isInside && *source >= begin)
          isRead = true;
        sources[layer].push_back(
            isInside ? std::optional<size_t>(*source - first) : std::nullopt);
      }
    }
    if (sources[0] != sources[1])
      return false;
  }
  return isRead;
}

/// Cuts `repeat` into layers. Empty if it cannot be cut.
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

/// Returns true if an operation in [begin, end) uses one in [from, to).
static bool reads(const Sequence &sequence, Block &block, size_t begin,
                  size_t end, size_t from, size_t to) {
  bool found = false;
  for (size_t position = begin; position < end; ++position)
    for (Value value : getInputs(sequence.ops[position])) {
      if (!isDefinedIn(value, &block))
        continue;
      std::optional<size_t> source =
          getPosition(sequence, block, value.getDefiningOp());
      found |= source && *source >= from && *source < to;
    }
  return found;
}

/// The first or the last layer may differ a little from the others: what its
/// neighbours need was folded into it, or out of it. Returns how many
/// operations after `anchor` (`forward`), or before it, are the layer at
/// `begin` but for one in eight; 0 if they differ by more. By edit distances in
/// a band around the diagonal.
static size_t findNearlyEqual(const Sequence &sequence, size_t begin,
                              size_t size, size_t anchor, bool forward) {
  size_t most = size / 8, count = sequence.ops.size();
  size_t available = std::min(size + most, forward ? count - anchor : anchor);
  auto getLayer = [&](size_t i) {
    return sequence.classes[forward ? begin + i : begin + size - 1 - i];
  };
  auto getOther = [&](size_t i) {
    return sequence.classes[forward ? anchor + i : anchor - 1 - i];
  };
  // distances[j]: between the first i of the layer and the first j of the rest.
  std::vector<size_t> distances(available + 1), next(available + 1);
  std::iota(distances.begin(), distances.end(), 0);
  for (size_t i = 1; i <= size; ++i) {
    std::fill(next.begin(), next.end(), most + 1);
    size_t low = i > most ? i - most : 0, high = std::min(available, i + most);
    for (size_t j = low; j <= high; ++j) {
      size_t best = distances[j] + 1;
      if (j > 0)
        best =
            std::min({best, next[j - 1] + 1,
                      distances[j - 1] + (getLayer(i - 1) != getOther(j - 1))});
      next[j] = std::min(best, most + 1);
    }
    std::swap(distances, next);
  }
  size_t best =
      std::min_element(distances.begin(), distances.end()) - distances.begin();
  return most > 0 && distances[best] <= most ? best : 0;
}

SmallVector<SmallVector<Operation *>>
mlir::remat::findLayers(Block &block, const Origins &origins,
                        bool countInputs) {
  KindMap kinds;
  Sequence sequence = buildSequence(llvm::make_pointer_range(block), block,
                                    origins, kinds, countInputs);
  SmallVector<Repeat> repeats = findRepeats(sequence.classes);
  // The longest first. A whole number of shorter periods that covers nearly as
  // much is the better answer: the rest is what the neighbours have in common.
  llvm::sort(repeats, [](const Repeat &a, const Repeat &b) {
    return std::make_tuple(b.size(), a.period, a.begin) <
           std::make_tuple(a.size(), b.period, b.begin);
  });
  llvm::BitVector taken(sequence.ops.size());
  std::map<size_t, size_t> sizes; // Of the layers by where they begin.
  auto take = [&](size_t begin, size_t size) {
    sizes[begin] = size;
    taken.set(begin, begin + size);
  };
  // A repeat may reach into layers of another kind by what both begin or end
  // with; the rest of it counts.
  auto cut = [&](const Repeat &repeat) {
    for (size_t begin = repeat.begin; begin < repeat.end;) {
      int first = taken.find_first_in(begin, repeat.end);
      size_t end = first == -1 ? repeat.end : first;
      if (end - begin >= 2 * repeat.period)
        for (size_t layer :
             cutLayers(sequence, block, {begin, end, repeat.period}))
          take(layer, repeat.period);
      int next = taken.find_first_unset_in(end, repeat.end);
      begin = next == -1 ? repeat.end : next;
    }
  };
  for (const Repeat &repeat : repeats) {
    if (taken.find_first_unset_in(repeat.begin, repeat.end) == -1)
      continue;
    for (const Repeat &finer : repeats)
      if (finer.period < repeat.period && repeat.period % finer.period == 0 &&
          finer.begin >= repeat.begin && finer.end <= repeat.end &&
          finer.size() >= repeat.size() - finer.period)
        cut(finer);
    cut(repeat);
  }
  for (auto [begin, size] : std::map(sizes)) {
    size_t end = begin + size;
    if (!sizes.count(end))
      if (size_t more = findNearlyEqual(sequence, begin, size, end, true);
          more && taken.find_first_in(end, end + more) == -1 &&
          reads(sequence, block, end, end + more, begin, end))
        take(end, more);
    bool isFirst = llvm::none_of(sizes, [begin = begin](auto layer) {
      return layer.first + layer.second == begin;
    });
    if (!isFirst)
      continue;
    if (size_t more = findNearlyEqual(sequence, begin, size, begin, false);
        more && taken.find_first_in(begin - more, begin) == -1 &&
        reads(sequence, block, begin, end, begin - more, begin))
      take(begin - more, more);
  }
  SmallVector<SmallVector<Operation *>> layers;
  for (auto [begin, size] : sizes)
    layers.emplace_back(ArrayRef(sequence.ops).slice(begin, size));
  return layers;
}

SmallVector<SmallVector<Operation *>>
mlir::remat::cutIntoLayers(const Origins &origins, ArrayRef<Operation *> ops) {
  Block &block = *ops.front()->getBlock();
  SmallVector<SmallVector<Operation *>> layers;
  for (bool countInputs : {false, true}) {
    KindMap kinds;
    Sequence sequence = buildSequence(ops, block, origins, kinds, countInputs);
    for (const Repeat &repeat : findRepeats(sequence.classes)) {
      if (repeat.size() != sequence.ops.size() ||
          repeat.size() % repeat.period != 0 ||
          !isChained(sequence, block, 0, repeat.period))
        continue;
      for (size_t begin = 0; begin < repeat.end; begin += repeat.period)
        layers.emplace_back(ArrayRef(sequence.ops).slice(begin, repeat.period));
      return layers;
    }
  }
  layers.emplace_back(ops);
  return layers;
}

bool mlir::remat::areAlike(const Origins &origins, ArrayRef<Operation *> first,
                           ArrayRef<Operation *> second) {
  return llvm::any_of(ArrayRef<bool>{false, true}, [&](bool countInputs) {
    KindMap kinds;
    auto getClasses = [&](ArrayRef<Operation *> ops) {
      return buildSequence(ops, *ops.front()->getBlock(), origins, kinds,
                           countInputs)
          .classes;
    };
    return getClasses(first) == getClasses(second);
  });
}
