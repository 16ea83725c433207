//===- Needs.cpp - Bytes that packed functions need -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Needs.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::remat;

Needs mlir::remat::readNeeds(StringRef report) {
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
