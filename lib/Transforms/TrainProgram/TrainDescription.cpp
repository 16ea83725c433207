//===- TrainDescription.cpp - What the runtime is told of a training ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/TrainProgram/TrainDescription.h"

#include "remat/Analysis/StateFlow.h"
#include "remat/Dialect/Opt/IR/Opt.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::remat;
using opt::OptDialect;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static SmallVector<CallResult> getResults(const Callee &callee) {
  func::FuncOp function = callee.function;
  Builder builder(function.getContext());
  SmallVector<std::pair<int64_t, CallResult>> placed;
  SmallVector<CallResult> returned;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto position = function.getArgAttrOfType<IntegerAttr>(
            i, RematDialect::getResultAttrName()))
      placed.emplace_back(position.getInt(),
                          CallResult{function.getArgAttrDict(i),
                                     function.getArgumentTypes()[i], -1,
                                     callee.buffers[i]});
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    DictionaryAttr attributes = function.getResultAttrDict(i);
    returned.push_back({attributes ? attributes : builder.getDictionaryAttr({}),
                        function.getResultTypes()[i], static_cast<int>(i), -1});
  }
  // Returned values fill the positions that arguments leave free.
  llvm::sort(placed, llvm::less_first());
  SmallVector<CallResult> results;
  auto next = returned.begin();
  for (auto &[position, result] : placed) {
    while (static_cast<int64_t>(results.size()) < position &&
           next != returned.end())
      results.push_back(*next++);
    results.push_back(result);
  }
  results.append(next, returned.end());
  return results;
}

Type mlir::remat::getScalarType(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    type = memref.getRank() == 0 ? memref.getElementType() : Type();
  return type && (isa<FloatType>(type) || type.isSignlessInteger()) ? type
                                                                    : Type();
}

