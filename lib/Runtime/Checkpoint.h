//===- Checkpoint.h - A run in a file --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An .npz with every parameter and state by name, and beside them what a
// resumed run must agree in: remat.step, remat.seed, remat.batch_size,
// remat.shuffle and remat.optimizer.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CHECKPOINT_H
#define REMAT_RUNTIME_CHECKPOINT_H

#include "remat/Runtime/Training.h"

namespace remat {

class Checkpoint {
public:
  /// `buffers` are those of the description's arguments; `batchSize` counts the
  /// examples of a step, 0 if there are none. Fails if the description names a
  /// file that cannot be written. One that does not write loads only, and says
  /// nothing of it: another rank does.
  Checkpoint(const TrainDescription &description,
             const std::vector<char *> &buffers, int64_t batchSize,
             bool writes = true);

  /// Returns true if the run has a file.
  bool isWanted() const { return !description.checkpoint.empty(); }
  /// Fills the buffers and returns the number of steps that were done; nothing
  /// happens if there is no file yet.
  std::optional<int64_t> load();
  /// Saves the run after `step` steps, of which the last one's loss was `loss`.
  /// A run whose numbers are not finite any more fails instead: what it could
  /// go on from stays.
  void save(int64_t step, double loss);

private:
  void expectFinite(int64_t step, double loss) const;

  const TrainDescription &description;
  const std::vector<char *> &buffers;
  int64_t batchSize, shuffle;
  bool writes;
  std::optional<int64_t> savedStep;
};

} // namespace remat

#endif // REMAT_RUNTIME_CHECKPOINT_H
