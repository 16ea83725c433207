//===- KernelResources.cpp - What ptxas says of kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Its words have not changed since CUDA 5, but are documented nowhere:
//
//   ptxas info    : Compiling entry function 'k' for 'sm_90'
//   ptxas info    : Function properties for k
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 22 registers, used 1 barriers, 1024 bytes smem
//===----------------------------------------------------------------------===//

#include "KernelResources.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace mlir::remat;

/// The number in front of `words`, 0 if they are not there.
static int64_t getNumberBefore(StringRef line, StringRef words) {
  auto [before, after] = line.split(words);
  int64_t number = 0;
  if (before.size() != line.size())
    before.rtrim()
        .take_back(before.rtrim().size() -
                   (before.rtrim().find_last_not_of("0123456789") + 1))
        .getAsInteger(10, number);
  return number;
}

/// The text between quotes after `words`, or nothing.
static StringRef getQuotedAfter(StringRef line, StringRef words) {
  return line.split((words + " '").str()).second.split('\'').first;
}

SmallVector<KernelResources> mlir::remat::parseKernelResources(StringRef log) {
  SmallVector<KernelResources> kernels;
  StringRef function;
  for (StringRef line : llvm::split(log, '\n')) {
    if (StringRef kernel = getQuotedAfter(line, "Compiling entry function");
        !kernel.empty())
      kernels.emplace_back().kernel = kernel.str();
    if (line.contains("Function properties for "))
      function = line.split("Function properties for ").second.trim();
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    // A function that was not inlined has a line of its own.
    if (line.contains("bytes stack frame")) {
      kernel.stack += getNumberBefore(line, " bytes stack frame");
      kernel.spillStores += getNumberBefore(line, " bytes spill stores");
      kernel.spillLoads += getNumberBefore(line, " bytes spill loads");
    }
    if (line.contains(": Used ") && function == kernel.kernel) {
      kernel.registers = getNumberBefore(line, " registers");
      kernel.workgroup = getNumberBefore(line, " bytes smem");
    }
  }
  return kernels;
}

void mlir::remat::printKernelResources(json::OStream &json,
                                       const KernelResources &resources) {
  json.attribute("registers", resources.registers);
  json.attribute("workgroup_bytes", resources.workgroup);
  json.attribute("spill_store_bytes", resources.spillStores);
  json.attribute("spill_load_bytes", resources.spillLoads);
  json.attribute("stack_bytes", resources.stack);
}

/// The kernel whose body has line `number` of `ptx`, counted from 1.
static StringRef getKernelAtLine(StringRef ptx, unsigned number) {
  StringRef kernel;
  for (StringRef line : llvm::split(ptx, '\n')) {
    if (line.contains(".entry "))
      kernel = line.split(".entry ").second.take_until(
          [](char c) { return c == '(' || isSpace(c); });
    else if (line.starts_with(".func ") || line.contains(" .func "))
      kernel = {};
    if (--number == 0)
      break;
  }
  return kernel;
}

SmallVector<AssemblerError> mlir::remat::parseAssemblerErrors(StringRef log,
                                                              StringRef ptx) {
  SmallVector<AssemblerError> errors;
  for (StringRef line : llvm::split(log, '\n')) {
    // "ptxas FILE, line 22; error   : ...", "ptxas fatal   : ..."
    if (!line.contains("error ") && !line.contains("fatal "))
      continue;
    auto [head, message] = line.split(" : ");
    if (message.empty() || message.starts_with("Ptx assembly aborted"))
      continue;
    AssemblerError error;
    error.message = message.trim().str();
    error.kernel = getQuotedAfter(message, "Entry function");
    unsigned number;
    if (!head.split(", line ").second.split(';').first.getAsInteger(10, number))
      error.kernel = getKernelAtLine(ptx, number);
    errors.push_back(std::move(error));
  }
  if (errors.empty())
    errors.push_back({{}, log.trim().str()});
  return errors;
}
