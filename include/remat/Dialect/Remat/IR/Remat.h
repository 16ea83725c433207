//===- Remat.h - The remat dialect ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMAT_H
#define REMAT_DIALECT_REMAT_IR_REMAT_H

#include "remat/Dialect/Remat/IR/AttentionDims.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

#include "remat/Dialect/Remat/IR/RematDialect.h.inc"

#include "remat/Dialect/Remat/IR/RematEnums.h.inc"

#include "remat/Dialect/Remat/IR/RematAttrInterfaces.h.inc"
#define GET_TYPEDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematAttributes.h.inc"

namespace mlir::remat {
class YieldOp;
/// The memory that `remat.get_rng` reads and `remat.set_rng` writes.
struct GeneratorResource : SideEffects::Resource::Base<GeneratorResource> {
  StringRef getName() final { return "remat.generator"; }
};
/// The decisions that `remat.saved` adds to.
struct PlanResource : SideEffects::Resource::Base<PlanResource> {
  StringRef getName() final { return "remat.plan"; }
};
} // namespace mlir::remat

#define GET_OP_CLASSES
#include "remat/Dialect/Remat/IR/RematOps.h.inc"

namespace mlir::remat {
/// Returns true if `op` is a contraction (matmul-like, with at least one
/// reduction of products of two operands) or a convolution, named or generic,
/// of linalg or of this dialect, but no pooling: what `dots_saveable` saves.
bool isDot(Operation *op);
/// Returns true if `op` is a contraction with a batch dimension: a loop that
/// indexes both inputs and the result.
bool hasBatchDims(Operation *op);

/// Returns true if `op` makes a tensor without contents: a `tensor.empty`, or a
/// `remat.destination`. False for null.
bool isEmptyTensor(Operation *op);
inline bool isEmptyTensor(Value value) {
  return isEmptyTensor(value.getDefiningOp());
}

/// The destination that `value` is with zeros in it, by a linalg.fill; null if
/// it is anything else.
Value getZeroFilled(Value value);

/// Returns true if numbers of this type are computed with: all but tf32, which
/// processors know inside of products only, and formats of a byte, in which
/// sums have no meaning.
bool isComputable(FloatType type);
/// Returns true if values of this type have cotangents: floating-point numbers
/// that are computed with, and dense ranked tensors of them.
bool hasCotangentType(Type type);

/// `value` without the `remat.name`s around it: the same bits.
Value lookThroughNames(Value value);

/// Returns true if a train step in `module` bounds its bytes or their time.
bool hasBudget(ModuleOp module);

/// Returns operands of a region or backward whose block argument has no users,
/// and results that have none.
llvm::BitVector getUnusedInputs(Operation *op);
llvm::BitVector getUnusedResults(Operation *op);
/// Removes operands of a region or backward and their (unused) arguments.
void eraseInputs(Operation *op, const llvm::BitVector &inputs);
/// Removes (unused) results of a region or backward; returns the operation that
/// takes its place. The body stays the same block.
Operation *eraseResults(RewriterBase &rewriter, Operation *op,
                        const llvm::BitVector &results);

/// Phases of a training step (values of the `remat.phase` attribute).
inline constexpr llvm::StringLiteral kBackwardPhase = "backward";
inline constexpr llvm::StringLiteral kRecomputePhase = "recompute";
inline constexpr llvm::StringLiteral kUpdatePhase = "update";

/// The name of the norm of all gradients among results of the step.
inline constexpr llvm::StringLiteral kGradNormName = "remat.grad_norm";

/// The phase of `op`; empty for the forward.
StringRef getPhase(Operation *op);
/// Says that `op` is part of `phase`; does nothing for the forward.
void setPhase(Operation *op, StringRef phase);
/// For what takes the place of `from`, or of a part of it.
void copyPhase(Operation *from, Operation *to);

/// Gives what is built a phase, unless it has one. The scalars of a kernel's
/// body are no operations of the step and get none.
struct PhaseListener : OpBuilder::Listener {
  explicit PhaseListener(StringRef phase) : phase(phase) {}
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override;

private:
  StringRef phase;
};
} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_REMAT_H
