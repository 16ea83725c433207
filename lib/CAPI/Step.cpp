//===- Step.cpp - A compiled step and its memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Step.h"

#include "mlir/CAPI/Support.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"

#include <unistd.h>

using namespace mlir;
using namespace mlir::remat;
using ::remat::DType;
using ::remat::Role;

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

llvm::Error Step::open(StepTarget target, Step *other) {
  if (other && other->getTarget() != target)
    return llvm::createStringError(
        "the step whose states are to be shared runs on something else; "
        "compile both for the same target");
  if (other)
    device = other->device;
  if (device || target == StepTarget::host)
    return llvm::Error::success();
  auto opened = StepDevice::openCUDA(target == StepTarget::emulatedCUDA);
  if (!opened)
    return opened.takeError();
  device = std::move(*opened);
  return llvm::Error::success();
}

llvm::Error Step::link(std::unique_ptr<llvm::MemoryBuffer> object) {
  auto linked =
      linkObject(std::move(object), device ? device->getLibrary() : nullptr,
                 !evaluation.empty(), hasLearningRates);
  if (!linked)
    return llvm::createStringError("LLVM could not link the step: " +
                                   toString(linked.takeError()));
  code = std::make_shared<CompiledCode>(std::move(*linked));
  if (!device)
    return llvm::Error::success();
  device->keep(code);
  std::string problem = device->get().load(code->program);
  return problem.empty() ? llvm::Error::success()
                         : llvm::createStringError(problem);
}

StringRef Step::getName(size_t argument) const {
  for (auto *outputs : {&description.outputs, &description.evalOutputs})
    for (auto &[index, name] : *outputs)
      if (index == argument)
        return name;
  return description.arguments[argument].name;
}

bool Step::hasOneAxis() const {
  return llvm::any_of(description.arguments, [&](const auto &argument) {
    return llvm::any_of(argument.shards, [&](const ::remat::Shard &shard) {
      return shard.size == description.ranks;
    });
  });
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
  bool isOwned = owner.buffers[index] && !owner.isPassed(index);
  ::remat::StoredBlocks stored =
      argument.stored.value_or(::remat::StoredBlocks{0, 0, false, 0});
  return {convert(argument.role),
          wrap(owner.getName(index)),
          convert(argument.type.dtype),
          static_cast<intptr_t>(argument.type.shape.size()),
          argument.type.shape.data(),
          argument.type.numBytes(),
          isOwned ? owner.buffers[index]->getStart() : nullptr,
          isOwned && owner.buffers[index]->isOnDevice(),
          stored.bits,
          stored.size,
          stored.count,
          stored.isSigned};
}

int64_t rematStepGetNumRanks(RematStep step) {
  return unwrap(step).description.ranks;
}

