//===- Layers.h - Operations that repeat ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_ANNOTATE_LAYERS_H
#define REMAT_LIB_TRANSFORMS_ANNOTATE_LAYERS_H

#include "Origins.h"

namespace mlir::remat {

/// The operations on activations of each layer in `block`: sequences that
/// repeat one after the other, equal up to parameters and constants, each
/// reading what the one before it made. The first and the last one may differ a
/// little. With `countInputs`, what is made of
/// inputs counts as an activation.
SmallVector<SmallVector<Operation *>>
findLayers(Block &block, const Origins &origins, bool countInputs);

/// Divides `ops`, which stand in one block in program order, into layers if
/// they are nothing but layers; otherwise returns them as they are.
SmallVector<SmallVector<Operation *>> cutIntoLayers(const Origins &origins,
                                                    ArrayRef<Operation *> ops);

/// Returns true if two sequences do the same on activations.
bool areAlike(const Origins &origins, ArrayRef<Operation *> first,
              ArrayRef<Operation *> second);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_ANNOTATE_LAYERS_H
