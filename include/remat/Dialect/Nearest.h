//===- Nearest.h - What a misspelled word may have meant --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_NEAREST_H
#define REMAT_DIALECT_NEAREST_H

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <string>

namespace mlir::remat {
/// All `choices`, separated by commas, those first that are the fewest edits
/// away from `word`.
inline std::string listNearestFirst(llvm::StringRef word,
                                    llvm::ArrayRef<llvm::StringRef> choices) {
  llvm::SmallVector<std::pair<unsigned, size_t>> order;
  for (auto [index, choice] : llvm::enumerate(choices))
    order.emplace_back(word.edit_distance(choice), index);
  llvm::sort(order);
  return llvm::join(
      llvm::map_range(order, [&](auto entry) { return choices[entry.second]; }),
      ", ");
}

/// Lists the attributes among `Attributes` that implement an interface: each
/// with `prefix` and, if it has parameters, "<...>" around its mnemonic.
template <template <typename> class InterfaceTrait, typename... Attributes>
std::string listAttributes(llvm::StringRef prefix) {
  llvm::SmallVector<std::string> found;
  auto add = [&](auto implements, auto hasParameters, StringRef mnemonic) {
    if (implements)
      found.push_back(
          (prefix + mnemonic + (hasParameters ? "<...>" : "")).str());
  };
  (add(std::is_base_of<InterfaceTrait<Attributes>, Attributes>(),
       std::negation<
           std::is_same<typename Attributes::ImplType, AttributeStorage>>(),
       Attributes::getMnemonic()),
   ...);
  return llvm::join(found, ", ");
}

/// Reports that `dialect` has no attribute `mnemonic`, and which ones it has:
/// `Attributes`, which is what GET_ATTRDEF_LIST lists.
template <typename... Attributes>
InFlightDiagnostic emitUnknownAttribute(DialectAsmParser &parser,
                                        llvm::SMLoc loc, const Dialect &dialect,
                                        llvm::StringRef mnemonic) {
  return parser.emitError(loc)
         << "unknown attribute `" << mnemonic << "` in dialect `"
         << dialect.getNamespace() << "`; there are "
         << listNearestFirst(mnemonic, {Attributes::getMnemonic()...});
}
} // namespace mlir::remat

#endif // REMAT_DIALECT_NEAREST_H
