//===- Collectives.cpp - Sums and gathers by messages ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a large tensor, each rank of a group puts the parts of its own piece
// together and sends the result to the others: the bytes of a ring, in an order
// of additions that the number of ranks does not change.
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include <algorithm>
#include <cstring>

using namespace remat;

/// Tensors whose parts take no more are sent as a whole, to everyone: one
/// round instead of two.
static constexpr size_t kSmall = 64 << 10;
/// Rows of so many bytes arrive where they belong; shorter ones are sent
/// together.
static constexpr size_t kLongRow = 16 << 10;
/// Rows of an exchange.
static constexpr int64_t kRowsOfExchange = 64;

/// The ranks that differ in one coordinate only.
struct Collectives::Group {
  int64_t rank, coordinate;
  Axis axis;

  int64_t getRank(int64_t member) const {
    return rank + (member - coordinate) * axis.stride;
  }
  /// Calls `visit(member, rank)` for all others, beginning with the next one:
  /// not everyone sends to the first rank first.
  template <typename Visit> void forOthers(Visit visit) const {
    for (int64_t i = 1; i < axis.size; ++i) {
      int64_t member = (coordinate + i) % axis.size;
      visit(member, getRank(member));
    }
  }
};

//===----------------------------------------------------------------------===//
// What ranks must agree on
//===----------------------------------------------------------------------===//

bool CollectiveCall::operator==(const CollectiveCall &other) const {
  return operation == other.operation && kind == other.kind &&
         type == other.type && parts == other.parts && stride == other.stride &&
         size == other.size && count == other.count;
}

std::string CollectiveCall::str() const {
  std::string axis = " along an axis of " + std::to_string(size) +
                     " ranks with stride " + std::to_string(stride);
  switch (operation) {
  case reduce:
    return std::string("an all_reduce ") + nameOf(ReductionKind(kind)) +
           " of " + std::to_string(parts) + " x " + std::to_string(count) +
           " elements of " + nameOf(ScalarKind(type)) + axis;
  case gather:
    return "an all_gather of " + std::to_string(count) + " rows of " +
           std::to_string(kind) + " bytes" + axis;
  case barrier:
    return "a barrier";
  case compare:
    return "the start of its program";
  case broadcast:
    return "a broadcast of " + std::to_string(count) + " bytes";
  case begin:
    return "the beginning of a step";
  case finish:
    return "the end of a step";
  case failure:
    return "a failure";
  }
  return "something unknown";
}

[[noreturn]] static void failToAgree(const CollectiveCall &mine, int64_t rank,
                                     const CollectiveCall &its) {
  fail("this rank is at " + mine.str() + ", but rank " + std::to_string(rank) +
       " at " + its.str() + "; all ranks must run one program on equal shapes");
}

/// All of a group compare what they are at, and nothing else is sent.
void Collectives::compareFirst(const CollectiveCall &call, const Group &group) {
  std::vector<CollectiveCall> others(group.axis.size, call);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  group.forOthers([&](int64_t member, int64_t rank) {
    out.push_back({rank, &call, sizeof(call)});
    in.push_back({rank, &others[member], sizeof(call)});
  });
  std::string error = engine.exchange(out, in);
  if (!error.empty()) {
    broken = error;
    fail(call.str() + ": " + error);
  }
  othersKnow = true;
  std::vector<std::string> texts(others.size());
  std::vector<Incoming> incoming;
  for (size_t member = 0; member < others.size(); ++member)
    if (others[member].operation == CollectiveCall::failure) {
      texts[member].resize(others[member].count);
      incoming.push_back(
          {group.getRank(member), texts[member].data(), texts[member].size()});
    }
  if (!incoming.empty())
    broken = engine.exchange({}, incoming);
  for (size_t member = 0; member < others.size(); ++member)
    if (others[member].operation == CollectiveCall::failure)
      fail("rank " + std::to_string(group.getRank(member)) + ": " +
           texts[member]);
  for (size_t member = 0; member < others.size(); ++member)
    if (!(others[member] == call))
      failToAgree(call, group.getRank(member), others[member]);
  othersKnow = false;
}

