//===- Policies.h - Which policies there are --------------------*- C++ -*-===//
//
// For diagnostics about policies that do not exist.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_POLICIES_H
#define REMAT_DIALECT_REMAT_IR_POLICIES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::remat {
inline constexpr llvm::StringLiteral kPolicyChoices =
    "nothing_saveable, everything_saveable, dots_saveable, "
    "dots_with_no_batch_dims_saveable, save_only_names<...>, "
    "save_any_names_but<...>, save_anything_except_names<...>, "
    "offload_names<...>, offload_dots, every_k<k>, any_of<...>";
} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_POLICIES_H
