//===- PassBarePointers.cpp - Calls without descriptors -------------------===//
//
// A memref of rank r is 3 + 2r arguments of a call in LLVM. A step of many
// layers takes thousands of memrefs and makes thousands of calls, whose sizes
// and strides are all known: lowering them takes time that grows with the
// square of the arguments, and LLVM compiles code that only moves constants.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PASSBAREPOINTERS
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

/// What upstream's lowering of functions reads; it has no name in a header.
static constexpr llvm::StringLiteral kBarePointers = "llvm.bareptr";

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool hasCInterface(func::FuncOp function) {
  return function->hasAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
}

/// Whether a pointer says all about every memref that `function` takes. Types
/// that LLVM does not have (tensors) are left to the conversion, to complain.
static bool canTakeBarePointers(func::FuncOp function,
                                const LLVMTypeConverter &converter) {
  auto isScalar = [&](Type type) {
    return !isa<BaseMemRefType>(type) && converter.convertType(type);
  };
  return !function.isExternal() &&
         llvm::all_of(function.getResultTypes(), isScalar) &&
         llvm::all_of(function.getArgumentTypes(), [&](Type type) {
           auto memref = dyn_cast<BaseMemRefType>(type);
           return memref ? LLVMTypeConverter::canConvertToBarePtr(memref)
                         : isScalar(type);
         });
}

static bool isOnlyCalled(func::FuncOp function, SymbolUserMap &users) {
  return llvm::all_of(users.getUsers(function), llvm::IsaPred<func::CallOp>);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// A value of the type that LLVM has for it.
static Value cast(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return UnrealizedConversionCastOp::create(builder, loc, type, value)
      .getResult(0);
}

/// Adds what `llvm.emit_c_interface` would add: memrefs are pointers to their
/// descriptors, several results go to memory at a pointer that comes first.
static void addCInterface(func::FuncOp function,
                          const LLVMTypeConverter &converter) {
  OpBuilder builder(function->getContext());
  builder.setInsertionPointAfter(function);
  Location loc = function.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Type> inputs, outputs;
  for (Type type : function.getResultTypes())
    outputs.push_back(converter.convertType(type));
  bool returnsInMemory = outputs.size() > 1;
  if (returnsInMemory)
    inputs.push_back(pointer);
  for (Type type : function.getArgumentTypes())
    inputs.push_back(isa<MemRefType>(type) ? pointer
                                           : converter.convertType(type));
  auto wrapper = func::FuncOp::create(
      builder, loc, ("_mlir_ciface_" + function.getName()).str(),
      builder.getFunctionType(inputs, returnsInMemory ? TypeRange()
                                                      : TypeRange(outputs)));
  Block *entry = wrapper.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  SmallVector<Value> arguments;
  for (auto [type, argument] :
       llvm::zip_equal(function.getArgumentTypes(),
                       entry->getArguments().drop_front(returnsInMemory))) {
    Value value = argument;
    if (isa<MemRefType>(type))
      value = LLVM::LoadOp::create(builder, loc, converter.convertType(type),
                                   value);
    arguments.push_back(cast(builder, loc, value, type));
  }
  auto call = func::CallOp::create(builder, loc, function, arguments);
  SmallVector<Value> results;
  for (auto [result, type] : llvm::zip_equal(call.getResults(), outputs))
    results.push_back(cast(builder, loc, result, type));
  if (returnsInMemory) {
    auto all = LLVM::LLVMStructType::getLiteral(builder.getContext(), outputs);
    for (auto [index, result] : llvm::enumerate(results)) {
      Value address = LLVM::GEPOp::create(
          builder, loc, pointer, all, entry->getArgument(0),
          ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(index)});
      LLVM::StoreOp::create(builder, loc, result, address);
    }
    results.clear();
  }
  func::ReturnOp::create(builder, loc, results);
}

namespace {
struct PassBarePointers
    : mlir::remat::impl::PassBarePointersBase<PassBarePointers> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTableCollection symbols;
    SymbolUserMap users(symbols, module);
    LLVMTypeConverter converter(&getContext());
    bool isProgram = module.lookupSymbol<func::FuncOp>("main") != nullptr;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      bool isHidden = isProgram || function.isPrivate();
      if (!canTakeBarePointers(function, converter) ||
          !isOnlyCalled(function, users) ||
          (!isHidden && !hasCInterface(function)))
        continue;
      function->setAttr(kBarePointers, UnitAttr::get(&getContext()));
      if (!hasCInterface(function))
        continue;
      function->removeAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
      if (!isHidden)
        addCInterface(function, converter);
    }
  }
};
} // namespace
