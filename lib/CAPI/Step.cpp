//===- Step.cpp - A compiled step and its memory --------------------------===//

#include "Step.h"

#include "mlir/CAPI/Support.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <unistd.h>

using namespace mlir;
using namespace mlir::remat;
using ::remat::DType;
using ::remat::Role;

std::shared_ptr<StepBuffer> StepBuffer::allocate(size_t bytes) {
  if (bytes > SIZE_MAX - kAlignment)
    return nullptr;
  auto buffer = std::make_shared<StepBuffer>();
  buffer->block.reset(std::calloc(bytes + kAlignment, 1));
  if (!buffer->block)
    return nullptr;
  buffer->start = reinterpret_cast<void *>(llvm::alignTo(
      reinterpret_cast<uintptr_t>(buffer->block.get()), kAlignment));
  buffer->bytes = bytes;
  return buffer;
}

RunningStep::RunningStep(Progression &progression) : progression(progression) {
  pid_t process = getpid(), other = 0;
  if (progression.runsIn.compare_exchange_strong(other, process))
    return;
  obstacle = other == process
                 ? "the step is running in another thread"
                 : "this process was forked while another thread ran the step, "
                   "whose memory is therefore in the middle of an update; make "
                   "a step in this process, or fork between steps";
}

RunningStep::~RunningStep() {
  if (obstacle.empty())
    progression.runsIn = 0;
}

void Step::setArena(std::shared_ptr<StepBuffer> arena) {
  for (auto [argument, buffer] : llvm::zip(description.arguments, buffers))
    if (argument.role == Role::arena)
      buffer = arena;
}

/// The states of `step` by their names.
static llvm::StringMap<size_t> findStates(const Step &step) {
  llvm::StringMap<size_t> states;
  for (auto [i, argument] : llvm::enumerate(step.description.arguments))
    if (argument.isSaved())
      states[argument.name] = i;
  return states;
}

llvm::Error Step::allocate(
    std::string text, Step *other,
    function_ref<bool(size_t argument, void *into, size_t numBytes)> getValue) {
  descriptionText = std::move(text);
  description = ::remat::TrainDescription::parse(descriptionText);
  auto fail = [](size_t bytes, const Twine &what) {
    return llvm::createStringError("there is no memory for the " +
                                   Twine(bytes) + " bytes of " + what);
  };
  llvm::StringMap<size_t> states;
  std::shared_ptr<StepBuffer> otherArena;
  // Its arena may be replaced, which no thread is to use then.
  std::optional<RunningStep> running;
  if (other) {
    running.emplace(*other->progression);
    if (StringRef obstacle = running->getObstacle(); !obstacle.empty())
      return llvm::createStringError(obstacle);
    states = findStates(*other);
    progression = other->progression;
    for (auto [argument, buffer] :
         llvm::zip(other->description.arguments, other->buffers))
      if (argument.role == Role::arena)
        otherArena = buffer;
  }
  // The step and the evaluation never run at the same time.
  size_t arenaBytes = 0;
  for (const ::remat::TrainArgument &argument : description.arguments)
    if (argument.role == Role::arena)
      arenaBytes = std::max(arenaBytes, argument.type.numBytes());
  std::shared_ptr<StepBuffer> arena = otherArena;
  if (!arena || arena->bytes < arenaBytes)
    arena = StepBuffer::allocate(arenaBytes);
  if (!arena)
    return fail(arenaBytes, "the step's arena");
  for (auto [i, argument] : llvm::enumerate(description.arguments)) {
    buffers.push_back(argument.role == Role::arena ? arena : nullptr);
    if (argument.role == Role::data)
      data.push_back(i);
    else if (argument.role == Role::evalData)
      evaluationData.push_back(i);
    if (buffers[i] || argument.role == Role::data ||
        argument.role == Role::evalData)
      continue;
    size_t bytes = argument.type.numBytes();
    if (auto found = states.find(argument.name);
        argument.isSaved() && found != states.end()) {
      size_t number = found->second;
      const ::remat::TrainArgument &same = other->description.arguments[number];
      if (same.role != argument.role ||
          same.type.dtype != argument.type.dtype ||
          same.type.shape != argument.type.shape)
        return llvm::createStringError(
            "'" + argument.name +
            "' has another type than in the step whose states are to be "
            "shared");
      states.erase(found);
      buffers[i] = other->buffers[number];
      if (argument.isFromProgram()) {
        getValue(i, nullptr, bytes);
        hasOtherValues = true;
      }
      continue;
    }
    if (other && argument.isSaved())
      return llvm::createStringError(
          "'" + argument.name +
          "' is not in the step whose states are to be shared");
    buffers[i] = StepBuffer::allocate(bytes);
    if (!buffers[i])
      return fail(bytes, "'" + getName(i) + "'");
    void *into = buffers[i]->start;
    buffers[i]->isInitialized =
        argument.isFromProgram()
            ? getValue(i, into, bytes)
            : ::remat::initialize(description, argument, into) ||
                  (argument.role != Role::parameter &&
                   argument.role != Role::state);
  }
  if (!states.empty())
    return llvm::createStringError("'" + states.begin()->first() +
                                   "' is in the step whose states are to be "
                                   "shared, but not in this one");
  if (other && arena != otherArena)
    other->setArena(arena);
  return llvm::Error::success();
}

