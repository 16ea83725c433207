//===- KernelImage.cpp - The table of a module's kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of `remat/CUDA/EmulatedImage.h` as a constant of LLVM's dialect.
//===----------------------------------------------------------------------===//

#include "KernelImage.h"
#include "EmulatorCalls.h"
#include "remat/CUDA/EmulatedImage.h"
#include "remat/Emulator/Thread.h"

#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace mlir;
using namespace mlir::remat::emulator;
using namespace ::remat::cuda;

static_assert(sizeof(EmulatedKernel) == 64 && sizeof(EmulatedArgument) == 24 &&
                  sizeof(EmulatedImage) == 40,
              "the types below repeat these structures");

namespace {
class ImageBuilder {
public:
  ImageBuilder(Location loc, SymbolTable &symbols)
      : builder(loc.getContext()), loc(loc), symbols(symbols),
        pointer(LLVM::LLVMPointerType::get(loc.getContext())),
        i64(builder.getI64Type()), i32(builder.getI32Type()) {}

  LLVM::LLVMFuncOp createRun(HostKernel &kernel);
  LLVM::LLVMFuncOp createRunBlock(HostKernel &kernel);
  FailureOr<LLVM::GlobalOp> createArguments(HostKernel &kernel);
  LogicalResult createKernels(StringRef name,
                              MutableArrayRef<HostKernel> kernels);
  void createImage(StringRef name, size_t numKernels, bool isInstrumented);

private:
  /// A function of (arguments, thread), with its first block.
  LLVM::LLVMFuncOp createEntry(const Twine &name);
  SmallVector<Value> loadArguments(HostKernel &kernel, Block *entry);
  /// A constant of `type` whose initializer is open.
  LLVM::GlobalOp openConstant(StringRef name, Type type);
  Value createStruct(Type type, ValueRange values);
  Value number(int64_t value) { return createInteger(builder, loc, 64, value); }
  Value addressOf(Operation *symbol);

  OpBuilder builder;
  Location loc;
  SymbolTable &symbols;
  LLVM::LLVMPointerType pointer;
  Type i64, i32;
  LLVM::GlobalOp kernelTable;
};
} // namespace

//===----------------------------------------------------------------------===//
// Functions that unpack arguments
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp ImageBuilder::createEntry(const Twine &name) {
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), {pointer, pointer});
  builder.clearInsertionPoint();
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name.str(), type,
                                           LLVM::Linkage::Internal);
  symbols.insert(function);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  return function;
}

SmallVector<Value> ImageBuilder::loadArguments(HostKernel &kernel,
                                               Block *entry) {
  SmallVector<Value> values;
  ArrayRef<Type> types = kernel.function.getFunctionType().getParams();
  for (auto [index, type] : llvm::enumerate(types.drop_back())) {
    Value slot = createOffset(builder, loc, entry->getArgument(0),
                              index * sizeof(void *));
    Value address = LLVM::LoadOp::create(builder, loc, pointer, slot);
    values.push_back(LLVM::LoadOp::create(builder, loc, type, address));
  }
  values.push_back(entry->getArgument(1));
  return values;
}

LLVM::LLVMFuncOp ImageBuilder::createRun(HostKernel &kernel) {
  LLVM::LLVMFuncOp run = createEntry(kernel.function.getName() + "_run");
  LLVM::CallOp::create(builder, loc, kernel.function,
                       loadArguments(kernel, &run.getBody().front()));
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return run;
}

/// One loop over x, y and z, so that the kernel can be inlined into it.
LLVM::LLVMFuncOp ImageBuilder::createRunBlock(HostKernel &kernel) {
  LLVM::LLVMFuncOp run = createEntry(kernel.function.getName() + "_run_block");
  Block *entry = &run.getBody().front();
  Value thread = entry->getArgument(1);
  SmallVector<Value> arguments = loadArguments(kernel, entry);
  auto field = [&](size_t array, size_t dim) {
    return createOffset(builder, loc, thread, array + dim * sizeof(uint32_t));
  };
  SmallVector<Value> sizes;
  for (size_t dim = 0; dim < 3; ++dim)
    sizes.push_back(LLVM::LoadOp::create(
        builder, loc, i32, field(offsetof(EmulatedThread, blockSize), dim)));
  Value zero = createInteger(builder, loc, 32, 0);
  Value one = createInteger(builder, loc, 32, 1);

  Block *body =
      builder.createBlock(&run.getBody(), {}, {i32, i32, i32}, {loc, loc, loc});
  Block *exit = builder.createBlock(&run.getBody());
  builder.setInsertionPointToEnd(entry);
  LLVM::BrOp::create(builder, loc, ValueRange{zero, zero, zero}, body);
  builder.setInsertionPointToEnd(body);
  for (size_t dim = 0; dim < 3; ++dim)
    LLVM::StoreOp::create(builder, loc, body->getArgument(dim),
                          field(offsetof(EmulatedThread, threadIndex), dim));
  LLVM::CallOp::create(builder, loc, kernel.function, arguments);
  SmallVector<Value> next;
  Value carry = one;
  for (size_t dim = 0; dim < 3; ++dim) {
    Value sum =
        LLVM::AddOp::create(builder, loc, body->getArgument(dim), carry);
    Value isEnd = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                       sum, sizes[dim]);
    next.push_back(LLVM::SelectOp::create(builder, loc, isEnd, zero, sum));
    carry = LLVM::ZExtOp::create(builder, loc, i32, isEnd);
  }
  Value isDone =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, carry, one);
  LLVM::CondBrOp::create(builder, loc, isDone, exit, ValueRange(), body, next);
  builder.setInsertionPointToEnd(exit);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return run;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static FailureOr<EmulatedAccess> parseAccess(Location loc, StringAttr access) {
  if (!access)
    return EmulatedAccess::unknown;
  if (access == "read")
    return EmulatedAccess::read;
  if (access == "write")
    return EmulatedAccess::write;
  if (access == "read_write")
    return EmulatedAccess::readWrite;
  emitError(loc) << "'remat.access' must be \"read\", \"write\" or "
                    "\"read_write\", but is "
                 << access;
  return failure();
}

