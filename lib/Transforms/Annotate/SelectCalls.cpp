//===- SelectCalls.cpp - Calls of functions -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `jax.jit` around a block, and hand-written models, leave layers as functions.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Annotate/Annotate.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::remat;

FailureOr<SmallVector<Selection>>
mlir::remat::selectCalls(func::FuncOp function, ArrayRef<std::string> patterns,
                         SmallVectorImpl<bool> &matched) {
  SmallVector<llvm::GlobPattern> globs;
  for (StringRef text : patterns) {
    llvm::Expected<llvm::GlobPattern> glob =
        llvm::GlobPattern::create(text.ltrim('@'));
    if (!glob)
      return emitError(function.getLoc(), "calls=")
             << text << " is no pattern of functions such as layer*: "
             << llvm::toString(glob.takeError());
    globs.push_back(std::move(*glob));
  }
  matched.resize(patterns.size());
  SmallVector<Selection> selections;
  llvm::StringMap<unsigned> counts;
  function.walk([&](func::CallOp call) {
    bool isSelected = false;
    for (auto [index, glob] : llvm::enumerate(globs))
      if (glob.match(call.getCallee()))
        isSelected = matched[index] = true;
    if (isSelected)
      selections.push_back(
          {("@" + call.getCallee() + " " + Twine(counts[call.getCallee()]++))
               .str(),
           {call}});
  });
  return selections;
}

SmallVector<std::string> mlir::remat::collectCallees(func::FuncOp function) {
  llvm::SetVector<StringRef> names;
  function.walk([&](func::CallOp call) { names.insert(call.getCallee()); });
  return llvm::map_to_vector(names, [](StringRef name) { return name.str(); });
}
