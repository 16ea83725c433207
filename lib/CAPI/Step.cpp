//===- Step.cpp - A compiled step and its memory --------------------------===//

#include "Step.h"

#include "mlir/CAPI/Support.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::remat;
using ::remat::DType;
using ::remat::Role;

AlignedMemory AlignedMemory::allocate(size_t bytes) {
  AlignedMemory memory;
  if (bytes > SIZE_MAX - kAlignment)
    return memory;
  memory.block.reset(std::calloc(bytes + kAlignment, 1));
  if (memory.block)
    memory.start = reinterpret_cast<void *>(llvm::alignTo(
        reinterpret_cast<uintptr_t>(memory.block.get()), kAlignment));
  return memory;
}

StringRef Step::getName(size_t argument) const {
  for (auto &[index, name] : description.outputs)
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
  case Role::evalRandom:
    return RematRoleRandom;
  case Role::data:
  case Role::evalData:
    return RematRoleData;
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
          owner.buffers[index].data()};
}

intptr_t rematStepGetNumResults(RematStep step) {
  return unwrap(step).description.outputs.size();
}

intptr_t rematStepGetResult(RematStep step, intptr_t index) {
  return unwrap(step).description.outputs[index].first;
}

bool rematStepIsInitialized(RematStep step, intptr_t index) {
  return unwrap(step).isInitialized[index];
}

void rematStepSetInitialized(RematStep step, intptr_t index) {
  unwrap(step).isInitialized[index] = true;
}

MlirStringRef rematStepGetFunction(RematStep step) {
  return wrap(StringRef(unwrap(step).function));
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

int64_t rematStepGetNumber(RematStep step) { return unwrap(step).number; }

void rematStepSetNumber(RematStep step, int64_t number) {
  unwrap(step).number = number;
}

bool rematStepIsDamaged(RematStep step) { return unwrap(step).isDamaged; }

void rematStepSetRepaired(RematStep step) { unwrap(step).isDamaged = false; }

/// What keeps the step from running on `data`; empty if nothing does.
static std::string findObstacle(const Step &step, ArrayRef<const void *> data) {
  if (step.isDamaged)
    return "an earlier step failed after it had begun to update parameters; "
           "load a state that was saved before it";
  if (data.size() != step.data.size())
    return ("the step takes " + Twine(step.data.size()) +
            " arrays of data, but got " + Twine(data.size()))
        .str();
  for (auto [argument, isInitialized] : llvm::enumerate(step.isInitialized))
    if (!isInitialized)
      return ("'" + step.getName(argument) +
              "' has no initial value: set it, or give its argument an "
              "'opt.init'")
          .str();
  for (auto [argument, pointer] : llvm::zip(step.data, data)) {
    size_t width = byteWidth(step.description.arguments[argument].type.dtype);
    if (!pointer || reinterpret_cast<uintptr_t>(pointer) % width != 0)
      return ("the address of '" + step.getName(argument) +
              "' must be a multiple of " + Twine(width))
          .str();
  }
  return {};
}

MlirLogicalResult rematStepRun(RematStep handle, intptr_t numData,
                               const void *const *data,
                               MlirStringCallback message, void *userData) {
  Step &step = unwrap(handle);
  auto fail = [&](StringRef text) {
    if (message)
      message(wrap(text), userData);
    return mlirLogicalResultFailure();
  };
  if (step.isRunning.exchange(true))
    return fail("the step is running in another thread");
  llvm::scope_exit stopRunning([&] { step.isRunning = false; });
  ArrayRef<const void *> batch(data, numData);
  if (std::string obstacle = findObstacle(step, batch); !obstacle.empty())
    return fail(obstacle);
  SmallVector<void *> buffers;
  for (const AlignedMemory &memory : step.buffers)
    buffers.push_back(memory.data());
  for (auto [argument, pointer] : llvm::zip(step.data, batch))
    buffers[argument] = const_cast<void *>(pointer);
  bool isLeft = false;
  std::unique_ptr<char, FreeMemory> failed(remat_rt_run_step(
      step.code.function, buffers.data(), step.number, &isLeft));
  if (!failed) {
    ++step.number;
    return mlirLogicalResultSuccess();
  }
  step.isDamaged = step.assertsAfterWrites || !isLeft;
  return fail(failed.get());
}
