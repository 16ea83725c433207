//===- TrainDescription.h - Arguments of a training step -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever calls a bufferized step, generated code or a host program, has to
// know what each argument is, how large it is, and what it starts from.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_TRAINPROGRAM_TRAINDESCRIPTION_H
#define REMAT_TRANSFORMS_TRAINPROGRAM_TRAINDESCRIPTION_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Split/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::remat {

/// A result of a call, wherever it is: returned, or in a buffer of main's.
struct CallResult {
  DictionaryAttr attributes;
  Type type;
  /// Number among the results, or -1.
  int result = -1;
  int buffer = -1;
};

/// A function that main calls.
struct Callee {
  func::FuncOp function;
  /// For each argument, the buffer that holds it, or -1 for the step's number.
  SmallVector<int> buffers;
  /// All results in the order of the function on tensors.
  SmallVector<CallResult> results;
};

/// The number type of a scalar result, null for others.
Type getScalarType(Type type);

/// The result with `remat.loss`, else the first floating-point scalar; null if
/// there is none.
const CallResult *findLoss(ArrayRef<CallResult> results);

/// A result that is no next value of an argument, in the buffer that has it
/// after a call: written there, or, with `result`, returned.
struct Output {
  std::string name;
  int buffer = -1;
  int result = -1;
};

/// Collects the description that main hands to the runtime; the position of an
/// argument in it is the number of its buffer.
class TrainDescription {
public:
  explicit TrainDescription(TrainStepOp train) : train(train), os(text) {}

  LogicalResult addOptions();
  LogicalResult addStep(func::FuncOp step);
  /// The function of `eval(...)`, if there is one.
  LogicalResult addEvaluation();
  /// After these two: a name for each result of the step and of the evaluation
  /// that is no next value (`loss`, its `remat.metric`, or `result<k>`), and
  /// buffers for those that are returned.
  LogicalResult addOutputs();

  Callee step, evaluation;
  /// Type of each buffer as the callee sees it: a memref, or a scalar.
  SmallVector<Type> types;
  /// The value (`remat.init`) that a buffer starts from, or null.
  SmallVector<ElementsAttr> initialValues;
  SmallVector<Output> outputs, evaluationOutputs;
  /// The format is that of `remat/Runtime/Training.h`.
  std::string text;

private:
  LogicalResult addName(Location loc, StringRef name);
  LogicalResult addArgument(Callee &callee, unsigned argument,
                            bool isEvaluation);
  LogicalResult addLine(Location loc, const Twine &what, Type type,
                        StringRef role, StringRef name, StringRef initial);
  LogicalResult addLine(func::FuncOp function, unsigned argument,
                        StringRef role, StringRef name, StringRef initial);
  void addStored(func::FuncOp function, unsigned argument, unsigned param);
  void addShard(func::FuncOp function, unsigned argument);
  LogicalResult addVariable(func::FuncOp function, unsigned argument,
                            StringRef role, StringRef name);
  LogicalResult addMetrics();
  LogicalResult addOutputs(Callee &callee, StringRef key,
                           SmallVectorImpl<Output> &outputs);
  FailureOr<int> addOutputBuffer(Callee &callee, const CallResult &result,
                                 unsigned index);
  std::string getDataKey(Callee &callee, unsigned argument);

  TrainStepOp train;
  std::optional<Mesh> mesh;
  llvm::raw_string_ostream os;
  /// Buffers of parameters and model states, which the evaluation shares.
  llvm::StringMap<int> shared;
  /// Every key of a checkpoint, to see that no two are the same.
  llvm::StringMap<int> keys;
  int numRandom = 0, numData = 0;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_TRAINPROGRAM_TRAINDESCRIPTION_H