/// Size, access and bytes of each argument, as the numbers that they are.
FailureOr<LLVM::GlobalOp> ImageBuilder::createArguments(HostKernel &kernel) {
  DataLayout layout = DataLayout::closest(kernel.function);
  ArrayRef<Type> types =
      kernel.function.getFunctionType().getParams().drop_back();
  SmallVector<int64_t> fields;
  for (auto [type, argument] : llvm::zip_equal(types, kernel.arguments)) {
    FailureOr<EmulatedAccess> access =
        parseAccess(kernel.function.getLoc(), argument.access);
    if (failed(access))
      return failure();
    fields.push_back(layout.getTypeSize(type).getFixedValue());
    fields.push_back(static_cast<int64_t>(*access));
    fields.push_back(argument.bytes ? argument.bytes.getInt() : -1);
  }
  if (fields.empty())
    return LLVM::GlobalOp();
  return createConstant(loc, symbols,
                        (kernel.function.getName() + "_arguments").str(),
                        LLVM::LLVMArrayType::get(i64, fields.size()),
                        builder.getI64TensorAttr(fields));
}

LLVM::GlobalOp ImageBuilder::openConstant(StringRef name, Type type) {
  LLVM::GlobalOp global = createConstant(loc, symbols, name, type, Attribute());
  builder.createBlock(&global.getInitializerRegion());
  return global;
}

Value ImageBuilder::addressOf(Operation *symbol) {
  return LLVM::AddressOfOp::create(builder, loc, pointer,
                                   SymbolTable::getSymbolName(symbol));
}

Value ImageBuilder::createStruct(Type type, ValueRange values) {
  Value result = LLVM::UndefOp::create(builder, loc, type);
  for (auto [index, value] : llvm::enumerate(values))
    result = LLVM::InsertValueOp::create(builder, loc, result, value, index);
  return result;
}

LogicalResult ImageBuilder::createKernels(StringRef name,
                                          MutableArrayRef<HostKernel> kernels) {
  struct Symbols {
    Operation *name, *run, *runBlock, *arguments;
  };
  SmallVector<Symbols> entries;
  for (HostKernel &kernel : kernels) {
    FailureOr<LLVM::GlobalOp> arguments = createArguments(kernel);
    if (failed(arguments))
      return failure();
    Symbols entry;
    entry.name = createText(
        loc, symbols, (kernel.function.getName() + "_name").str(), kernel.name);
    entry.run = createRun(kernel);
    entry.runBlock = kernel.isCooperative ? nullptr : createRunBlock(kernel);
    entry.arguments = *arguments;
    entries.push_back(entry);
  }
  auto entryType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(),
      {pointer, pointer, pointer, i64, pointer, i64, i64, i64});
  auto tableType = LLVM::LLVMArrayType::get(entryType, kernels.size());
  kernelTable = openConstant((name + "_kernels").str(), tableType);
  Value null = LLVM::ZeroOp::create(builder, loc, pointer);
  SmallVector<Value> values;
  for (auto [kernel, entry] : llvm::zip_equal(kernels, entries))
    values.push_back(createStruct(
        entryType, {addressOf(entry.name), addressOf(entry.run),
                    entry.runBlock ? addressOf(entry.runBlock) : null,
                    number(kernel.arguments.size()),
                    entry.arguments ? addressOf(entry.arguments) : null,
                    number(kernel.isCooperative), number(kernel.sharedBytes),
                    number(kernel.maxThreads)}));
  LLVM::ReturnOp::create(builder, loc, createStruct(tableType, values));
  return success();
}

void ImageBuilder::createImage(StringRef name, size_t numKernels,
                               bool isInstrumented) {
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {i64, i64, i64, pointer, i64});
  openConstant(name, type);
  Value image =
      createStruct(type, {number(static_cast<int64_t>(kEmulatedImageMagic)),
                          number(kEmulatedImageVersion), number(numKernels),
                          addressOf(kernelTable), number(isInstrumented)});
  LLVM::ReturnOp::create(builder, loc, image);
}

/// The host's code may refer to the image before it is made.
static bool isDeclaration(Operation *symbol) {
  auto global = dyn_cast<LLVM::GlobalOp>(symbol);
  return global && !global.getValueAttr() && !global.getInitializerBlock() &&
         global.getLinkage() == LLVM::Linkage::External;
}

LogicalResult
mlir::remat::emulator::createImage(Location loc, StringRef name,
                                   MutableArrayRef<HostKernel> kernels,
                                   bool isInstrumented, SymbolTable &symbols) {
  if (Operation *other = symbols.lookup(name)) {
    if (!isDeclaration(other))
      return other->emitError("the image of emulated kernels needs the name '")
             << name << "'";
    symbols.erase(other);
  }
  ImageBuilder builder(loc, symbols);
  if (failed(builder.createKernels(name, kernels)))
    return failure();
  builder.createImage(name, kernels.size(), isInstrumented);
  return success();
}
