//===- Annotate.h - Select operations and annotate them ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `remat-annotate` and the transform operations share: selectors find
// operations of a plain forward function, actions annotate what they found.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_ANNOTATE_ANNOTATE_H
#define REMAT_TRANSFORMS_ANNOTATE_ANNOTATE_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// Operations of one block that are annotated together.
struct Selection {
  /// The name that users know: "block 3", "layers.0", "@layer".
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

/// Calls `visit` with every operation of `function` that is no kernel's scalar.
void visitOps(func::FuncOp function, function_ref<void(Operation *)> visit);

/// Numbers the operations of all functions, in program order from 0, by an
/// attribute of this name. What removes it is `clearNumbers`.
inline constexpr llvm::StringLiteral kNumberAttrName = "remat.number";
void numberOps(ModuleOp module);
void clearNumbers(ModuleOp module);

/// The kinds that `selectKinds` knows.
inline constexpr llvm::StringLiteral kKindChoices =
    "dot, elementwise, reduction, softmax, norm, attention, gather";

/// Operations by kind, one selection for each: `dot` (contractions and
/// convolutions), `elementwise`, `reduction`, `gather`; `softmax` and `norm`
/// are what leads from a value to its softmax or its normalization, `attention`
/// what leads from the product of queries and keys to that with values; a
/// pattern of operation names such as `math.*` also selects structured
/// operations with such an operation in their body; `#17` is the operation with
/// this number
/// (`numberOps`). `matched` says which of `kinds` exist.
FailureOr<SmallVector<Selection>> selectKinds(func::FuncOp function,
                                              ArrayRef<std::string> kinds,
                                              SmallVectorImpl<bool> &matched);
/// The same to save or to name: of `attention`, the operation that makes its
/// result: scores and weights are as large as all pairs of positions.
FailureOr<SmallVector<Selection>>
selectResultsOfKinds(func::FuncOp function, ArrayRef<std::string> kinds,
                     SmallVectorImpl<bool> &matched);
/// The kinds of operations in `function`.
SmallVector<std::string> collectKinds(func::FuncOp function);

/// Joins selections of which one reads what another one makes.
SmallVector<Selection> joinConnected(ArrayRef<Selection> selections);

/// Calls of functions whose names match one of `patterns`, one by one.
FailureOr<SmallVector<Selection>> selectCalls(func::FuncOp function,
                                              ArrayRef<std::string> patterns,
                                              SmallVectorImpl<bool> &matched);
/// The functions that `function` calls.
SmallVector<std::string> collectCallees(func::FuncOp function);

/// Operations by the scope that their location names, a selection for each
/// scope that matches one of `patterns`: components such as `layers.*`
/// (PyTorch) or `checkpoint/layer_*` (JAX), anywhere in the scope. Operations
/// without a scope that lie between are part of it.
FailureOr<SmallVector<Selection>> selectScopes(func::FuncOp function,
                                               ArrayRef<std::string> patterns,
                                               SmallVectorImpl<bool> &matched);
/// All scopes of `function`, as far as they lead.
SmallVector<std::string> collectScopes(func::FuncOp function);

/// The applications of checkpoints that the locations of `function` tell of,
/// inner ones before those around them.
SmallVector<Selection> selectCheckpoints(func::FuncOp function);

/// Of `blocks`, those at the indices in `pick` ("0,2-4", counted from 0, a
/// negative one from the end), or if it is empty those at k-1, 2k-1, ... for
/// `every` = k; after joining `group` neighbours into one each. A failure is
/// reported at `loc`.
FailureOr<SmallVector<Selection>> chooseBlocks(Location loc,
                                               SmallVector<Selection> blocks,
                                               ArrayRef<std::string> pick,
                                               int64_t every, int64_t group);

/// Puts each of `selections` into a `remat.region` with `policy` (null: the
/// default one) and with its label. Constants, empty tensors and fills are
/// cloned inside; what only the selection reads and what is made of parameters
/// or data alone moves in, and what others read of it stays outside; operations
/// that depend on the region move after it. Of two selections with operations
/// in common, the later one contains the earlier one, and its region that
/// one's. A selection on whose operations something else depends that they
/// depend on in turn becomes several regions, with a remark. Being the next to
/// read a value that may have a cotangent counts as depending on the reader
/// before: that is the order in which contributions are added up. Appends the
/// regions.
LogicalResult wrapInRegions(RewriterBase &rewriter,
                            ArrayRef<Selection> selections, Attribute policy,
                            SmallVectorImpl<RegionOp> &regions);

/// Gives every value of `selections` that something else reads a name, or stops
/// gradients at it if it is in floating point. Fails if there is none.
LogicalResult nameOutputs(RewriterBase &rewriter,
                          ArrayRef<Selection> selections, StringRef name);
LogicalResult stopGradients(RewriterBase &rewriter,
                            ArrayRef<Selection> selections);

/// Puts each of `selections` into a private function whose derivative is the
/// function `rule`. Its operands are what the selection reads, in the order in
/// which it does, without constants; its results what others read.
LogicalResult bindVJP(RewriterBase &rewriter, ArrayRef<Selection> selections,
                      FlatSymbolRefAttr rule);

/// Names the results of operations of `kinds` in `regions`, and in what these
/// call; with `toSave`, those of `selectResultsOfKinds`. Returns the regions
/// that have one. `matched` says which of `kinds` the module has, in `regions`
/// or not.
FailureOr<DenseSet<Operation *>>
nameKinds(RewriterBase &rewriter, ModuleOp module, ArrayRef<RegionOp> regions,
          ArrayRef<std::string> kinds, StringRef name, bool toSave,
          SmallVectorImpl<bool> &matched);

/// Up to five of `candidates` in which some components in a row are the fewest
/// edits away from `pattern`, quoted.
std::string listNearest(StringRef pattern, ArrayRef<std::string> candidates);

/// Writes what is known of each operation that makes a tensor and may be saved,
/// with its number: a JSON array of objects.
void printOperations(raw_ostream &os, ModuleOp module);

/// Prints a table of `regions`: label, operations, parameters, bytes, policy.
void printRegions(raw_ostream &os, func::FuncOp function,
                  ArrayRef<RegionOp> regions);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_ANNOTATE_ANNOTATE_H
