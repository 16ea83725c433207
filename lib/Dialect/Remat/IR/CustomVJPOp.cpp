//===- CustomVJPOp.cpp - Derivatives by hand ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Remat/IR/CustomVJP.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

func::FuncOp mlir::remat::getRule(CustomVJPOp custom) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      custom, custom.getRuleAttr());
}

func::FuncOp mlir::remat::findCustomRule(func::CallOp call) {
  Operation *table = SymbolTable::getNearestSymbolTable(call);
  if (!table || table->getNumRegions() != 1)
    return nullptr;
  for (auto custom : table->getRegion(0).getOps<CustomVJPOp>())
    if (custom.getFunctionTarget() == call.getCalleeAttr())
      return getRule(custom);
  return nullptr;
}

FunctionType CustomVJPOp::getRuleType(MLIRContext *context, TypeRange operands,
                                      TypeRange results) {
  SmallVector<Type> inputs(operands);
  llvm::append_range(inputs, results);
  llvm::append_range(inputs,
                     llvm::make_filter_range(results, hasCotangentType));
  return FunctionType::get(context, inputs,
                           llvm::filter_to_vector(operands, hasCotangentType));
}

/// Returns true if a value of type `given` may be passed where the more general
/// `open` is expected.
static bool isInstance(Type given, Type open) {
  return given == open || (tensor::CastOp::areCastCompatible(given, open) &&
                           tensor::preservesStaticInformation(open, given));
}

bool CustomVJPOp::isRuleFor(FunctionType rule, FunctionType needed) {
  auto fits = [](TypeRange given, TypeRange open) {
    return given.size() == open.size() &&
           llvm::all_of(llvm::zip(given, open), [](auto pair) {
             return isInstance(std::get<0>(pair), std::get<1>(pair));
           });
  };
  return fits(needed.getInputs(), rule.getInputs()) &&
         fits(needed.getResults(), rule.getResults());
}

/// The first operation of `function`, or of what it calls, that has an effect.
/// Assertions, which the compiler puts at indices itself, may run many times.
static Operation *findEffect(FunctionOpInterface function,
                             SymbolTableCollection &symbols,
                             SmallVectorImpl<Operation *> &visited) {
  if (llvm::is_contained(visited, function.getOperation()))
    return nullptr;
  visited.push_back(function);
  Operation *found = nullptr;
  function.getFunctionBody().walk([&](Operation *op) {
    if (auto call = dyn_cast<CallOpInterface>(op)) {
      auto callee = dyn_cast_or_null<FunctionOpInterface>(
          call.resolveCallableInTable(&symbols));
      found = callee && !callee.isExternal()
                  ? findEffect(callee, symbols, visited)
                  : op;
    } else if (!op->hasTrait<OpTrait::IsTerminator>() &&
               !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
               !isMemoryEffectFree(op) && !isa<cf::AssertOp>(op)) {
      found = op;
    }
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

LogicalResult CustomVJPOp::verify() {
  if (getFunctionTarget())
    return success();
  StringRef name = getOperationTarget();
  auto [dialectName, opName] = name.split('.');
  if (dialectName.empty() || opName.empty())
    return emitOpError() << "is for \"" << name
                         << "\", which names no operation; write it as "
                            "\"dialect.operation\", or @function";
  if (dialectName == "func")
    return emitOpError() << "is for \"" << name
                         << "\"; name the function instead (for @function)";
  if (getContext()->getLoadedDialect(dialectName) &&
      !RegisteredOperationName::lookup(name, getContext()))
    return emitOpError() << "is for \"" << name << "\", but the dialect '"
                         << dialectName << "' has no such operation";
  return success();
}

LogicalResult
CustomVJPOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto rule =
      symbolTable.lookupNearestSymbolFrom<func::FuncOp>(*this, getRuleAttr());
  if (!rule)
    return emitOpError() << "names the rule " << getRuleAttr()
                         << ", but there is no such function";
  if (rule.isExternal() || !llvm::hasSingleElement(rule.getBody()))
    return emitOpError() << "names the rule " << getRuleAttr()
                         << ", whose body is not a single block";
  SmallVector<Operation *> visited;
  if (Operation *effect = findEffect(rule, symbolTable, visited)) {
    InFlightDiagnostic diagnostic =
        emitOpError() << "names the rule " << getRuleAttr()
                      << ", which has effects; a backward may be built from it "
                         "any number of times, so it must not have any";
    diagnostic.attachNote(effect->getLoc()) << "this operation may have one";
    return diagnostic;
  }

  FlatSymbolRefAttr target = getFunctionTarget();
  if (!target)
    return success();
  auto function =
      symbolTable.lookupNearestSymbolFrom<func::FuncOp>(*this, target);
  if (!function)
    return emitOpError() << "is for " << target
                         << ", but there is no such function";
  FunctionType needed = getRuleType(getContext(), function.getArgumentTypes(),
                                    function.getResultTypes());
  if (!isRuleFor(rule.getFunctionType(), needed)) {
    InFlightDiagnostic diagnostic =
        emitOpError() << "needs a rule of type " << needed
                      << " (operands, results, and cotangents of "
                         "floating-point results; returns cotangents of "
                         "floating-point operands)";
    diagnostic.attachNote(rule.getLoc())
        << getRuleAttr() << " has type " << rule.getFunctionType();
    return diagnostic;
  }
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode())
    if (auto other = dyn_cast<CustomVJPOp>(op);
        other && other.getTarget() == getTarget()) {
      InFlightDiagnostic diagnostic = emitOpError()
                                      << "is the second rule for " << target
                                      << "; a function has one";
      diagnostic.attachNote(other.getLoc()) << "the first is here";
      return diagnostic;
    }
  return success();
}
