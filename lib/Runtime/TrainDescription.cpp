//===- TrainDescription.cpp - Options of a training program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiled program says of itself, and what the environment changes.
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Training.h"

#include <cerrno>
#include <cstdlib>
#include <sstream>

using namespace remat;

const char *remat::nameOf(Role role) {
  switch (role) {
  case Role::parameter:
    return "parameter";
  case Role::optimizer:
    return "optimizer";
  case Role::state:
    return "state";
  case Role::random:
    return "random";
  case Role::data:
    return "data";
  case Role::evalData:
    return "eval_data";
  case Role::evalRandom:
    return "eval_random";
  case Role::result:
    return "result";
  case Role::arena:
    return "arena";
  }
  return "unknown";
}

MemoryClass remat::classOf(Role role) {
  switch (role) {
  case Role::parameter:
    return MemoryClass::parameter;
  case Role::optimizer:
    return MemoryClass::optimizerState;
  case Role::state:
  case Role::random:
  case Role::evalRandom:
    return MemoryClass::state;
  case Role::data:
  case Role::evalData:
    return MemoryClass::data;
  case Role::arena:
    return MemoryClass::arena;
  case Role::result:
    return MemoryClass::other;
  }
  return MemoryClass::other;
}

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream stream(text);
  while (std::getline(stream, part, separator))
    parts.push_back(part);
  return parts;
}

/// The whole of `text` as a number, or a message that names `what`.
static int64_t parseInteger(const std::string &text, const std::string &what) {
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno)
    fail(what + " must be a whole number, but got '" + text + "'");
  return value;
}

static Role parseRole(const std::string &text) {
  for (Role role :
       {Role::parameter, Role::optimizer, Role::state, Role::random, Role::data,
        Role::evalData, Role::evalRandom, Role::result, Role::arena})
    if (text == nameOf(role))
      return role;
  fail("the program's description has an argument of unknown role '" + text +
       "'; was it compiled by another version?");
}

static DType parseType(const std::string &text) {
  for (DType type : {DType::i1, DType::i8, DType::i16, DType::i32, DType::i64,
                     DType::f16, DType::bf16, DType::f32, DType::f64})
    if (text == nameOf(type))
      return type;
  fail("the program's description has an argument of unknown type '" + text +
       "'; was it compiled by another version?");
}

static std::optional<Initial> parseInitial(const std::string &text) {
  std::istringstream stream(text);
  std::string kind;
  double first = 0, second = 0;
  if (!(stream >> kind))
    return std::nullopt;
  stream >> first >> second;
  if (kind == "program")
    return Initial{Initial::program, 0, 0};
  if (kind == "normal")
    return Initial{Initial::normal, first, second};
  if (kind == "uniform")
    return Initial{Initial::uniform, first, second};
  return Initial{Initial::constant, first, second};
}

static TrainArgument parseArgument(std::vector<std::string> fields) {
  fields.resize(7);
  TrainArgument argument;
  argument.role = parseRole(fields[1]);
  argument.type.dtype = parseType(fields[2]);
  for (const std::string &dim : split(fields[3], ' '))
    argument.type.shape.push_back(parseInteger(dim, "a dimension"));
  argument.name = fields[4];
  if (fields[5].rfind("seed ", 0) == 0)
    argument.seed = parseInteger(fields[5].substr(5), "a seed");
  else
    argument.initial = parseInitial(fields[5]);
  argument.isOnHost = argument.isRandom() || fields[6] == "host";
  return argument;
}

namespace {
/// An option, its name in the description and its variable.
struct IntegerOption {
  const char *name, *variable;
  int64_t TrainDescription::*field;
  int64_t low;
};
struct PathOption {
  const char *name, *variable;
  std::string TrainDescription::*field;
};
} // namespace

static constexpr IntegerOption integerOptions[] = {
    {"steps", "REMAT_STEPS", &TrainDescription::steps, 0},
    {"seed", "REMAT_SEED", &TrainDescription::seed, INT64_MIN},
    {"log_every", "REMAT_LOG_EVERY", &TrainDescription::logEvery, 0},
    {"checkpoint_every", "REMAT_CHECKPOINT_EVERY",
     &TrainDescription::checkpointEvery, 1},
    {"eval_every", "REMAT_EVAL_EVERY", &TrainDescription::evalEvery, 0},
};
static constexpr PathOption pathOptions[] = {
    {"data", "REMAT_DATA", &TrainDescription::data},
    {"init", "REMAT_INIT", &TrainDescription::init},
    {"checkpoint", "REMAT_CHECKPOINT", &TrainDescription::checkpoint},
    {"eval_data", "REMAT_EVAL_DATA", &TrainDescription::evalData},
    {"log", "REMAT_LOG", &TrainDescription::log},
};