const CallResult *mlir::remat::findLoss(ArrayRef<CallResult> results) {
  for (const CallResult &result : results)
    if (result.attributes.get(RematDialect::getLossAttrName()))
      return isa_and_nonnull<FloatType>(getScalarType(result.type)) ? &result
                                                                    : nullptr;
  for (const CallResult &result : results) {
    auto metric =
        result.attributes.getAs<StringAttr>(RematDialect::getMetricAttrName());
    if (isa_and_nonnull<FloatType>(getScalarType(result.type)) &&
        (!metric || metric != kGradNormName))
      return &result;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

/// A declaration has no arguments that could say where they are.
static Location getArgumentLoc(func::FuncOp function, unsigned argument) {
  return function.isExternal() ? function.getLoc()
                               : function.getArgument(argument).getLoc();
}

/// Archives have 16 bits for the length of an entry's name, which is longer
/// than the array's.
static constexpr size_t kMaxNameBytes = 1 << 15;

/// Appends a name, or a path: tabs and newlines end what they stand in, and a
/// NUL the names of files and of entries of archives.
LogicalResult TrainDescription::addName(Location loc, StringRef name) {
  if (name.size() > kMaxNameBytes)
    return emitError(loc) << "a name of at most " << kMaxNameBytes
                          << " bytes is needed, got one of " << name.size()
                          << " bytes, which begins '" << name.take_front(32)
                          << "'";
  if (name.contains('\t') || name.contains('\n') || name.contains('\0'))
    return emitError(loc)
           << "a name without tabs, newlines and NULs is needed, "
              "got "
           << StringAttr::get(loc.getContext(), name);
  os << name;
  return success();
}

LogicalResult TrainDescription::addOptions() {
  FailureOr<std::optional<Mesh>> found =
      Mesh::get(train->getParentOfType<ModuleOp>());
  if (failed(found))
    return failure();
  mesh = std::move(*found);
  if (mesh)
    os << "ranks\t" << mesh->countRanks() << "\n";
  os << "steps\t" << train.getSteps() << "\nseed\t" << train.getSeed()
     << "\nlog_every\t" << train.getLogEvery() << "\ncheckpoint_every\t"
     << train.getCheckpointEvery() << "\neval_every\t" << train.getEvalEvery()
     << "\nshuffle\t" << train.getShuffle() << "\n";
  if (auto rule = train->getAttrOfType<StringAttr>(opt::kRuleNameAttrName))
    os << "optimizer\t" << rule.getValue() << "\n";
  std::pair<StringRef, std::optional<StringRef>> paths[] = {
      {"data", train.getData()},
      {"init", train.getInit()},
      {"checkpoint", train.getCheckpoint()},
      {"eval_data", train.getEvalData()}};
  for (auto [option, path] : paths) {
    if (!path)
      continue;
    os << option << "\t";
    if (failed(addName(train.getLoc(), *path)))
      return failure();
    os << "\n";
  }
  return success();
}

LogicalResult TrainDescription::addLine(func::FuncOp function,
                                        unsigned argument, StringRef role,
                                        StringRef name, StringRef initial) {
  return addLine(getArgumentLoc(function, argument),
                 "argument " + Twine(argument),
                 function.getArgumentTypes()[argument], role, name, initial);
}

LogicalResult TrainDescription::addLine(Location loc, const Twine &what,
                                        Type type, StringRef role,
                                        StringRef name, StringRef initial) {
  SmallVector<int64_t> shape;
  Type element = type;
  if (auto memref = dyn_cast<MemRefType>(type)) {
    if (!memref.hasStaticShape() || !memref.getLayout().isIdentity())
      return emitError(loc)
             << what << " ('" << name
             << "') needs a static shape and the identity layout, since it is "
                "allocated once; got "
             << type;
    shape.assign(memref.getShape().begin(), memref.getShape().end());
    element = memref.getElementType();
  } else if (isRandomState(type)) {
    shape = {2};
    element = cast<VectorType>(type).getElementType();
  }
  bool isKnown = element.isSignlessInteger(1) || element.isSignlessInteger(8) ||
                 element.isSignlessInteger(16) ||
                 element.isSignlessInteger(32) ||
                 element.isSignlessInteger(64) || element.isF16() ||
                 element.isBF16() || element.isF32() || element.isF64();
  if (!isKnown)
    return emitError(loc)
           << what << " ('" << name << "') has type " << type
           << "; a step takes i1, i8, i16, i32, i64, f16, bf16, f32, f64 and "
              "memrefs of them (bufferize first)";
  bool isSaved = role == "parameter" || role == "optimizer" ||
                 role == "state" || role == "random";
  if (isSaved && role != "random" && name.starts_with("remat."))
    return emitError(loc) << what << " is called '" << name
                          << "', but names that begin with 'remat.' belong to "
                             "the program's own entries in checkpoints";
  if (isSaved && !keys.try_emplace(name, types.size()).second)
    return emitError(loc) << what << " would be called '" << name
                          << "' in checkpoints, but another one is called that";
  os << "argument\t" << role << "\t" << element << "\t";
  llvm::interleave(shape, os, " ");
  os << "\t";
  if (failed(addName(loc, name)))
    return failure();
  os << "\t" << initial << "\n";
  types.push_back(type);
  initialValues.emplace_back();
  return success();
}

std::string TrainDescription::getDataKey(Callee &callee, unsigned argument) {
  int position = numData++;
  if (auto key = callee.function.getArgAttrOfType<StringAttr>(
          argument, RematDialect::getDataAttrName()))
    return key.str();
  return "arr_" + std::to_string(position);
}

static std::string printInitializer(func::FuncOp function, unsigned argument) {
  auto text = function.getArgAttrOfType<StringAttr>(
      argument, OptDialect::getInitAttrName());
  if (!text)
    return {};
  FailureOr<opt::Initializer> initializer =
      opt::Initializer::parse(text.getValue());
  if (failed(initializer))
    return {};
  StringRef kinds[] = {"constant", "normal", "uniform"};
  std::string result;
  llvm::raw_string_ostream os(result);
  os << kinds[static_cast<int>(initializer->kind)]
     << llvm::format(" %.17g %.17g", initializer->first, initializer->second);
  return result;
}

/// `addLine` for what starts from an initializer or from a value of the module.
LogicalResult TrainDescription::addVariable(func::FuncOp function,
                                            unsigned argument, StringRef role,
                                            StringRef name) {
  Attribute initial =
      function.getArgAttr(argument, RematDialect::getInitAttrName());
  if (!initial)
    return addLine(function, argument, role, name,
                   printInitializer(function, argument));
  auto value = dyn_cast<ElementsAttr>(initial);
  auto memref = dyn_cast<MemRefType>(function.getArgumentTypes()[argument]);
  if (!value || !memref || value.getElementType() != memref.getElementType() ||
      value.getShapedType().getShape() != memref.getShape())
    return emitError(getArgumentLoc(function, argument))
           << "'remat.init' of argument " << argument << " ('" << name
           << "') is not a value of its type "
           << function.getArgumentTypes()[argument];
  if (failed(addLine(function, argument, role, name, "program")))
    return failure();
  initialValues.back() = value;
  return success();
}

/// Adds the meaning of the codes of the last line, if they are codes.
void TrainDescription::addStored(func::FuncOp function, unsigned argument,
                                 unsigned param) {
  auto stored = function.getArgAttrOfType<TypeAttr>(
      argument, OptDialect::getStoredAttrName());
  auto blocks =
      stored ? dyn_cast<opt::BlockwiseType>(stored.getValue()) : nullptr;
  auto type = dyn_cast<ShapedType>(function.getArgumentTypes()[param]);
  if (!blocks || !type || !type.hasStaticShape())
    return;
  os << "stored\t" << types.size() - 1 << "\t" << blocks.getBits() << "\t"
     << blocks.getBlock() << "\t"
     << (blocks.getIsSigned() ? "signed" : "unsigned") << "\t"
     << type.getNumElements() << "\n";
}

/// Adds of which part of the batch the argument of the last line is.
void TrainDescription::addShard(func::FuncOp function, unsigned argument) {
  if (!mesh)
    return;
  for (auto [dim, axis] :
       llvm::enumerate(getLocalSharding(function, argument, *mesh)))
    if (axis >= 0)
      os << "shard\t" << types.size() - 1 << "\t" << dim << "\t"
         << mesh->axes[axis].ranks << "\t" << mesh->axes[axis].stride << "\n";
}

/// Decides what an argument is and which buffer it gets.
LogicalResult TrainDescription::addArgument(Callee &callee, unsigned argument,
                                            bool isEvaluation) {
  func::FuncOp function = callee.function;
  Type type = function.getArgumentTypes()[argument];
  Location loc = getArgumentLoc(function, argument);
  auto has = [&](StringRef name) {
    return static_cast<bool>(function.getArgAttr(argument, name));
  };
  if (has(RematDialect::getStepAttrName())) {
    callee.buffers.push_back(-1);
    return success();
  }
  std::string name = opt::getParameterName(function, argument);
  bool isParameter = !name.empty();
  bool isRandom = isRandomState(type);
  // Memory of a state's next value is not the state's.
  auto state = has(RematDialect::getResultAttrName())
                   ? StringAttr()
                   : function.getArgAttrOfType<StringAttr>(
                         argument, RematDialect::getStateAttrName());
  // Its name in checkpoints; it starts from a seed.
  StringAttr randomName = isRandom ? std::exchange(state, {}) : StringAttr();
  if (isEvaluation && (isParameter || state)) {
    if (state)
      name = state.str();
    auto it = shared.find(name);
    if (it == shared.end())
      return emitError(loc) << "the evaluation needs '" << name << "', but "
                            << train.getStepAttr()
                            << " has no parameter or model state of this name";
    if (types[it->second] != type)
      return emitError(loc)
             << "'" << name << "' is a " << type << " here, but a "
             << types[it->second] << " in " << train.getStepAttr();
    callee.buffers.push_back(it->second);
    return success();
  }

  int buffer = types.size();
  callee.buffers.push_back(buffer);
  if (isParameter) {
    shared[name] = buffer;
    return addVariable(function, argument, "parameter", name);
  }
  if (state) {
    shared[state.getValue()] = buffer;
    return addVariable(function, argument, "state", state.getValue());
  }
  if (auto optimizerState = function.getArgAttrOfType<StringAttr>(
          argument, OptDialect::getStateAttrName())) {
    auto of = function.getArgAttrOfType<IntegerAttr>(
        argument, OptDialect::getStateOfAttrName());
    if (!of)
      return emitError(loc)
             << "argument " << argument
             << " has 'opt.state', but no 'opt.state_of = <argument>'";
    name = opt::getParameterName(function, of.getInt()) + "." +
           optimizerState.str();
    if (failed(addLine(function, argument, "optimizer", name,
                       printInitializer(function, argument))))
      return failure();
    addStored(function, argument, of.getInt());
    return success();
  }
  if (isRandom) {
    auto seed = function.getArgAttrOfType<IntegerAttr>(
        argument, RematDialect::getSeedAttrName());
    int position = numRandom++;
    std::string initial =
        "seed " + std::to_string(seed ? seed.getInt() : position);
    return addLine(function, argument, isEvaluation ? "eval_random" : "random",
                   randomName ? randomName.str()
                              : "remat.random" + std::to_string(position),
                   initial);
  }
  if (has(RematDialect::getResultAttrName()))
    return addLine(function, argument, "result", "", "");
  if (has("remat.arena"))
    return addLine(function, argument, "arena", "", "");
  std::string key = getDataKey(callee, argument);
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return emitError(loc)
           << "argument " << argument << " ('" << key
           << "') is data, a tensor whose first dimension counts examples or "
              "of which each step has its own, got "
           << type << "; a state has 'remat.state', a parameter 'opt.param'";
  if (failed(addLine(function, argument, isEvaluation ? "eval_data" : "data",
                     key, "")))
    return failure();
  addShard(function, argument);
  return success();
}

/// The names of the evaluation's results, and a check that there are any.
LogicalResult TrainDescription::addMetrics() {
  int64_t count = 0;
  for (const CallResult &result : evaluation.results) {
    if (!getScalarType(result.type))
      continue;
    auto name =
        result.attributes.getAs<StringAttr>(RematDialect::getMetricAttrName());
    os << "metric\t";
    if (failed(addName(evaluation.function.getLoc(),
                       name ? name.str()
                            : (*train.getEval() + Twine(count)).str())))
      return failure();
    os << "\n";
    ++count;
  }
  if (count == 0)
    return train.emitOpError() << "evaluates by " << train.getEvalAttr()
                               << ", which returns no scalar";
  return success();
}

LogicalResult TrainDescription::addStep(func::FuncOp function) {
  step.function = function;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(addArgument(step, i, /*isEvaluation=*/false)))
      return failure();
  step.results = getResults(step);
  return success();
}

LogicalResult TrainDescription::addEvaluation() {
  if (!train.getEval())
    return success();
  auto module = train->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<func::FuncOp>(*train.getEval());
  if (!function)
    return train.emitOpError() << "evaluates by " << train.getEvalAttr()
                               << ", which is no func.func";
  evaluation.function = function;
  numData = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(addArgument(evaluation, i, /*isEvaluation=*/true)))
      return failure();
  evaluation.results = getResults(evaluation);
  return addMetrics();
}

