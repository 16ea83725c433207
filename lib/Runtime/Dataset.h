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
  /// Reads the arrays for those of `arguments` that have the role. Of those
  /// that ranks share, this rank takes its parts.
  void read(const std::string &path, const char *source,
            const std::vector<TrainArgument> &arguments, Role role);
  bool empty() const { return arrays.empty(); }
  /// 1 if no array has examples.
  int64_t numBatches() const { return batch ? examples / batch : 1; }
  int64_t numExamples() const { return examples; }
  /// Of all ranks.
  int64_t batchSize() const { return batch; }
  /// Copies this rank's part of the rows of a batch, and of what belongs to the
  /// `index`-th run of the function, into the arguments' buffers.
  void fill(const int64_t *rows, int64_t index,
            const std::vector<char *> &buffers) const;

private:
  /// Contiguous bytes of an example, or of the value of a step, and where they
  /// are in this rank's part of it.
  struct Run {
    size_t from, to, bytes;
  };
  struct Array {
    size_t argument;
    /// Of an example, or of the value of a step: the whole, and this rank's
    /// part.
    size_t rowBytes, partBytes;
    char *elements;
    /// How many steps have a value of their own; 0 if rows are examples.
    int64_t steps;
    /// The examples of a batch that this rank takes.
    int64_t firstRow, numRows;
    std::vector<Run> runs;
  };
  static std::vector<Run> findRuns(const TrainArgument &argument,
                                   size_t firstDim);
  static void copyRow(const Array &array, int64_t row, char *into);

  std::vector<Array> arrays;
  int64_t examples = 0, batch = 0;
};

} // namespace remat

#endif // REMAT_RUNTIME_DATASET_H
