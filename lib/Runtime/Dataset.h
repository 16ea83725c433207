//===- Dataset.h - Batches from a data file --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_DATASET_H
#define REMAT_RUNTIME_DATASET_H

#include "remat/Runtime/Training.h"

namespace remat {

/// The arrays of a data file that the arguments of one function take their
/// batches from.
class Dataset {
public:
  /// Reads the arrays for those of `arguments` that have the role.
  void read(const std::string &path, const char *source,
            const std::vector<TrainArgument> &arguments, Role role);
  bool empty() const { return arrays.empty(); }
  /// 1 if no array has examples.
  int64_t numBatches() const { return batch ? examples / batch : 1; }
  int64_t numExamples() const { return examples; }
  int64_t batchSize() const { return batch; }
  /// Copies the rows, and what belongs to the `index`-th run of the function,
  /// into the arguments' buffers.
  void fill(const int64_t *rows, int64_t index,
            const std::vector<char *> &buffers) const;

private:
  struct Array {
    size_t argument;
    /// Of an example, or of the value of a step.
    size_t rowBytes;
    char *elements;
    /// How many steps have a value of their own; 0 if rows are examples.
    int64_t steps;
  };
  std::vector<Array> arrays;
  int64_t examples = 0, batch = 0;
};

} // namespace remat

#endif // REMAT_RUNTIME_DATASET_H
