//===- KernelDump.cpp - Files with the code of kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest is what a plan is compared with: registers, workgroup memory,
// spills and stack of each kernel on each chip.
//===----------------------------------------------------------------------===//

#include "KernelDump.h"

#include "KernelResources.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Writes into a folder.
class Dump {
public:
  Dump(ModuleOp module, StringRef folder) : module(module), folder(folder) {}

  LogicalResult write(const Twine &name, StringRef contents) {
    std::error_code error = llvm::sys::fs::create_directories(folder);
    SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (!error) {
      llvm::raw_fd_ostream stream(path, error);
      stream << contents;
      stream.close();
      if (stream.has_error())
        error = stream.error();
      stream.clear_error();
    }
    if (error)
      return module.emitError()
             << "cannot write " << path.str() << ": " << error.message();
    return success();
  }

  LogicalResult write(const DeviceModule &device) {
    StringRef name = device.op.getName();
    for (const ChipCode &code : device.chips) {
      std::string stem = (name + "." + code.chip).str();
      if (failed(write(stem + ".ptx", code.ptx)) ||
          failed(write(stem + ".cubin", code.cubin.contents)) ||
          failed(write(stem + ".log", removeTimes(code.cubin.log))))
        return failure();
    }
    std::string ir;
    llvm::raw_string_ostream stream(ir);
    device.op->print(stream, OpPrintingFlags().useLocalScope());
    stream << '\n';
    return success(succeeded(write(name + ".mlir", ir)) &&
                   succeeded(write(name + ".fatbin", device.image)));
  }

  LogicalResult writeManifest(ArrayRef<DeviceModule> devices,
                              StringRef version);

private:
  /// Two runs write the same files.
  static std::string removeTimes(StringRef log) {
    std::string lines;
    for (StringRef line : llvm::split(log.rtrim(), '\n'))
      if (!line.contains("Compile time"))
        lines += (line + "\n").str();
    return lines;
  }

  ModuleOp module;
  StringRef folder;
};

} // namespace

/// Resources of a kernel, by name.
using ResourceTable = llvm::StringMap<KernelResources>;

static ResourceTable getResources(const ChipCode &code) {
  ResourceTable table;
  for (KernelResources &resources : parseKernelResources(code.cubin.log))
    table[resources.kernel] = resources;
  return table;
}

static void printDevice(llvm::json::OStream &json, const DeviceModule &device) {
  auto tables = llvm::map_to_vector(device.chips, getResources);
  json.attribute("name", device.op.getName());
  json.attribute("image_bytes", int64_t(device.image.size()));
  json.attribute("ptx", getNewest(device.chips));
  json.attributeArray("chips", [&] {
    for (const ChipCode &code : device.chips)
      json.value(code.chip);
  });
  auto printChips = [&](StringRef kernel) {
    for (auto [code, table] : llvm::zip(device.chips, tables))
      if (auto found = table.find(kernel); found != table.end())
        json.attributeObject(code.chip, [&, &entry = *found] {
          printKernelResources(json, entry.second);
        });
  };
  json.attributeArray("kernels", [&] {
    for (Operation *kernel : getKernels(device.op))
      json.object([&] {
        StringRef name = SymbolTable::getSymbolName(kernel);
        json.attribute("name", name);
        json.attributeObject("chips", [&] { printChips(name); });
      });
  });
}

LogicalResult Dump::writeManifest(ArrayRef<DeviceModule> devices,
                                  StringRef version) {
  std::string manifest;
  llvm::raw_string_ostream stream(manifest);
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("ptxas", version);
    json.attributeArray("modules", [&] {
      for (const DeviceModule &device : devices)
        json.object([&] { printDevice(json, device); });
    });
  });
  stream << '\n';
  return write("manifest.json", manifest);
}

LogicalResult mlir::remat::dumpKernels(ModuleOp module, StringRef folder,
                                       ArrayRef<DeviceModule> devices,
                                       StringRef version) {
  Dump dump(module, folder);
  for (const DeviceModule &device : devices)
    if (failed(dump.write(device)))
      return failure();
  return dump.writeManifest(devices, version);
}
