//===- ResidualPaths.h - Forward values to the backward ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residuals cross into the backward through the borders of outer regions, tapes
// of loops and results of called functions. This is the only place that knows.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PLAN_RESIDUALPATHS_H
#define REMAT_TRANSFORMS_PLAN_RESIDUALPATHS_H

#include "remat/Dialect/Remat/IR/Borders.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// A result of a region that operand `operand` of `backward`, one of its
/// residuals, is: a residual or, if someone wrote it so, an output.
struct ResidualRead {
  BackwardOp backward;
  unsigned operand;
  unsigned result;
};

/// Follows values from forward to backward and back, and makes new ones cross.
///
/// Forward and backward have the same structure: a value that leaves forward
/// regions and loops enters backward regions and loops in the opposite order.
/// Regions, loops and calls that get new results are replaced by new
/// operations, but their bodies stay the same blocks; so forward places are
/// named by blocks.
class ResidualPaths {
public:
  explicit ResidualPaths(ModuleOp module);

  /// Functions that residuals cross: what they return and take may change.
  ArrayRef<func::FuncOp> getFunctions() { return functions.getArrayRef(); }

  /// Every read of a result of `region` by a backward that belongs to it.
  /// `opaque` gets, for each result, the first operation whose use of it is
  /// not understood, or null.
  SmallVector<ResidualRead> getReads(RegionOp region,
                                     SmallVectorImpl<Operation *> &opaque);

  /// The forward value that `value` is a copy of: looks through borders, tapes
  /// and names. Two values with the same origin are the same bits.
  Value getOrigin(Value value);

  /// Makes `value`, visible in the forward block `scope`, visible at
  /// `backward`, an operation of the backward. Null if there is no path that
  /// can carry it; nothing that matters has changed then.
  Value route(Value value, Block *scope, Operation *backward);

private:
  /// How iterations of a backward loop correspond to those of a forward loop;
  /// null values for anything else that has a body.
  struct LoopLink {
    /// Where the forward loop writes and the backward loop reads.
    Value written, read;
  };

  void follow(Value value, unsigned result, SmallVectorImpl<Operation *> &left,
              SmallVectorImpl<ResidualRead> &reads,
              SmallVectorImpl<Operation *> &opaque);
  bool followTapeWrite(TapeWriteOp write, unsigned result,
                       SmallVectorImpl<Operation *> &left,
                       SmallVectorImpl<ResidualRead> &reads,
                       SmallVectorImpl<Operation *> &opaque);
  bool followTapeRead(TapeReadOp read, unsigned result,
                      SmallVectorImpl<Operation *> &left,
                      SmallVectorImpl<ResidualRead> &reads,
                      SmallVectorImpl<Operation *> &opaque);
  bool followReturn(func::ReturnOp end, unsigned number, unsigned result,
                    SmallVectorImpl<Operation *> &left,
                    SmallVectorImpl<ResidualRead> &reads,
                    SmallVectorImpl<Operation *> &opaque);
  bool followCall(func::CallOp call, unsigned number, unsigned result,
                  SmallVectorImpl<Operation *> &left,
                  SmallVectorImpl<ResidualRead> &reads,
                  SmallVectorImpl<Operation *> &opaque);
  bool link(TapeWriteOp write, TapeReadOp read);
  TapeWriteOp getLinkedWrite(TapeReadOp read);
  /// Moves the arithmetic of `index` to the start of the body of `loop`, so
  /// that every backward in it can use it.
  static void hoistIndex(Value index, scf::ForOp loop);

  Value routeIntoLoop(Value value, scf::ForOp forward, scf::ForOp backward,
                      Operation *before);
  Value routeIntoBranch(Value value, Operation *forward, Operation *backward,
                        Operation *before);
  /// Operations that the backward of a loop or branch clones instead of reading
  /// their result from the forward, and the values from outside that they read.
  struct FreeSlice {
    SetVector<Operation *> ops;
    SmallVector<Value> inputs;
  };

  /// The slice of `value` in `forward`; none if part of it has a cost.
  std::optional<FreeSlice> getFreeSlice(Value value, Operation *forward,
                                        const LoopLink &link);
  Value cloneFree(Value value, const FreeSlice &slice, Operation *forward,
                  Operation *backward, const LoopLink &link, Operation *before);
  Value routeThroughCalls(Value value, func::FuncOp forward,
                          func::FuncOp backward);
  void addResult(func::FuncOp function, Value value, unsigned &number);
  Value getOriginOfArgument(func::FuncOp backward, unsigned number);
  Value routeThroughTape(Value value, scf::ForOp forward, scf::ForOp backward,
                         const LoopLink &link, Operation *before);

  /// A call of a backward function and the call of the forward function whose
  /// residuals it takes.
  struct CallLink {
    func::CallOp forward, backward;
  };

  DenseMap<std::pair<Block *, Operation *>, LoopLink> links;
  /// For a backward function.
  DenseMap<Operation *, SmallVector<CallLink>> callLinks;
  /// Calls of each private function with a body.
  DenseMap<Operation *, SmallVector<func::CallOp>> calls;
  SetVector<func::FuncOp> functions;
  /// Residuals show how loops and calls of forward and backward correspond.
  /// Outputs do not: they also go to backwards of other regions.
  bool followsResidual = true;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_RESIDUALPATHS_H