std::string StoredBlocks::str() const {
  return std::to_string(bits) + "\t" + std::to_string(size) + "\t" +
         (isSigned ? "signed" : "unsigned") + "\t" + std::to_string(count);
}

std::optional<StoredBlocks> StoredBlocks::parse(const std::string &text) {
  std::istringstream stream(text);
  StoredBlocks blocks{};
  std::string sign;
  if (!(stream >> blocks.bits >> blocks.size >> sign >> blocks.count) ||
      (blocks.bits != 8 && blocks.bits != 4) || blocks.size < 1 ||
      blocks.size > int64_t(1) << 32 || blocks.size * blocks.bits % 8 != 0 ||
      (sign != "signed" && sign != "unsigned") || blocks.count < 0)
    return std::nullopt;
  blocks.isSigned = sign == "signed";
  return blocks;
}

/// A line of `stored`.
static void parseStored(const std::string &line, TrainDescription &result) {
  size_t number = line.find('\t') + 1, rest = line.find('\t', number);
  size_t index = result.arguments.size();
  std::optional<StoredBlocks> blocks;
  if (rest != std::string::npos) {
    index = parseInteger(line.substr(number, rest - number), "an argument");
    blocks = StoredBlocks::parse(line.substr(rest + 1));
  }
  if (index >= result.arguments.size() || !blocks)
    fail("the program's description has codes of an unknown kind; was it "
         "compiled by another version?");
  result.arguments[index].stored = blocks;
}

ArrayType TrainArgument::getWholeType() const {
  ArrayType whole = type;
  for (const Shard &shard : shards)
    whole.shape[shard.dim] *= shard.size;
  return whole;
}

/// A line of `shard`.
static void parseShard(const std::vector<std::string> &fields,
                       TrainDescription &result) {
  bool isKnown = fields.size() == 5;
  size_t index = 0;
  Shard shard{};
  if (isKnown) {
    index = parseInteger(fields[1], "an argument");
    shard = {parseInteger(fields[2], "a dimension"),
             parseInteger(fields[3], "an axis"),
             parseInteger(fields[4], "a stride")};
    isKnown = index < result.arguments.size() && shard.dim >= 0 &&
              shard.size >= 1 && shard.stride >= 1;
  }
  if (isKnown) {
    const TrainArgument &argument = result.arguments[index];
    isKnown = shard.dim < int64_t(argument.type.shape.size()) &&
              (argument.role == Role::data || argument.role == Role::evalData);
  }
  if (!isKnown)
    fail("the program's description has a part of an unknown kind; was it "
         "compiled by another version?");
  result.arguments[index].shards.push_back(shard);
}

TrainDescription TrainDescription::parse(const std::string &text) {
  TrainDescription result;
  for (const std::string &line : split(text, '\n')) {
    std::vector<std::string> fields = split(line, '\t');
    if (fields.size() < 2)
      continue;
    for (const IntegerOption &option : integerOptions)
      if (fields[0] == option.name)
        result.*option.field = parseInteger(fields[1], option.name);
    for (const PathOption &option : pathOptions)
      if (fields[0] == option.name)
        result.*option.field = fields[1];
    if (fields[0] == "optimizer")
      result.optimizer = fields[1];
    if (fields[0] == "shuffle")
      result.shuffle = fields[1] != "0";
    if (fields[0] == "argument")
      result.arguments.push_back(parseArgument(fields));
    if (fields[0] == "ranks")
      result.ranks = parseInteger(fields[1], "ranks");
    if (fields[0] == "shard")
      parseShard(fields, result);
    if (fields[0] == "stored")
      parseStored(line, result);
    if (fields[0] == "metric")
      result.metrics.push_back(fields[1]);
    if ((fields[0] == "output" || fields[0] == "eval_output") &&
        fields.size() > 2)
      (fields[0] == "output" ? result.outputs : result.evalOutputs)
          .emplace_back(parseInteger(fields[1], "an output"), fields[2]);
  }
  return result;
}

void TrainDescription::readEnvironment() {
  for (const IntegerOption &option : integerOptions)
    if (const char *value = std::getenv(option.variable)) {
      this->*option.field = parseInteger(value, option.variable);
      if (this->*option.field < option.low)
        fail(std::string(option.variable) + " must be at least " +
             std::to_string(option.low) + ", but got " + value);
    }
  for (const PathOption &option : pathOptions)
    if (const char *value = std::getenv(option.variable))
      this->*option.field = value;
  if (const char *value = std::getenv("REMAT_SHUFFLE")) {
    if (std::string(value) != "0" && std::string(value) != "1")
      fail(std::string("REMAT_SHUFFLE must be 0 or 1, but got '") + value +
           "'");
    shuffle = *value == '1';
  }
  if (evalData.empty())
    evalData = data;
}