StringRef Step::getName(size_t argument) const {
  for (auto *outputs : {&description.outputs, &description.evalOutputs})
    for (auto &[index, name] : *outputs)
      if (index == argument)
        return name;
  return description.arguments[argument].name;
}

static Step &unwrap(RematStep step) { return *static_cast<Step *>(step.ptr); }

void rematStepDestroy(RematStep step) { delete static_cast<Step *>(step.ptr); }

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static RematRole convert(Role role) {
  switch (role) {
  case Role::parameter:
    return RematRoleParameter;
  case Role::optimizer:
    return RematRoleOptimizer;
  case Role::state:
    return RematRoleState;
  case Role::random:
    return RematRoleRandom;
  case Role::evalRandom:
    return RematRoleEvaluationRandom;
  case Role::data:
    return RematRoleData;
  case Role::evalData:
    return RematRoleEvaluationData;
  case Role::result:
    return RematRoleResult;
  case Role::arena:
    return RematRoleArena;
  }
  llvm_unreachable("a role that is not listed");
}

static RematElementType convert(DType type) {
  switch (type) {
  case DType::i1:
    return RematI1;
  case DType::i8:
  case DType::u8:
    return RematI8;
  case DType::i16:
    return RematI16;
  case DType::i32:
    return RematI32;
  case DType::i64:
    return RematI64;
  case DType::f16:
    return RematF16;
  case DType::bf16:
    return RematBF16;
  case DType::f32:
    return RematF32;
  case DType::f64:
    return RematF64;
  }
  llvm_unreachable("a type that is not listed");
}

intptr_t rematStepGetNumArguments(RematStep step) {
  return unwrap(step).description.arguments.size();
}

RematArgument rematStepGetArgument(RematStep step, intptr_t index) {
  Step &owner = unwrap(step);
  const ::remat::TrainArgument &argument = owner.description.arguments[index];
  return {convert(argument.role),
          wrap(owner.getName(index)),
          convert(argument.type.dtype),
          static_cast<intptr_t>(argument.type.shape.size()),
          argument.type.shape.data(),
          argument.type.numBytes(),
          owner.buffers[index] ? owner.buffers[index]->start : nullptr};
}

intptr_t rematStepGetNumResults(RematStep step) {
  return unwrap(step).description.outputs.size();
}

intptr_t rematStepGetResult(RematStep step, intptr_t index) {
  return unwrap(step).description.outputs[index].first;
}

intptr_t rematStepGetNumEvaluationResults(RematStep step) {
  return unwrap(step).description.evalOutputs.size();
}

intptr_t rematStepGetEvaluationResult(RematStep step, intptr_t index) {
  return unwrap(step).description.evalOutputs[index].first;
}

bool rematStepIsCached(RematStep step) { return unwrap(step).isCached; }

bool rematStepIsInitialized(RematStep step, intptr_t index) {
  const std::shared_ptr<StepBuffer> &buffer = unwrap(step).buffers[index];
  return !buffer || buffer->isInitialized;
}

void rematStepSetInitialized(RematStep step, intptr_t index) {
  if (const std::shared_ptr<StepBuffer> &buffer = unwrap(step).buffers[index])
    buffer->isInitialized = true;
}

MlirStringRef rematStepGetFunction(RematStep step) {
  return wrap(StringRef(unwrap(step).function));
}

MlirStringRef rematStepGetEvaluation(RematStep step) {
  return wrap(StringRef(unwrap(step).evaluation));
}

