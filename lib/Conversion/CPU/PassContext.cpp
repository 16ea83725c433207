//===- PassContext.cpp - What functions share is an argument --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that is shipped has no variables: what the runtime keeps for the
// process, each function gets from its caller.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CPU/Passes.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PASSCONTEXT
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns the name that a function of the runtime has in its core; empty for
/// other functions.
static std::string getCoreName(StringRef name) {
  if (name.consume_front("_mlir_ciface_remat_"))
    return ("remat_core_" + name).str();
  return name == "remat_parallel_for" ? "remat_core_parallel_for" : "";
}

/// Returns true for functions of libm, by their names for f64 and f32, and for
/// what code generation itself may call.
static bool isInCLibrary(StringRef name) {
  static const llvm::StringSet<> names{
      "acos",   "acosh",   "asin",  "asinh",     "atan",  "atan2",  "atanh",
      "cbrt",   "ceil",    "cos",   "cosh",      "erf",   "erfc",   "exp",
      "exp2",   "expm1",   "fabs",  "floor",     "fma",   "fmax",   "fmin",
      "fmod",   "log",     "log10", "log1p",     "log2",  "lround", "nearbyint",
      "pow",    "rint",    "round", "roundeven", "sin",   "sincos", "sinh",
      "sqrt",   "tan",     "tanh",  "tgamma",    "trunc", "ldexp",  "copysign",
      "memcpy", "memmove", "memset"};
  return names.contains(name) ||
         (name.consume_back("f") && names.contains(name));
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {
class ContextPasser {
public:
  explicit ContextPasser(ModuleOp module)
      : module(module), symbols(module),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult run() {
    if (failed(changeFunctions()))
      return failure();
    for (LLVM::LLVMFuncOp function : withBody)
      if (failed(changeBody(function)))
        return failure();
    return eraseVariables();
  }

private:
  /// Adds the argument to functions with a body, and to those of the runtime.
  LogicalResult changeFunctions() {
    for (auto function : llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>())) {
      StringRef name = function.getName();
      if (!function.isExternal()) {
        withBody.push_back(function);
        coreNames[name] = name.str();
      } else if (std::string coreName = getCoreName(name); !coreName.empty()) {
        coreNames[name] = coreName;
        function.setName(coreName);
      } else {
        if (Operation *call = findCollective(function))
          return call->emitError() << "a step of several ranks cannot be "
                                      "shipped: it exchanges values with them";
        if (!function.symbolKnownUseEmpty(module) &&
            !name.starts_with("llvm.") && !isInCLibrary(name))
          return function.emitError()
                 << "the step calls '" << name
                 << "', which has no body and is in neither the C library nor "
                    "the core of the runtime, so it cannot be shipped";
        continue;
      }
      addArgument(function);
    }
    return success();
  }

  /// The first call of `function`, if that exchanges values between ranks.
  Operation *findCollective(LLVM::LLVMFuncOp function) {
    if (!function.getName().starts_with("remat_all_") &&
        function.getName() != "remat_rank")
      return nullptr;
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(function, module);
    return uses && !uses->empty() ? uses->begin()->getUser() : nullptr;
  }

  /// As `insertArgument`, which does not know functions without a result.
  void addArgument(LLVM::LLVMFuncOp function) {
    LLVM::LLVMFunctionType type = function.getFunctionType();
    SmallVector<Type> types{pointer};
    llvm::append_range(types, type.getParams());
    function.setFunctionType(LLVM::LLVMFunctionType::get(
        type.getReturnType(), types, type.isVarArg()));
    if (!function.isExternal())
      function.getBody().insertArgument(0u, pointer, function.getLoc());
    if (ArrayAttr attributes = function.getArgAttrsAttr())
      function.setArgAttrsAttr(prepend(attributes));
  }

  /// The attributes of arguments, with none for the context.
  ArrayAttr prepend(ArrayAttr attributes) {
    SmallVector<Attribute> all{DictionaryAttr::get(module.getContext())};
    llvm::append_range(all, attributes);
    return ArrayAttr::get(module.getContext(), all);
  }

  LogicalResult changeBody(LLVM::LLVMFuncOp function) {
    Value context = function.getArgument(0);
    WalkResult result = function.walk([&](Operation *op) {
      if (auto call = dyn_cast<LLVM::CallOp>(op))
        return WalkResult(changeCall(call, context));
      auto address = dyn_cast<LLVM::AddressOfOp>(op);
      if (address && address.getGlobalName() == kLearningRatesName)
        readRates(address, context);
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult changeCall(LLVM::CallOp call, Value context) {
    std::optional<StringRef> callee = call.getCallee();
    if (!callee)
      return call.emitError() << "calls a function that is not known, so the "
                                 "step cannot be shipped";
    auto found = coreNames.find(*callee);
    if (found == coreNames.end())
      return success();
    call.setCallee(found->second);
    SmallVector<Value> operands{context};
    llvm::append_range(operands, call.getCalleeOperands());
    call.getCalleeOperandsMutable().assign(operands);
    if (ArrayAttr attributes = call.getArgAttrsAttr())
      call.setArgAttrsAttr(prepend(attributes));
    return success();
  }

  void readRates(LLVM::AddressOfOp address, Value context) {
    constexpr StringLiteral kName = "remat_core_learning_rates";
    OpBuilder builder(address);
    auto function = symbols.lookup<LLVM::LLVMFuncOp>(kName);
    if (!function) {
      OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
      function = LLVM::LLVMFuncOp::create(
          atStart, address.getLoc(), kName,
          LLVM::LLVMFunctionType::get(pointer, pointer));
      symbols.insert(function);
    }
    auto rates =
        LLVM::CallOp::create(builder, address.getLoc(), function, context);
    address.replaceAllUsesWith(rates.getResult());
    address.erase();
  }

  LogicalResult eraseVariables() {
    for (auto global : llvm::to_vector(module.getOps<LLVM::GlobalOp>())) {
      if (global.getConstant())
        continue;
      if (global.getSymName() != kLearningRatesName)
        return global.emitError()
               << "'" << global.getSymName()
               << "' is a variable of the program, which a step that is "
                  "shipped does not have";
      global.erase();
    }
    return success();
  }

  ModuleOp module;
  SymbolTable symbols;
  Type pointer;
  SmallVector<LLVM::LLVMFuncOp> withBody;
  /// Of functions that take the context, by the name that calls have.
  llvm::StringMap<std::string> coreNames;
};

struct PassContext : mlir::remat::impl::PassContextBase<PassContext> {
  void runOnOperation() override {
    if (failed(ContextPasser(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
