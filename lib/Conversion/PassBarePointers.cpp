//===- PassBarePointers.cpp - Calls without descriptors -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A memref of rank r is 3 + 2r arguments of a call in LLVM. A step of many
// layers takes thousands of memrefs and makes thousands of calls, whose sizes
// and strides are all known: lowering them one descriptor after the other takes
// a hundred operations for each product, to be taken apart again, and LLVM
// compiles code that only moves constants.
//===----------------------------------------------------------------------===//

#include "TypeCasts.h"
#include "remat/Conversion/Passes.h"

#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PASSBAREPOINTERS
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool hasCInterface(func::FuncOp function) {
  return function->hasAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
}

/// Returns true if a pointer is enough for each memref that `function` takes.
/// The conversion reports types that LLVM does not have (tensors).
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

/// Returns true if `function` is declared only, and each memref that it takes
/// is a list of arguments for LLVM.
static bool takesDescriptors(func::FuncOp function,
                             const LLVMTypeConverter &converter) {
  return function.isExternal() && function.getNumResults() <= 1 &&
         llvm::none_of(function.getResultTypes(),
                       llvm::IsaPred<BaseMemRefType>) &&
         llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<MemRefType>) &&
         llvm::all_of(function.getArgumentTypes(), [&](Type type) {
           return !isa<UnrankedMemRefType>(type) && converter.convertType(type);
         });
}

static bool isOnlyCalled(func::FuncOp function, SymbolUserMap &users) {
  return llvm::all_of(users.getUsers(function), llvm::IsaPred<func::CallOp>);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {
/// The fields of a memref's descriptor, without the descriptor where the
/// operation that defines the memref gives them.
class DescriptorParts {
public:
  explicit DescriptorParts(const LLVMTypeConverter &converter)
      : converter(converter) {}

  /// The pointers of a descriptor.
  struct Pointers {
    Value allocated, aligned;
  };

  void setPointer(Value memref, Value pointer) {
    known[memref] = {pointer, pointer};
  }
  bool isKnown(Value memref) const { return known.contains(memref); }

  Pointers getPointers(OpBuilder &builder, Location loc, Value memref) {
    if (auto it = known.find(memref); it != known.end())
      return it->second;
    if (Value source = getReinterpreted(memref))
      return getPointers(builder, loc, source);
    auto view = memref.getDefiningOp<memref::ViewOp>();
    if (view && LLVMTypeConverter::canConvertToBarePtr(view.getType())) {
      // Where the view is: others may take it, too.
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(view);
      Pointers pointers = getPointers(builder, view.getLoc(), view.getSource());
      // A fold for each would have a call of thousands looked at again, whole.
      if (!isZeroInteger(view.getByteShift()))
        pointers.aligned = LLVM::GEPOp::create(
            builder, view.getLoc(), pointers.aligned.getType(),
            builder.getI8Type(), pointers.aligned,
            getIndex(builder, view.getLoc(), view.getByteShift()));
      known[memref] = pointers;
      return pointers;
    }
    MemRefDescriptor descriptor(getDescriptor(builder, loc, memref));
    return {descriptor.allocatedPtr(builder, loc),
            descriptor.alignedPtr(builder, loc)};
  }

  /// Appends everything that a descriptor of `memref` has in it.
  void unpack(OpBuilder &builder, Location loc, Value memref,
              SmallVectorImpl<Value> &parts) {
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<OpFoldResult> numbers;
    if (getReinterpreted(memref)) {
      auto op = memref.getDefiningOp<memref::ReinterpretCastOp>();
      numbers.push_back(op.getConstifiedMixedOffset());
      llvm::append_range(numbers, op.getConstifiedMixedSizes());
      llvm::append_range(numbers, op.getConstifiedMixedStrides());
    } else if (LLVMTypeConverter::canConvertToBarePtr(type)) {
      auto [strides, offset] = type.getStridesAndOffset();
      numbers.push_back(builder.getIndexAttr(offset));
      for (ArrayRef<int64_t> known : {type.getShape(), ArrayRef(strides)})
        for (int64_t number : known)
          numbers.push_back(builder.getIndexAttr(number));
    } else {
      MemRefDescriptor::unpack(
          builder, loc, getDescriptor(builder, loc, memref), type, parts);
      return;
    }
    Pointers pointers = getPointers(builder, loc, memref);
    parts.append({pointers.allocated, pointers.aligned});
    for (OpFoldResult number : numbers)
      if (auto attribute = dyn_cast<Attribute>(number))
        parts.push_back(getConstant(builder, loc, attribute));
      else
        parts.push_back(getIndex(builder, loc, cast<Value>(number)));
  }

private:
  /// Returns the source of a memref that only reinterprets its pointers.
  static Value getReinterpreted(Value memref) {
    auto op = memref.getDefiningOp<memref::ReinterpretCastOp>();
    return op && isa<MemRefType>(op.getSource().getType()) ? op.getSource()
                                                           : Value();
  }

  Value getDescriptor(OpBuilder &builder, Location loc, Value memref) {
    return castTo(builder, loc, memref,
                  converter.convertType(memref.getType()));
  }

  Value getIndex(OpBuilder &builder, Location loc, Value index) {
    APInt number;
    if (matchPattern(index, m_ConstantInt(&number)))
      return getConstant(builder, loc,
                         builder.getIndexAttr(number.getSExtValue()));
    return castTo(builder, loc, index, converter.getIndexType());
  }

  /// One constant for all that a function's calls pass.
  Value getConstant(OpBuilder &builder, Location loc, Attribute number) {
    auto function = builder.getInsertionBlock()
                        ->getParent()
                        ->getParentOfType<func::FuncOp>();
    Value &constant = constants[{function, number}];
    if (!constant) {
      OpBuilder entry = OpBuilder::atBlockBegin(&function.front());
      constant = LLVM::ConstantOp::create(entry, loc, converter.getIndexType(),
                                          cast<IntegerAttr>(number));
    }
    return constant;
  }

  const LLVMTypeConverter &converter;
  DenseMap<Value, Pointers> known;
  DenseMap<std::pair<Operation *, Attribute>, Value> constants;
};
} // namespace

static LLVM::LLVMStructType
getDescriptorType(Type memref, const LLVMTypeConverter &converter) {
  return cast<LLVM::LLVMStructType>(converter.convertType(memref));
}

/// Gives `function` a pointer for each memref that it takes, and its body a
/// cast for now.
static void takePointers(func::FuncOp function,
                         const LLVMTypeConverter &converter,
                         DescriptorParts &parts) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    argument.setType(getDescriptorType(type, converter).getBody()[0]);
    if (argument.use_empty())
      continue;
    auto memref = UnrealizedConversionCastOp::create(builder, argument.getLoc(),
                                                     type, ValueRange());
    argument.replaceAllUsesWith(memref.getResult(0));
    memref->setOperands(argument);
    parts.setPointer(memref.getResult(0), argument);
  }
  function.setFunctionType(builder.getFunctionType(
      function.front().getArgumentTypes(), function.getResultTypes()));
}

