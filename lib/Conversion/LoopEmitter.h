//===- LoopEmitter.h - Loops around a kernel's body -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of all targets have in common: loops that run in order, results
// that are reduced one element after the other.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_LOOPEMITTER_H
#define REMAT_LIB_CONVERSION_LOOPEMITTER_H

#include "KernelBody.h"

namespace mlir::remat {

class LoopEmitter {
public:
  using Values = SmallVector<Value>;

  LoopEmitter(OpBuilder &builder, const LoopNest &nest, KernelBody &body)
      : b(builder), loc(nest.op.getLoc()), nest(nest), body(body) {}

protected:
  /// Constants from which outputs are reduced; null where memory holds them.
  void setInitialValues(ArrayRef<TypedAttr> values) {
    initialValues.assign(values.begin(), values.end());
  }

  Value index(int64_t value);
  Value sizeOf(unsigned loop) {
    return body.materialize(b, nest.loops[loop].size);
  }

  /// The first iteration of all loops.
  Point getStart();
  /// `point` after `iteration` iterations of `loop`.
  Point advance(const Point &point, unsigned loop, Value iteration);

  Values
  emitFor(Value from, Value to, int64_t step, ValueRange carried,
          function_ref<Values(Value iteration, ValueRange carried)> emitBody);

  unsigned outputAccess(unsigned output) const {
    return nest.numInputs + output;
  }
  unsigned numOutputs() const { return nest.accesses.size() - nest.numInputs; }
  /// The outputs' values; null for those that the body does not read.
  Values loadOutputs(const Point &point);
  /// Loads the value from which the reduction of an output starts.
  Value loadInitial(unsigned output, const Point &point);
  void storeOutputs(ValueRange values, const Point &point);

  /// One iteration, through memory. All loads precede all stores, so that an
  /// output may take the place of an input.
  void emitPoint(const Point &point);
  /// The iterations of `loops`, one after the other, through memory.
  void emitInOrder(ArrayRef<unsigned> loops, const Point &point);
  /// Results at `point` (a vector of them), each reduced in order.
  void emitResults(const Point &point);
  /// The reduction loops from `loop` on, except for `skipped`.
  Values
  emitReductionLoops(unsigned loop, std::optional<unsigned> skipped,
                     const Point &point, ValueRange carried,
                     function_ref<Values(const Point &, ValueRange)> emitBody);

  /// `a` combined with `other` as a copy of `combiner` does.
  Value combine(Operation *combiner, Value a, Value other);

  OpBuilder &b;
  Location loc;
  const LoopNest &nest;
  KernelBody &body;

private:
  SmallVector<TypedAttr> initialValues;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_LOOPEMITTER_H