LogicalResult TrainDescription::addOutputs() {
  if (failed(addOutputs(step, "output", outputs)))
    return failure();
  return success(
      !evaluation.function ||
      succeeded(addOutputs(evaluation, "eval_output", evaluationOutputs)));
}

/// Returns true for next values: an evaluation may return some, without use.
static bool isNextValue(const CallResult &result) {
  return result.attributes.get(RematDialect::getUpdatesAttrName()) ||
         result.attributes.get(RematDialect::getStateAttrName()) ||
         isRandomState(result.type);
}

FailureOr<int> TrainDescription::addOutputBuffer(Callee &callee,
                                                 const CallResult &result,
                                                 unsigned index) {
  if (result.buffer >= 0)
    return result.buffer;
  int buffer = types.size();
  if (failed(addLine(callee.function.getLoc(), "result " + Twine(index),
                     result.type, "result", "", "")))
    return failure();
  return buffer;
}

LogicalResult TrainDescription::addOutputs(Callee &callee, StringRef key,
                                           SmallVectorImpl<Output> &outputs) {
  const CallResult *loss = findLoss(callee.results);
  llvm::StringMap<unsigned> names;
  for (auto [index, result] : llvm::enumerate(callee.results)) {
    if (isNextValue(result))
      continue;
    auto metric =
        result.attributes.getAs<StringAttr>(RematDialect::getMetricAttrName());
    // The first scalar of an evaluation may be a metric.
    bool isLoss = &result == loss && (&callee == &step || !metric);
    std::string name = isLoss   ? "loss"
                       : metric ? metric.str()
                                : ("result" + Twine(index)).str();
    Location loc = callee.function.getLoc();
    auto [first, isNew] = names.try_emplace(name, index);
    if (!isNew)
      return emitError(loc) << "results " << first->second << " and " << index
                            << " are both called '" << name
                            << "'; give one of them another 'remat.metric'";
    FailureOr<int> buffer = addOutputBuffer(callee, result, index);
    if (failed(buffer))
      return failure();
    outputs.push_back({name, *buffer, result.result});
    os << key << "\t" << *buffer << "\t";
    if (failed(addName(loc, name)))
      return failure();
    os << "\n";
  }
  return success();
}