MlirStringRef rematStepGetOptimizer(RematStep step) {
  return wrap(StringRef(unwrap(step).description.optimizer));
}

int64_t rematStepGetSeed(RematStep step) {
  return unwrap(step).description.seed;
}

MlirStringRef rematStepGetMemoryReport(RematStep step) {
  return wrap(StringRef(unwrap(step).memoryReport));
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

double *rematStepGetLearningRates(RematStep step) {
  return unwrap(step).code.learningRates;
}

int64_t rematStepGetNumber(RematStep step) {
  return unwrap(step).progression->number;
}

void rematStepSetNumber(RematStep step, int64_t number) {
  unwrap(step).progression->number = number;
}

bool rematStepIsDamaged(RematStep step) {
  return unwrap(step).progression->isDamaged;
}

void rematStepSetRepaired(RematStep step) {
  unwrap(step).progression->isDamaged = false;
}

/// What keeps the step, or its evaluation, from running on `data` as the
/// arguments `dataArguments`; empty if nothing does.
static std::string findObstacle(const Step &step,
                                ArrayRef<size_t> dataArguments,
                                ArrayRef<const void *> data) {
  if (step.progression->isDamaged)
    return "an earlier step failed after it had begun to update parameters; "
           "load a state that was saved before it";
  if (data.size() != dataArguments.size())
    return ("there must be " + Twine(dataArguments.size()) +
            " arrays of data, but got " + Twine(data.size()))
        .str();
  for (auto [argument, buffer] : llvm::enumerate(step.buffers))
    if (buffer && !buffer->isInitialized)
      return ("'" + step.getName(argument) +
              "' has no initial value: set it, or give its argument an "
              "'opt.init'")
          .str();
  for (auto [argument, pointer] : llvm::zip(dataArguments, data)) {
    size_t width = byteWidth(step.description.arguments[argument].type.dtype);
    if (!pointer || reinterpret_cast<uintptr_t>(pointer) % width != 0)
      return ("the address of '" + step.getName(argument) +
              "' must be a multiple of " + Twine(width))
          .str();
  }
  return {};
}

/// Runs `function`, and passes what is wrong to `message`. `trains`: it is the
/// step, which changes parameters and states.
static LogicalResult run(Step &step, RematStepFunction function, bool trains,
                         ArrayRef<size_t> dataArguments,
                         ArrayRef<const void *> data,
                         MlirStringCallback message, void *userData) {
  Progression &progression = *step.progression;
  auto fail = [&](StringRef text) {
    if (message)
      message(wrap(text), userData);
    return failure();
  };
  RunningStep running(progression);
  if (StringRef obstacle = running.getObstacle(); !obstacle.empty())
    return fail(obstacle);
  if (std::string obstacle = findObstacle(step, dataArguments, data);
      !obstacle.empty())
    return fail(obstacle);
  SmallVector<void *> buffers;
  for (const std::shared_ptr<StepBuffer> &buffer : step.buffers)
    buffers.push_back(buffer ? buffer->start : nullptr);
  for (auto [argument, pointer] : llvm::zip(dataArguments, data))
    buffers[argument] = const_cast<void *>(pointer);
  bool isLeft = false;
  std::unique_ptr<char, FreeMemory> error(
      remat_rt_run_step(function, buffers.data(), progression.number, &isLeft));
  if (error && trains)
    progression.isDamaged = step.assertsAfterWrites || !isLeft;
  if (error)
    return fail(error.get());
  progression.number += trains;
  return success();
}

MlirLogicalResult rematStepRun(RematStep handle, intptr_t numData,
                               const void *const *data,
                               MlirStringCallback message, void *userData) {
  Step &step = unwrap(handle);
  return wrap(run(step, step.code.function, /*trains=*/true, step.data,
                  {data, size_t(numData)}, message, userData));
}

MlirLogicalResult rematStepEvaluate(RematStep handle, intptr_t numData,
                                    const void *const *data,
                                    MlirStringCallback message,
                                    void *userData) {
  Step &step = unwrap(handle);
  if (!step.code.evaluation) {
    if (message)
      message(wrap(StringRef("the step was compiled without an evaluation")),
              userData);
    return mlirLogicalResultFailure();
  }
  return wrap(run(step, step.code.evaluation, /*trains=*/false,
                  step.evaluationData, {data, size_t(numData)}, message,
                  userData));
}
