//===- DropDead.h - Remove what deleted residuals leave behind --*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H
#define REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H

#include "Effects.h"

namespace mlir::remat {
/// Removes operations below `root` that nobody reads, results and operands of
/// regions, backwards and loops that only they needed, and tapes that nobody
/// reads. One walk from the last operation to the first: users come after what
/// they use.
void dropDead(Operation *root, Effects &effects);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H
