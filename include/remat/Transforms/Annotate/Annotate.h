//===- Annotate.h - Select operations and annotate them ---------*- C++ -*-===//
//
// What `remat-annotate` and the transform operations share: selectors find
// operations of a plain forward function, actions annotate what they found.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_ANNOTATE_ANNOTATE_H
#define REMAT_TRANSFORMS_ANNOTATE_ANNOTATE_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Operations of one block that are annotated together.
struct Selection {
  /// What the user knows them by: "block 3", "layers.0", "@layer".
  std::string label;
  /// In program order, never empty.
  SmallVector<Operation *> ops;
};

/// Layers of `function`: sequences of operations that repeat one after the
/// other, equal up to their parameters and constants, each reading what the one
/// before it made. In program order, labelled "block 0", "block 1", ... Empty
/// if nothing repeats.
SmallVector<Selection> selectBlocks(func::FuncOp function);

/// Everything that `function` computes.
Selection selectWhole(func::FuncOp function);

/// Of `blocks`, those at the indices in `pick` ("0,2-4", counted from 0, a
/// negative one from the end), or if it is empty those at k-1, 2k-1, ... for
/// `every` = k; after joining `group` neighbours into one each. A failure is
/// reported at `loc`.
FailureOr<SmallVector<Selection>> chooseBlocks(Location loc,
                                               SmallVector<Selection> blocks,
                                               ArrayRef<std::string> pick,
                                               int64_t every, int64_t group);

/// Puts each of `selections` into a `remat.region` with `policy` (null: the
/// default one) and with its label. Constants, empty tensors and fills are made
/// again inside; what only the selection reads and what is made of parameters
/// or data alone moves in; operations that depend on the region move behind it.
/// A selection on whose operations something else depends that they depend on
/// in turn becomes several regions, with a remark. Appends the regions.
LogicalResult wrapInRegions(RewriterBase &rewriter,
                            ArrayRef<Selection> selections, Attribute policy,
                            SmallVectorImpl<RegionOp> &regions);

/// Prints a table of `regions`: label, operations, parameters, bytes, policy.
void printRegions(raw_ostream &os, func::FuncOp function,
                  ArrayRef<RegionOp> regions);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_ANNOTATE_ANNOTATE_H