/// Sends and receives; in the first exchange of a call, all compare what they
/// are at.
void Collectives::exchange(const CollectiveCall &call, const Group &group,
                           std::vector<Outgoing> out, std::vector<Incoming> in,
                           bool isFirst) {
  if (!broken.empty())
    fail(call.str() + ": an earlier exchange failed: " + broken);
  std::vector<CollectiveCall> others;
  if (isFirst && isHosted) {
    compareFirst(call, group);
  } else if (isFirst) {
    others.resize(group.axis.size, call);
    std::vector<Outgoing> firstOut;
    std::vector<Incoming> firstIn;
    group.forOthers([&](int64_t member, int64_t rank) {
      firstOut.push_back({rank, &call, sizeof(call)});
      firstIn.push_back({rank, &others[member], sizeof(call)});
    });
    out.insert(out.begin(), firstOut.begin(), firstOut.end());
    in.insert(in.begin(), firstIn.begin(), firstIn.end());
  }
  std::string error = engine.exchange(out, in);
  for (size_t member = 0; member < others.size(); ++member)
    if (!(others[member] == call))
      failToAgree(call, group.getRank(member), others[member]);
  if (!error.empty()) {
    broken = error;
    fail(call.str() + ": " + error);
  }
}

//===----------------------------------------------------------------------===//
// Steps of a host program
//===----------------------------------------------------------------------===//

void Collectives::beginStep(bool comparesFirst) {
  othersKnow = false;
  if (comparesFirst)
    compareFirst({CollectiveCall::begin}, getGroup({1, engine.size()}));
}

void Collectives::finishStep() {
  compareFirst({CollectiveCall::finish}, getGroup({1, engine.size()}));
}