/// Makes a descriptor of the pointers of `op` if something still needs it.
static void resolve(Operation *op, const LLVMTypeConverter &converter,
                    DescriptorParts &parts) {
  Value memref = op->getResult(0);
  if (!memref.use_empty()) {
    OpBuilder builder(op);
    auto type = cast<MemRefType>(memref.getType());
    auto pointers = parts.getPointers(builder, op->getLoc(), memref);
    Value descriptor = MemRefDescriptor::fromStaticShape(
        builder, op->getLoc(), converter, type, pointers.allocated,
        pointers.aligned);
    memref.replaceAllUsesWith(castTo(builder, op->getLoc(), descriptor, type));
  }
  op->erase();
}

/// Declares `functions` as upstream does.
static LogicalResult declareInLLVM(ArrayRef<Operation *> functions,
                                   const LLVMTypeConverter &converter) {
  RewritePatternSet patterns(&converter.getContext());
  populateFuncToLLVMFuncOpConversionPattern(converter, patterns);
  ConversionTarget target(converter.getContext());
  target.addLegalDialect<LLVM::LLVMDialect>();
  target.addIllegalOp<func::FuncOp>();
  return applyPartialConversion(functions, target, std::move(patterns));
}

/// Passes pointers to a function that takes them now.
static void passPointers(func::CallOp call, DescriptorParts &parts) {
  OpBuilder builder(call);
  SmallVector<Value> operands;
  for (Value operand : call.getOperands())
    operands.push_back(
        isa<MemRefType>(operand.getType())
            ? parts.getPointers(builder, call.getLoc(), operand).aligned
            : operand);
  call->setOperands(operands);
}

