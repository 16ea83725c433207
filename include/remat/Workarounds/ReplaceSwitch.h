//===- ReplaceSwitch.h - Switches as chains of branches ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_WORKAROUNDS_REPLACESWITCH_H
#define REMAT_WORKAROUNDS_REPLACESWITCH_H

namespace mlir {
namespace scf {
class IndexSwitchOp;
} // namespace scf

namespace remat {

/// Replaces `op` by a chain of `scf.if`, one for each case, which one-shot
/// bufferization knows how to treat.
void replaceSwitch(scf::IndexSwitchOp op);

} // namespace remat
} // namespace mlir

#endif // REMAT_WORKAROUNDS_REPLACESWITCH_H
