//===- PrintLaunches.cpp - What a function does on the device -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches and bytes are known when a program is compiled: they need no GPU to
// be counted on.
//===----------------------------------------------------------------------===//

#include "DevicePointers.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PRINTLAUNCHES
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// How often the loops around `op` run it.
static std::optional<int64_t> countTimes(Operation *op) {
  int64_t times = 1;
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    if (isa<scf::IfOp>(parent))
      continue;
    auto loop = dyn_cast<scf::ForOp>(parent);
    std::optional<APInt> trips =
        loop ? loop.getStaticTripCount() : std::nullopt;
    if (!trips)
      return std::nullopt;
    times *= trips->getSExtValue();
  }
  return times;
}

/// Elements of a memref, those that strides of 0 repeat once. An operand of a
/// call is a `memref.reinterpret_cast` with constant sizes.
static std::optional<int64_t> countElements(Value memref) {
  while (auto cast = memref.getDefiningOp<memref::CastOp>())
    memref = cast.getSource();
  SmallVector<OpFoldResult> sizes, strides;
  if (auto view = memref.getDefiningOp<memref::ReinterpretCastOp>()) {
    sizes = view.getConstifiedMixedSizes();
    strides = view.getConstifiedMixedStrides();
  } else {
    auto type = cast<MemRefType>(memref.getType());
    Builder builder(memref.getContext());
    for (int64_t size : type.getShape())
      sizes.push_back(ShapedType::isDynamic(size) ? OpFoldResult(memref)
                                                  : builder.getIndexAttr(size));
    strides.assign(sizes.size(), builder.getIndexAttr(1));
  }
  int64_t count = 1;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides)) {
    std::optional<int64_t> constant = getConstantIntValue(size);
    if (!constant)
      return std::nullopt;
    if (!isConstantIntValue(stride, 0))
      count *= *constant;
  }
  return count;
}

static std::optional<int64_t> countBytes(Value memref) {
  std::optional<int64_t> elements = countElements(memref);
  if (!elements)
    return std::nullopt;
  return *elements *
         getBytesInMemory(cast<MemRefType>(memref.getType()).getElementType());
}