bool Collectives::reportFailure(const std::string &message) {
  if (othersKnow)
    return true;
  if (!broken.empty())
    return false;
  Group group = getGroup({1, engine.size()});
  CollectiveCall call{CollectiveCall::failure};
  call.count = message.size();
  std::vector<CollectiveCall> others(group.axis.size, call);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  group.forOthers([&](int64_t member, int64_t rank) {
    out.push_back({rank, &call, sizeof(call)});
    in.push_back({rank, &others[member], sizeof(call)});
  });
  broken = engine.exchange(out, in);
  out.clear();
  // One that fails as well has a message of its own.
  group.forOthers([&](int64_t member, int64_t rank) {
    if (others[member].operation != CollectiveCall::failure)
      out.push_back({rank, message.data(), message.size()});
  });
  if (broken.empty())
    broken = engine.exchange(out, {});
  return broken.empty();
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

Collectives::~Collectives() { device().release(workspace); }

Collectives::Group Collectives::getGroup(Axis axis) const {
  int64_t count = engine.size();
  if (axis.stride < 1 || axis.size < 1 || axis.stride > INT64_MAX / axis.size ||
      count % (axis.stride * axis.size) != 0)
    failOnAllRanks(
        "the program has an axis of " + std::to_string(axis.size) +
        " ranks with stride " + std::to_string(axis.stride) + ", but there " +
        (count == 1 ? "is 1 rank" : "are " + std::to_string(count) + " ranks") +
        "; start it with mpirun -n and the size of its grid");
  return {engine.rank(), engine.rank() / axis.stride % axis.size, axis};
}

int64_t Collectives::getCoordinate(Axis axis) const {
  return getGroup(axis).coordinate;
}

char *Collectives::getWorkspace() {
  if (!workspace)
    workspace = static_cast<char *>(
        device().allocateOnHost(MemoryClass::runtime, workspaceBytes));
  return workspace;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// Elements `begin` to `end` of a tensor.
struct Piece {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};
} // namespace

static Piece getPiece(const Piece &chunk, int64_t member, int64_t members) {
  int64_t size = chunk.count() / members, rest = chunk.count() % members;
  int64_t begin = chunk.begin + member * size + std::min(member, rest);
  return {begin, begin + size + (member < rest)};
}

template <typename Message, typename Pointer>
static void add(std::vector<Message> &messages, int64_t rank, Pointer data,
                size_t bytes) {
  if (bytes)
    messages.push_back({rank, data, bytes});
}

void Collectives::reduceSmall(const CollectiveCall &call, const Group &group,
                              const std::vector<const char *> &parts,
                              char *into) {
  size_t bytes = call.count * byteWidth(ScalarKind(call.type));
  std::vector<const char *> all(call.parts * group.axis.size);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  std::copy(parts.begin(), parts.end(),
            all.begin() + group.coordinate * call.parts);
  char *arrived = getWorkspace();
  group.forOthers([&](int64_t member, int64_t rank) {
    for (int64_t i = 0; i < call.parts; ++i, arrived += bytes) {
      add(out, rank, parts[i], bytes);
      add(in, rank, arrived, bytes);
      all[member * call.parts + i] = arrived;
    }
  });
  exchange(call, group, std::move(out), std::move(in), /*isFirst=*/true);
  reduceParts(ReductionKind(call.kind), ScalarKind(call.type), all, into,
              call.count);
}

/// While the parts of a chunk are on their way, so are the results of the one
/// before it: a chunk's memory is written after its parts were sent.
void Collectives::reduceInPieces(const CollectiveCall &call, const Group &group,
                                 const std::vector<const char *> &parts,
                                 char *into) {
  auto type = ScalarKind(call.type);
  size_t width = byteWidth(type);
  int64_t members = group.axis.size, own = group.coordinate;
  int64_t pieceSize = workspaceBytes / (width * call.parts * (members - 1));
  if (pieceSize == 0)
    fail(call.str() + " has too many parts");
  // Whole cache lines.
  constexpr int64_t kAligned = 64;
  if (pieceSize > kAligned)
    pieceSize -= pieceSize % kAligned;
  Piece last{0, 0};
  for (int64_t begin = 0; begin < call.count || last.count();
       begin += members * pieceSize) {
    begin = std::min(begin, call.count);
    Piece chunk{begin, std::min(begin + members * pieceSize, call.count)};
    Piece mine = getPiece(chunk, own, members),
          done = getPiece(last, own, members);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    std::vector<const char *> all(call.parts * members);
    char *arrived = getWorkspace();
    group.forOthers([&](int64_t member, int64_t rank) {
      Piece its = getPiece(chunk, member, members),
            itsDone = getPiece(last, member, members);
      add(out, rank, into + done.begin * width, done.count() * width);
      add(in, rank, into + itsDone.begin * width, itsDone.count() * width);
      for (int64_t i = 0; i < call.parts; ++i) {
        add(out, rank, parts[i] + its.begin * width, its.count() * width);
        add(in, rank, arrived, mine.count() * width);
        all[member * call.parts + i] = arrived;
        arrived += mine.count() * width;
      }
    });
    for (int64_t i = 0; i < call.parts; ++i)
      all[own * call.parts + i] = parts[i] + mine.begin * width;
    exchange(call, group, std::move(out), std::move(in),
             /*isFirst=*/begin == 0);
    reduceParts(ReductionKind(call.kind), type, all, into + mine.begin * width,
                mine.count());
    last = chunk;
  }
}

void Collectives::allReduce(ReductionKind kind, ScalarKind type, Axis axis,
                            const std::vector<const char *> &parts, char *into,
                            int64_t count) {
  Group group = getGroup(axis);
  if (axis.size == 1)
    return reduceParts(kind, type, parts, into, count);
  CollectiveCall call{CollectiveCall::reduce,
                      int64_t(kind),
                      int64_t(type),
                      int64_t(parts.size()),
                      axis.stride,
                      axis.size,
                      count};
  size_t all = parts.size() * axis.size * byteWidth(type);
  size_t small = std::min(kSmall, workspaceBytes);
  if (count == 0 || all <= small / count)
    reduceSmall(call, group, parts, into);
  else
    reduceInPieces(call, group, parts, into);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

void Collectives::gatherInPlace(const CollectiveCall &call, const Group &group,
                                const char *from, char *into) {
  size_t bytes = call.kind, row = bytes * group.axis.size;
  for (int64_t begin = 0; begin < call.count; begin += kRowsOfExchange) {
    int64_t end = std::min(begin + kRowsOfExchange, call.count);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    group.forOthers([&](int64_t member, int64_t rank) {
      for (int64_t i = begin; i < end; ++i) {
        add(out, rank, from + i * bytes, bytes);
        add(in, rank, into + i * row + member * bytes, bytes);
      }
    });
    exchange(call, group, std::move(out), std::move(in),
             /*isFirst=*/begin == 0);
  }
  for (int64_t i = 0; i < call.count; ++i)
    std::memcpy(into + i * row + group.coordinate * bytes, from + i * bytes,
                bytes);
}

void Collectives::gatherPacked(const CollectiveCall &call, const Group &group,
                               const char *from, char *into) {
  size_t bytes = call.kind, row = bytes * group.axis.size;
  int64_t rows =
      std::max<int64_t>(workspaceBytes / std::max<size_t>(row, 1), 1);
  // Rows of nothing are compared, too.
  for (int64_t begin = 0; begin == 0 || begin < call.count; begin += rows) {
    int64_t some = std::min(rows, call.count - begin);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    std::vector<const char *> all(group.axis.size, from + begin * bytes);
    char *arrived = getWorkspace();
    group.forOthers([&](int64_t member, int64_t rank) {
      add(out, rank, from + begin * bytes, some * bytes);
      add(in, rank, arrived, some * bytes);
      all[member] = arrived;
      arrived += some * bytes;
    });
    exchange(call, group, std::move(out), std::move(in),
             /*isFirst=*/begin == 0);
    for (int64_t i = 0; i < some; ++i)
      for (int64_t member = 0; member < group.axis.size; ++member)
        std::memcpy(into + (begin + i) * row + member * bytes,
                    all[member] + i * bytes, bytes);
  }
}

void Collectives::allGather(Axis axis, int64_t rows, size_t bytes,
                            const char *from, char *into) {
  Group group = getGroup(axis);
  if (axis.size == 1) {
    std::memcpy(into, from, rows * bytes);
    return;
  }
  CollectiveCall call{CollectiveCall::gather,
                      int64_t(bytes),
                      /*type=*/0,
                      /*parts=*/0,
                      axis.stride,
                      axis.size,
                      rows};
  bool isPacked = bytes < kLongRow && (rows != 1 || bytes == 0) &&
                  bytes * axis.size <= workspaceBytes;
  if (isPacked || rows == 0)
    gatherPacked(call, group, from, into);
  else
    gatherInPlace(call, group, from, into);
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

void Collectives::broadcast(char *data, size_t bytes) {
  Group group = getGroup({1, engine.size()});
  CollectiveCall call{CollectiveCall::broadcast};
  call.count = bytes;
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  if (group.rank == 0)
    group.forOthers(
        [&](int64_t, int64_t rank) { add(out, rank, data, bytes); });
  else
    add(in, 0, data, bytes);
  exchange(call, group, std::move(out), std::move(in), /*isFirst=*/true);
}

/// Each rank hears from twice as many others in each round.
void Collectives::barrier() {
  int64_t count = engine.size(), rank = engine.rank();
  CollectiveCall mine{CollectiveCall::barrier};
  for (int64_t distance = 1; distance < count; distance *= 2) {
    CollectiveCall its = mine;
    int64_t from = (rank + count - distance) % count;
    std::string error =
        engine.exchange({{(rank + distance) % count, &mine, sizeof(mine)}},
                        {{from, &its, sizeof(its)}});
    if (!(mine == its))
      failToAgree(mine, from, its);
    if (!error.empty())
      fail(mine.str() + ": " + error);
  }
}

std::vector<std::string> Collectives::gatherTexts(const std::string &text) {
  int64_t count = engine.size();
  Axis all{1, count};
  int64_t length = text.size();
  std::vector<int64_t> lengths(count);
  allGather(all, 1, sizeof(length), reinterpret_cast<char *>(&length),
            reinterpret_cast<char *>(lengths.data()));
  int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::string padded = text, texts(count * longest, '\0');
  padded.resize(longest);
  allGather(all, 1, longest, padded.data(), texts.data());
  std::vector<std::string> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(texts.substr(i * longest, lengths[i]));
  return result;
}
