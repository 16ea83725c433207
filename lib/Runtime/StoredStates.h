//===- StoredStates.h - States that are quantized ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run may go on from a checkpoint whose states are stored in another way.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_STOREDSTATES_H
#define REMAT_LIB_RUNTIME_STOREDSTATES_H

#include "remat/Runtime/Training.h"

namespace remat {

/// Where a checkpoint says what its codes stand for: text, with a line for each
/// array of codes, its name, a tab and `StoredBlocks::str`.
inline constexpr const char *storedKey = "remat.stored";

/// The numbers of codes and scales (`!opt.blockwise`), which have a row and an
/// element for each block.
std::vector<double> dequantize(const StoredBlocks &blocks, const uint8_t *codes,
                               const float *scales);
/// Codes and scales of numbers.
void quantize(const StoredBlocks &blocks, const std::vector<double> &numbers,
              uint8_t *codes, float *scales);

/// Reads optimizer states from a file that has them in another way than this
/// run: as numbers of another type, or as codes of another kind.
class StateReader {
public:
  explicit StateReader(const ArrayFile &file);

  /// Reads the state into its `data`; returns false, and reads nothing, where
  /// the file has it as it is, or in no way that could be converted. The codes
  /// of a state come before its scales.
  bool convert(const TrainArgument &argument, char *data);
  /// Describes the conversions, for a message; empty if there were none.
  std::string describe() const;

private:
  bool convertToCodes(const TrainArgument &argument, char *data);
  std::optional<std::vector<double>> readNumbers(const std::string &name,
                                                 int64_t count) const;
  std::string describeSource(const std::string &name) const;

  const ArrayFile &file;
  /// The meaning of the file's codes, by name.
  std::map<std::string, StoredBlocks> stored;
  /// Scales of states that were quantized, by the names of their arrays.
  std::map<std::string, std::vector<float>> scales;
  /// How many of each kind were converted.
  std::map<std::string, int64_t> converted;
};

/// Describes the codes among the arguments, as checkpoints have it.
std::string describeStored(const TrainDescription &description);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_STOREDSTATES_H
