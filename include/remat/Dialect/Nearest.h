//===- Nearest.h - What a misspelled word may have meant --------*- C++ -*-===//

#ifndef REMAT_DIALECT_NEAREST_H
#define REMAT_DIALECT_NEAREST_H

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
  llvm::SmallVector<llvm::StringRef> sorted(choices);
  llvm::stable_sort(sorted, [&](llvm::StringRef lhs, llvm::StringRef rhs) {
    return word.edit_distance(lhs) < word.edit_distance(rhs);
  });
  return llvm::join(sorted, ", ");
}
} // namespace mlir::remat

#endif // REMAT_DIALECT_NEAREST_H
