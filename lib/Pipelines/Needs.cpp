//===- Needs.cpp - Bytes that packed functions need -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Needs.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::remat;

/// Reads the report of `remat-pack-memory`, in JSON.
static Needs readNeeds(StringRef report) {
  Needs needs;
  llvm::json::Value parsed = llvm::cantFail(llvm::json::parse(report));
  for (const llvm::json::Value &value :
       *parsed.getAsObject()->getArray("functions")) {
    const llvm::json::Object &function = *value.getAsObject();
    int64_t arena = *function.getInteger("arena"), beside = 0;
    if (*function.getInteger("unpacked") != 0)
      needs.unpacked = function.getString("name")->str();
    needs.arenas[*function.getString("name")] = arena;
    needs.arena = std::max(needs.arena, arena);
    for (const auto &argument : *function.getObject("arguments"))
      beside += *argument.second.getAsInteger();
    needs.others = std::max(needs.others, beside);
  }
  return needs;
}

FailureOr<Needs> mlir::remat::pack(OwningOpRef<ModuleOp> module,
                                   PackingBuilder build) {
  std::string text;
  llvm::raw_string_ostream report(text);
  PassManager pm(module->getContext());
  build(pm, report);
  if (failed(pm.run(*module)))
    return failure();
  return readNeeds(text);
}

void mlir::remat::registerPackingDialects(DialectRegistry &registry,
                                          PackingBuilder build) {
  OpPassManager pm(ModuleOp::getOperationName());
  build(pm, llvm::nulls());
  pm.getDependentDialects(registry);
}