static std::optional<int64_t> multiply(std::optional<int64_t> a,
                                       std::optional<int64_t> b) {
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {

class Printer {
public:
  Printer(llvm::json::OStream &json, ModuleOp module)
      : json(json), module(module), symbols(module) {}

  void print(func::FuncOp function) {
    json.object([&] {
      json.attribute("function", function.getName());
      int64_t kernels = 0;
      module.walk([&](gpu::GPUFuncOp) { ++kernels; });
      json.attribute("kernels", kernels);
      json.attributeArray("launches", [&] { printBody(function); });
    });
  }

private:
  void printBody(func::FuncOp function);
  void printOperation(Operation *op);
  void printKernel(gpu::LaunchFuncOp launch);
  /// An entry for a call or operation on memory.
  void printLibrary(Operation *op, StringRef kind, StringRef name,
                    unsigned output, bool accumulates);
  void printHead(Operation *op, StringRef kind, StringRef name);
  void printNumber(StringRef name, std::optional<int64_t> number) {
    json.attribute(name, number ? llvm::json::Value(*number) : nullptr);
  }

  llvm::json::OStream &json;
  ModuleOp module;
  SymbolTable symbols;
  /// How often the function runs in which operations are printed.
  std::optional<int64_t> runs = 1;
};

} // namespace

void Printer::printHead(Operation *op, StringRef kind, StringRef name) {
  json.attribute("kind", kind);
  json.attribute("name", name);
  std::string location;
  llvm::raw_string_ostream(location) << op->getLoc();
  json.attribute("location", location);
  json.attribute("phase", getPhase(op));
  printNumber("times", multiply(countTimes(op), runs));
}

void Printer::printBody(func::FuncOp function) {
  function.walk([&](Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    auto callee =
        call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
    if (!callee || callee.isExternal())
      return printOperation(op);
    std::optional<int64_t> around = runs;
    runs = multiply(countTimes(op), around);
    printBody(callee);
    runs = around;
  });
}

void Printer::printKernel(gpu::LaunchFuncOp launch) {
  Operation *kernel = module.lookupSymbol(launch.getKernel());
  auto function = cast<gpu::GPUFuncOp>(kernel);
  auto size = [](Value number) { return getConstantIntValue(number); };
  std::optional<int64_t> blocks = size(launch.getGridSizeX()),
                         block = size(launch.getBlockSizeX());
  printHead(launch, "kernel", launch.getKernelName());
  json.attributeArray("arguments", [&] {
    llvm::SmallSetVector<std::pair<Value, Attribute>, 8> seen;
    for (auto [i, value] : llvm::enumerate(launch.getKernelOperands())) {
      auto access = function.getArgAttrOfType<StringAttr>(i, "remat.access");
      if (!access || !seen.insert({value, access}))
        continue;
      auto bytes = function.getArgAttrOfType<IntegerAttr>(i, "remat.bytes");
      auto traffic =
          function.getArgAttrOfType<DenseI64ArrayAttr>(i, "remat.traffic");
      std::optional<int64_t> least, accessed, moved;
      if (traffic) {
        least = traffic[0];
        if (traffic[1] >= 0)
          accessed = traffic[1];
        moved = traffic[2];
      } else if (bytes) {
        least = moved = bytes.getInt();
        // Every thread loads the scalars first.
        if (getStepScalar(value) && blocks && block)
          accessed = *blocks * *block * bytes.getInt();
      }
      json.object([&] {
        json.attribute("access", access.getValue());
        printNumber("bytes", least);
        printNumber("accessed", accessed);
        printNumber("moved", moved);
      });
    }
  });
}

void Printer::printLibrary(Operation *op, StringRef kind, StringRef name,
                           unsigned output, bool accumulates) {
  printHead(op, kind, name);
  SmallVector<Value> memrefs;
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()))
      memrefs.push_back(operand);
  json.attributeArray("arguments", [&] {
    for (auto [i, memref] : llvm::enumerate(memrefs))
      json.object([&, i = i, memref = memref] {
        // All that follows the three operands is workspace.
        json.attribute("access", i > 2         ? "workspace"
                                 : i != output ? "read"
                                 : accumulates ? "read_write"
                                               : "write");
        printNumber("bytes", countBytes(memref));
      });
  });
}

void Printer::printOperation(Operation *op) {
  if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
    return json.object([&] { printKernel(launch); });
  if (auto call = dyn_cast<func::CallOp>(op)) {
    StringRef callee = call.getCallee();
    bool isConvolution = callee.starts_with("remat_cudnn_conv");
    if (!isConvolution && !callee.starts_with("remat_gemm"))
      return;
    // Calls of cuDNN take images, filters and results in this order.
    unsigned output = !isConvolution                       ? 2
                      : callee.contains("backward_data")   ? 0
                      : callee.contains("backward_filter") ? 1
                                                           : 2;
    auto flag = llvm::find_if(call.getOperands(), [](Value operand) {
      return operand.getType().isInteger(64);
    });
    bool accumulates = !isConvolution && !isConstantIntValue(*flag, 0);
    return json.object([&] {
      printLibrary(op, isConvolution ? "convolution" : "product", callee,
                   output, accumulates);
    });
  }
  if (op->getName().getStringRef().starts_with("remat.conv"))
    json.object([&] {
      printLibrary(op, "convolution", op->getName().stripDialect(),
                   /*output=*/2, /*accumulates=*/false);
    });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct PrintLaunches : remat::impl::PrintLaunchesBase<PrintLaunches> {
  using PrintLaunchesBase::PrintLaunchesBase;

  void runOnOperation() override {
    auto found = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!found || found.isExternal()) {
      getOperation().emitError("no function '") << function << "' to print";
      return signalPassFailure();
    }
    std::string message;
    auto file = openOutputFile(output, &message);
    if (!file) {
      getOperation().emitError("launches: ") << message;
      return signalPassFailure();
    }
    llvm::json::OStream json(file->os(), /*IndentSize=*/1);
    Printer(json, getOperation()).print(found);
    file->os() << '\n';
    file->keep();
    markAllAnalysesPreserved();
  }
};
} // namespace