/// Replaces a call of a function that is declared in LLVM.
static void passParts(func::CallOp call, const LLVMTypeConverter &converter,
                      DescriptorParts &parts) {
  OpBuilder builder(call);
  Location loc = call.getLoc();
  SmallVector<Value> operands;
  for (Value operand : call.getOperands())
    if (isa<MemRefType>(operand.getType()))
      parts.unpack(builder, loc, operand, operands);
    else
      operands.push_back(castTo(builder, loc, operand,
                                converter.convertType(operand.getType())));
  SmallVector<Type> results;
  for (Type type : call.getResultTypes())
    results.push_back(converter.convertType(type));
  auto lowered =
      LLVM::CallOp::create(builder, loc, results, call.getCallee(), operands);
  lowered->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  for (auto [old, now] :
       llvm::zip_equal(call.getResults(), lowered->getResults()))
    old.replaceAllUsesWith(castTo(builder, loc, now, old.getType()));
  call.erase();
}

/// Erases or resolves what calls took.
static void finish(ModuleOp module, const LLVMTypeConverter &converter,
                   DescriptorParts &parts) {
  SmallVector<Operation *> memrefs;
  module->walk([&](Operation *op) {
    if (isa<memref::ViewOp, memref::ReinterpretCastOp,
            UnrealizedConversionCastOp>(op))
      memrefs.push_back(op);
  });
  // Memrefs come after the memrefs that they are made of.
  for (Operation *op : llvm::reverse(memrefs))
    if (parts.isKnown(op->getResult(0)))
      resolve(op, converter, parts);
    else if (op->use_empty())
      op->erase();
}

/// Adds what `llvm.emit_c_interface` would add to a function that took
/// `takenTypes`: memrefs are pointers to their descriptors, several results go
/// to memory at a pointer that comes first.
static void addCInterface(func::FuncOp function, ArrayRef<Type> takenTypes,
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
  for (Type type : takenTypes)
    inputs.push_back(isa<MemRefType>(type) ? pointer
                                           : converter.convertType(type));
  auto wrapper = func::FuncOp::create(
      builder, loc, ("_mlir_ciface_" + function.getName()).str(),
      builder.getFunctionType(inputs, returnsInMemory ? TypeRange()
                                                      : TypeRange(outputs)));
  Block *entry = wrapper.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  SmallVector<Value> arguments;
  for (auto [type, argument] : llvm::zip_equal(
           takenTypes, entry->getArguments().drop_front(returnsInMemory))) {
    if (!isa<MemRefType>(type)) {
      arguments.push_back(castTo(builder, loc, argument, type));
      continue;
    }
    MemRefDescriptor descriptor(LLVM::LoadOp::create(
        builder, loc, getDescriptorType(type, converter), argument));
    arguments.push_back(descriptor.alignedPtr(builder, loc));
  }
  auto call = func::CallOp::create(builder, loc, function, arguments);
  SmallVector<Value> results;
  for (auto [result, type] : llvm::zip_equal(call.getResults(), outputs))
    results.push_back(castTo(builder, loc, result, type));
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
    DescriptorParts parts(converter);
    SmallVector<func::CallOp> calls, libraryCalls;
    SmallVector<Operation *> library;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!isOnlyCalled(function, users))
        continue;
      auto appendCalls = [&](SmallVectorImpl<func::CallOp> &calls) {
        for (Operation *user : users.getUsers(function))
          calls.push_back(cast<func::CallOp>(user));
      };
      if (takesDescriptors(function, converter)) {
        library.push_back(function);
        appendCalls(libraryCalls);
        continue;
      }
      bool isHidden = isProgram || function.isPrivate();
      if (!canTakeBarePointers(function, converter) ||
          (!isHidden && !hasCInterface(function)))
        continue;
      SmallVector<Type> types(function.getArgumentTypes());
      takePointers(function, converter, parts);
      appendCalls(calls);
      if (!hasCInterface(function))
        continue;
      function->removeAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
      if (!isHidden)
        addCInterface(function, types, converter);
    }
    if (failed(declareInLLVM(library, converter)))
      return signalPassFailure();
    for (func::CallOp call : calls)
      passPointers(call, parts);
    for (func::CallOp call : libraryCalls)
      passParts(call, converter, parts);
    finish(module, converter, parts);
  }
};
} // namespace
