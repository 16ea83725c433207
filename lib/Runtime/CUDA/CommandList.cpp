//===- CommandList.cpp - Work that is not on the stream yet ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandList.h"

#include <algorithm>

using namespace remat;
using namespace remat::cuda;

bool LaunchShape::operator==(const LaunchShape &other) const {
  return std::equal(grid, grid + 3, other.grid) &&
         std::equal(block, block + 3, other.block) &&
         sharedBytes == other.sharedBytes;
}

bool CommandList::Command::operator==(const Command &other) const {
  return kind == other.kind && numWords == other.numWords &&
         object == other.object && shape == other.shape;
}

bool CommandList::operator==(const CommandList &other) const {
  return commands == other.commands && words == other.words;
}

void CommandList::clear() {
  commands.clear();
  words.clear();
  places.clear();
  launches = libraryCalls = 0;
}

void CommandList::append(Command::Kind kind, const void *object,
                         const LaunchShape &shape, const uint64_t *operands,
                         int64_t numOperands, const char *where) {
  commands.push_back({kind, static_cast<uint32_t>(numOperands), object, shape});
  words.insert(words.end(), operands, operands + numOperands);
  places.push_back(where);
}

void CommandList::launch(const Kernel &kernel, const LaunchShape &shape,
                         const uint64_t *arguments, int64_t numArguments,
                         const char *where) {
  append(Command::kLaunch, &kernel, shape, arguments, numArguments, where);
  ++launches;
}

void CommandList::copy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  uint64_t operands[] = {to, from, bytes};
  append(Command::kCopy, nullptr, {}, operands, 3, nullptr);
}

void CommandList::fill(CUdeviceptr to, uint8_t value, size_t bytes) {
  uint64_t operands[] = {to, value, bytes};
  append(Command::kFill, nullptr, {}, operands, 3, nullptr);
}

void CommandList::call(const LibraryCall &library, const uint64_t *operands,
                       int64_t numOperands) {
  append(Command::kCall, &library, {}, operands, numOperands, nullptr);
  ++libraryCalls;
}

static void issueLaunch(const Driver &driver, CUstream stream,
                        const Kernel &kernel, const LaunchShape &shape,
                        const uint64_t *words, size_t numWords,
                        const char *where) {
  std::vector<void *> arguments(numWords);
  for (size_t i = 0; i < numWords; ++i)
    arguments[i] = const_cast<uint64_t *>(words + i);
  CUresult result = driver.cuLaunchKernel(
      kernel.function, shape.grid[0], shape.grid[1], shape.grid[2],
      shape.block[0], shape.block[1], shape.block[2], shape.sharedBytes, stream,
      arguments.data(), nullptr);
  if (result != CUDA_SUCCESS)
    driver.fail(result, "cuLaunchKernel", describeKernel(kernel.name, where));
}

static void waitFor(const Driver &driver, CUstream stream,
                    const std::string &context) {
  CUresult result = driver.cuStreamSynchronize(stream);
  if (result != CUDA_SUCCESS)
    driver.fail(result, "cuStreamSynchronize", context);
}

std::string CommandList::describe(size_t index) const {
  const Command &command = commands[index];
  switch (command.kind) {
  case Command::kLaunch:
    return describeKernel(static_cast<const Kernel *>(command.object)->name,
                          places[index]);
  case Command::kCall:
    return " for " +
           static_cast<const LibraryCall *>(command.object)->describe();
  case Command::kCopy:
  case Command::kFill:
    return " for a copy";
  }
  return "";
}

void CommandList::issue(const Driver &driver, CUstream stream,
                        bool waitsForEach) const {
  const uint64_t *operands = words.data();
  for (size_t i = 0; i < commands.size(); ++i) {
    const Command &command = commands[i];
    switch (command.kind) {
    case Command::kLaunch:
      issueLaunch(driver, stream, *static_cast<const Kernel *>(command.object),
                  command.shape, operands, command.numWords, places[i]);
      break;
    case Command::kCopy:
      driver.check(driver.cuMemcpyDtoDAsync_v2(operands[0], operands[1],
                                               operands[2], stream),
                   "cuMemcpyDtoDAsync");
      break;
    case Command::kFill:
      driver.check(driver.cuMemsetD8Async(operands[0],
                                          static_cast<uint8_t>(operands[1]),
                                          operands[2], stream),
                   "cuMemsetD8Async");
      break;
    case Command::kCall:
      static_cast<const LibraryCall *>(command.object)->issue(stream, operands);
      break;
    }
    operands += command.numWords;
    if (waitsForEach)
      waitFor(driver, stream, describe(i));
  }
}
