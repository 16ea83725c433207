//===- Origins.h - What the values of a function are made of ----*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_ANNOTATE_ORIGINS_H
#define REMAT_LIB_TRANSFORMS_ANNOTATE_ORIGINS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Calls `visit` with every value from outside that `op` or something in it
/// uses, once for each use.
void forEachUsedValue(Operation *op, function_ref<void(Value)> visit);

/// Whether `value` was made inside of `block` (not in a block around it).
bool isDefinedIn(Value value, Block *block);

/// Whether `op` has an effect of its own that may not be repeated and whose
/// order among others counts: reads and writes of globals, assertions. Not
/// assertions in the body of an operation (a recompute leaves them out) nor
/// draws from a generator (their state is threaded through regions).
bool isBoundToItsPlace(Operation *op);

/// Whether values depend on parameters (arguments with `opt.param`; without
/// any, weights in resources), on data (integer arguments such as tokens and
/// seeds, what is read from globals), on both (activations), or on neither
/// (constants, masks by iota). A floating-point argument that is no parameter
/// counts as both: it is where activations begin.
class Origins {
public:
  explicit Origins(func::FuncOp function);

  static constexpr unsigned kParameter = 1, kData = 2;

  unsigned get(Value value) const { return origins.lookup(value); }
  /// What an operation computes from.
  unsigned get(Operation *op) const { return ofOps.lookup(op); }
  bool isActivation(Operation *op) const {
    return get(op) == (kParameter | kData);
  }
  /// Constants, empty tensors, and tensors that hold one number in every place:
  /// made again wherever they are read.
  bool isMadeAgain(Operation *op) const { return madeAgain.contains(op); }

private:
  void visit(Block &block);
  bool isUniform(Operation *op) const;

  bool hasParameters = false;
  DenseMap<Value, unsigned> origins;
  DenseMap<Operation *, unsigned> ofOps;
  DenseSet<Operation *> madeAgain, uniform;
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_ANNOTATE_ORIGINS_H