RematShard rematStepGetShard(RematStep step, intptr_t index, intptr_t dim) {
  for (const ::remat::Shard &shard :
       unwrap(step).description.arguments[index].shards)
    if (shard.dim == dim)
      return {shard.size, shard.stride};
  return {1, 1};
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
// Values
//===----------------------------------------------------------------------===//

RematDevice rematStepGetDevice(RematStep step) {
  StepDevice *device = unwrap(step).device.get();
  if (!device)
    return {RematCPU, 0, nullptr, false, 0, 0};
  return {RematCUDA,
          device->get().getNumber(),
          device->get().getStream(),
          device->isEmulated(),
          device->get().getRuntimeBytes(),
          device->get().getHeldBytes()};
}

void rematStepDescribeDevice(RematStep step, MlirStringCallback text,
                             void *userData) {
  StepDevice *device = unwrap(step).device.get();
  text(wrap(StringRef(device ? device->get().describe() : "the host")),
       userData);
}

/// Does `work` on a buffer that the step owns, while the step does not run.
template <typename Work>
static MlirLogicalResult access(Step &step, intptr_t index, Work work,
                                MlirStringCallback message, void *userData) {
  auto fail = [&](StringRef text) {
    if (message)
      message(wrap(text), userData);
    return mlirLogicalResultFailure();
  };
  if (!step.buffers[index] || step.isPassed(index))
    return fail("'" + step.getName(index).str() + "' is data");
  RunningStep running(*step.progression);
  if (StringRef obstacle = running.getObstacle(); !obstacle.empty())
    return fail(obstacle);
  if (llvm::Error error = work(*step.buffers[index]))
    return fail(toString(std::move(error)));
  return mlirLogicalResultSuccess();
}

MlirLogicalResult rematStepRead(RematStep step, intptr_t index, void *into,
                                MlirStringCallback message, void *userData) {
  return access(
      unwrap(step), index,
      [&](StepBuffer &buffer) { return buffer.read(into); }, message, userData);
}

MlirLogicalResult rematStepWrite(RematStep step, intptr_t index,
                                 const void *from, MlirStringCallback message,
                                 void *userData) {
  return access(
      unwrap(step), index,
      [&](StepBuffer &buffer) {
        llvm::Error error = buffer.write(from);
        if (!error)
          buffer.isInitialized = true;
        return error;
      },
      message, userData);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

double *rematStepGetLearningRates(RematStep step) {
  return unwrap(step).code->learningRates;
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

/// Returns why the step, or its evaluation, cannot run on `data` as the
/// arguments `dataArguments`; empty if it can.
static std::string findObstacle(const Step &step,
                                ArrayRef<size_t> dataArguments,
                                ArrayRef<RematInput> data) {
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
  for (auto [argument, input] : llvm::zip(dataArguments, data)) {
    size_t width = byteWidth(step.description.arguments[argument].type.dtype);
    if (!input.data || reinterpret_cast<uintptr_t>(input.data) % width != 0)
      return ("the address of '" + step.getName(argument) +
              "' must be a multiple of " + Twine(width))
          .str();
    if (input.isOnDevice && !step.buffers[argument])
      return ("'" + step.getName(argument) +
              "' must be in the memory of the host, where the step reads it")
          .str();
  }
  return {};
}

namespace {
/// The arguments of a call of a step, or of its evaluation.
struct Call {
  RematStepFunction function;
  /// True if it is the step, which changes parameters and states.
  bool trains;
  ArrayRef<size_t> dataArguments;
  ArrayRef<RematInput> data;
};
} // namespace

/// Runs it and returns what is wrong.
static std::string call(Step &step, const Call &call) {
  Progression &progression = *step.progression;
  SmallVector<void *> buffers;
  for (const std::shared_ptr<StepBuffer> &buffer : step.buffers)
    buffers.push_back(buffer ? buffer->getStart() : nullptr);
  std::vector<::remat::HostedDevice::Input> inputs;
  for (auto [argument, input] : llvm::zip(call.dataArguments, call.data)) {
    if (step.buffers[argument])
      inputs.push_back({buffers[argument], input.data,
                        step.buffers[argument]->getNumBytes(),
                        input.isOnDevice});
    else
      buffers[argument] = const_cast<void *>(input.data);
  }
  if (step.device) {
    using Outcome = ::remat::HostedDevice::Outcome;
    Outcome outcome;
    std::string problem = step.device->get().run(
        {call.function, buffers.data(), progression.number, !call.trains,
         std::move(inputs)},
        &outcome);
    // A device that is lost says so itself.
    if (call.trains)
      progression.isDamaged = outcome == Outcome::assertionAfterWrites;
    return problem;
  }
  bool hasWritten = false;
  std::unique_ptr<char, FreeMemory> problem(
      step.description.ranks > 1
          ? remat_rt_run_step_on_ranks(call.function, buffers.data(),
                                       progression.number, &hasWritten,
                                       step.hasOneAxis())
          : remat_rt_run_step(call.function, buffers.data(), progression.number,
                              &hasWritten));
  if (call.trains)
    progression.isDamaged = problem && hasWritten;
  return problem ? problem.get() : "";
}

/// Runs `request`, and passes what is wrong to `message`.
static MlirLogicalResult run(Step &step, const Call &request,
                             MlirStringCallback message, void *userData) {
  RunningStep running(*step.progression);
  std::string problem = running.getObstacle().str();
  if (problem.empty())
    problem = findObstacle(step, request.dataArguments, request.data);
  if (problem.empty())
    problem = call(step, request);
  else if (step.description.ranks > 1)
    std::free(remat_rt_fail_step(problem.c_str()));
  if (problem.empty()) {
    step.progression->number += request.trains;
    return mlirLogicalResultSuccess();
  }
  if (message)
    message(wrap(StringRef(problem)), userData);
  return mlirLogicalResultFailure();
}

MlirLogicalResult rematStepRun(RematStep handle, intptr_t numData,
                               const RematInput *data,
                               MlirStringCallback message, void *userData) {
  Step &step = unwrap(handle);
  return run(step,
             {step.code->function,
              /*trains=*/true,
              step.data,
              {data, size_t(numData)}},
             message, userData);
}

MlirLogicalResult rematStepEvaluate(RematStep handle, intptr_t numData,
                                    const RematInput *data,
                                    MlirStringCallback message,
                                    void *userData) {
  Step &step = unwrap(handle);
  if (!step.code->evaluation) {
    if (message)
      message(wrap(StringRef("the step was compiled without an evaluation")),
              userData);
    return mlirLogicalResultFailure();
  }
  return run(step,
             {step.code->evaluation,
              /*trains=*/false,
              step.evaluationData,
              {data, size_t(numData)}},
             message, userData);
}
