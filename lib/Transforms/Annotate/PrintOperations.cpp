//===- PrintOperations.cpp - What may be selected by number ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Origins.h"
#include "Scopes.h"
#include "remat/Analysis/Cost.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Annotate/Annotate.h"
#include "remat/Transforms/Annotate/Passes.h"
#include "remat/Transforms/Utils/Locations.h"

#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PRINTOPERATIONS
#include "remat/Transforms/Annotate/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// The kinds of each operation of `function`, in the order of `kKindChoices`.
static DenseMap<Operation *, SmallVector<StringRef>>
findKinds(func::FuncOp function) {
  DenseMap<Operation *, SmallVector<StringRef>> kindsOf;
  SmallVector<StringRef> kinds;
  kKindChoices.split(kinds, ", ");
  for (StringRef kind : kinds) {
    SmallVector<bool> matched;
    FailureOr<SmallVector<Selection>> selections =
        selectKinds(function, {kind.str()}, matched);
    if (succeeded(selections))
      for (const Selection &selection : *selections)
        kindsOf[selection.ops.front()].push_back(kind);
  }
  return kindsOf;
}

static bool makesTensor(Operation *op) {
  return llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

static void print(llvm::json::OStream &json, Operation *op,
                  ArrayRef<StringRef> kinds, Scopes &scopes) {
  auto orNull = [](StringRef text) {
    return text.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(text);
  };
  int64_t bytes = 0;
  std::optional<StringRef> name;
  for (Value result : op->getResults()) {
    bytes += estimateBytes(result.getType());
    for (Operation *user : result.getUsers())
      if (auto named = dyn_cast<NameOp>(user))
        name = named.getName();
  }
  ArrayRef<ScopePath> paths = scopes.get(op->getLoc());
  json.object([&] {
    json.attribute("number",
                   op->getAttrOfType<IntegerAttr>(kNumberAttrName).getInt());
    json.attribute("function", op->getParentOfType<func::FuncOp>().getName());
    json.attribute("op", op->getName().getStringRef());
    json.attributeArray("kinds", [&] {
      for (StringRef kind : kinds)
        json.value(kind);
    });
    json.attributeArray("types", [&] {
      for (Type type : op->getResultTypes())
        json.value(debugString(type));
    });
    json.attribute("bytes", bytes);
    json.attribute("cost", getRecomputeCost(op));
    json.attribute("name", orNull(name.value_or("")));
    json.attribute("scope", orNull(paths.empty() ? "" : paths[0].getText()));
    json.attribute("line", orNull(describeLine(op->getLoc())));
  });
}

void mlir::remat::printOperations(raw_ostream &os, ModuleOp module) {
  numberOps(module);
  Scopes scopes;
  bool isFirst = true;
  os << "[";
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Origins origins(function);
    DenseMap<Operation *, SmallVector<StringRef>> kindsOf = findKinds(function);
    visitOps(function, [&](Operation *op) {
      if (!makesTensor(op) || isa<NameOp>(op) || origins.isMadeAgain(op) ||
          isBoundToItsPlace(op))
        return;
      os << (isFirst ? "\n" : ",\n");
      isFirst = false;
      llvm::json::OStream json(os);
      print(json, op, kindsOf.lookup(op), scopes);
    });
  }
  os << "\n]\n";
  clearNumbers(module);
}

namespace {
struct PrintOperationsPass
    : remat::impl::PrintOperationsBase<PrintOperationsPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    printOperations(llvm::errs(), getOperation());
  }
};
} // namespace
