//===- StepStates.cpp - The memory of a step's arguments ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Step.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::remat;
using ::remat::Role;

void Step::setArena(std::shared_ptr<StepBuffer> arena) {
  for (auto [argument, buffer] : llvm::zip(description.arguments, buffers))
    if (argument.role == Role::arena)
      buffer = arena;
}

namespace {
/// The states that a step shares with another one, if any.
class OtherStates {
public:
  explicit OtherStates(Step *other);

  explicit operator bool() const { return other != nullptr; }
  const std::shared_ptr<StepBuffer> &getArena() const { return arena; }
  /// The buffer of the state that the argument is, once.
  llvm::Expected<std::shared_ptr<StepBuffer>>
  take(const ::remat::TrainArgument &argument);
  /// Fails if there is one that was not taken.
  llvm::Error finish() const;

private:
  Step *other;
  std::shared_ptr<StepBuffer> arena;
  llvm::StringMap<size_t> numbers;
};
} // namespace

OtherStates::OtherStates(Step *other) : other(other) {
  if (!other)
    return;
  for (auto [i, argument] : llvm::enumerate(other->description.arguments)) {
    if (argument.isSaved())
      numbers[argument.name] = i;
    if (argument.role == Role::arena)
      arena = other->buffers[i];
  }
}

llvm::Expected<std::shared_ptr<StepBuffer>>
OtherStates::take(const ::remat::TrainArgument &argument) {
  auto found = numbers.find(argument.name);
  if (found == numbers.end())
    return llvm::createStringError(
        "'" + argument.name +
        "' is not in the step whose states are to be shared");
  size_t number = found->second;
  const ::remat::TrainArgument &same = other->description.arguments[number];
  if (same.role != argument.role || !(same.type == argument.type) ||
      same.isOnHost != argument.isOnHost)
    return llvm::createStringError(
        "'" + argument.name +
        "' has another type than in the step whose states are to be shared");
  numbers.erase(found);
  return other->buffers[number];
}

llvm::Error OtherStates::finish() const {
  if (numbers.empty())
    return llvm::Error::success();
  return llvm::createStringError("'" + numbers.begin()->first() +
                                 "' is in the step whose states are to be "
                                 "shared, but not in this one");
}

/// Sets a buffer to what its argument starts from. `getValue` has values that
/// come from the program.
static llvm::Error
setInitialValue(const ::remat::TrainDescription &description, size_t number,
                StepBuffer &buffer,
                function_ref<bool(size_t, void *, size_t)> getValue) {
  const ::remat::TrainArgument &argument = description.arguments[number];
  size_t bytes = argument.type.numBytes();
  std::unique_ptr<void, FreeMemory> copy;
  void *into = buffer.getStart();
  if (buffer.isOnDevice()) {
    copy.reset(std::malloc(bytes + 1));
    if (!copy)
      return failForLackOfMemory("there is no memory for the " + Twine(bytes) +
                                 " initial bytes of '" + argument.name + "'");
    into = copy.get();
  }
  if (!(argument.isFromProgram()
            ? getValue(number, into, bytes)
            : ::remat::initialize(description, argument, into,
                                  remat_parallel_for))) {
    buffer.isInitialized = !argument.isFromProgram() &&
                           argument.role != Role::parameter &&
                           argument.role != Role::state;
    return llvm::Error::success();
  }
  return buffer.isOnDevice() ? buffer.write(into) : llvm::Error::success();
}

/// Of the arena: the step and the evaluation never run at the same time.
static size_t getArenaBytes(const ::remat::TrainDescription &description) {
  size_t bytes = 0;
  for (const ::remat::TrainArgument &argument : description.arguments)
    if (argument.role == Role::arena)
      bytes = std::max(bytes, argument.type.numBytes());
  return bytes;
}

void Step::announce(bool hasStates, StepBuffer *otherArena) {
  if (!device)
    return;
  size_t bytes = getArenaBytes(description);
  if (otherArena && otherArena->getNumBytes() >= bytes)
    bytes = 0;
  for (const ::remat::TrainArgument &argument : description.arguments) {
    if (argument.role == Role::arena || argument.isOnHost ||
        (hasStates && argument.isSaved()))
      continue;
    bool isData = classOf(argument.role) == ::remat::MemoryClass::data;
    bytes +=
        argument.type.numBytes() * (isData ? device->get().getDataSlots() : 1);
  }
  device->get().announce(bytes);
}

llvm::Expected<std::shared_ptr<StepBuffer>>
Step::findArena(std::shared_ptr<StepBuffer> otherArena) {
  size_t bytes = getArenaBytes(description);
  if (otherArena && otherArena->getNumBytes() >= bytes)
    return otherArena;
  return StepBuffer::allocate(device, ::remat::MemoryClass::arena, bytes,
                              "the step's arena");
}

llvm::Error Step::allocate(
    std::string text, Step *other,
    function_ref<bool(size_t argument, void *into, size_t numBytes)> getValue) {
  descriptionText = std::move(text);
  description = ::remat::TrainDescription::parse(descriptionText);
  // Its arena may be replaced, which no thread is to use then.
  std::optional<RunningStep> running;
  if (other) {
    running.emplace(*other->progression);
    if (StringRef obstacle = running->getObstacle(); !obstacle.empty())
      return llvm::createStringError(obstacle);
    progression = other->progression;
  }
  OtherStates states(other);
  announce(bool(states), states.getArena().get());
  auto arena = findArena(states.getArena());
  if (!arena)
    return arena.takeError();
  for (auto [i, argument] : llvm::enumerate(description.arguments)) {
    buffers.push_back(argument.role == Role::arena ? *arena : nullptr);
    if (argument.role == Role::data)
      data.push_back(i);
    else if (argument.role == Role::evalData)
      evaluationData.push_back(i);
    bool isOnDevice = device && !argument.isOnHost;
    if (buffers[i] || (isPassed(i) && !isOnDevice))
      continue;
    bool isShared = states && argument.isSaved();
    auto buffer = isShared ? states.take(argument)
                           : StepBuffer::allocate(isOnDevice ? device : nullptr,
                                                  classOf(argument.role),
                                                  argument.type.numBytes(),
                                                  "'" + getName(i) + "'");
    if (!buffer)
      return buffer.takeError();
    buffers[i] = std::move(*buffer);
    if (isShared && argument.isFromProgram()) {
      // The values come in order.
      getValue(i, nullptr, argument.type.numBytes());
      hasOtherValues = true;
    }
    if (isShared || isPassed(i))
      continue;
    if (llvm::Error error =
            setInitialValue(description, i, *buffers[i], getValue))
      return error;
  }
  if (llvm::Error error = states.finish())
    return error;
  if (other && *arena != states.getArena())
    other->setArena(*arena);
  return llvm::Error::success();
}
