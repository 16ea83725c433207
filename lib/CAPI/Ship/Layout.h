//===- Layout.h - Where everything of a shipped step is --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that decides about the state, the arena, and the structs of the
// header: the header, the object and the files only write down what is here.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CAPI_SHIP_LAYOUT_H
#define REMAT_LIB_CAPI_SHIP_LAYOUT_H

#include "Core/Ship.h"
#include "remat/Runtime/Training.h"

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace mlir::remat {

/// Returns true if C and C++ take `name` as a name.
bool isIdentifier(StringRef name);

/// A member of one of the header's structs, or a part of the state.
struct ShipField {
  /// An identifier of C, which no other field of the struct has.
  std::string name;
  /// Its number in the description.
  size_t argument;
  /// From the start of the struct or of the state.
  int64_t at = 0;
  /// True if the struct has a pointer to it.
  bool isPointer = false;
};

/// Bytes that a thread needs for products, each aligned.
struct ShipWorkspace {
  int64_t panels = 0, left = 0, sums = 0;
};

struct ShipLayout {
  /// `pointerBytes`: of the processor that it is for.
  ShipLayout(const ::remat::TrainDescription &description, std::string name,
             std::vector<std::string> rates, ShipWorkspace workspace,
             int64_t pointerBytes);

  const ::remat::TrainArgument &get(const ShipField &field) const {
    return description.arguments[field.argument];
  }
  /// Everything that a step needs: state, arena, batch and results.
  int64_t getPeakBytes() const;
  /// The constants of the object, as the core reads them.
  std::string getModel() const;
  /// The header of files with the state, with marks for numbers.
  std::string getFileHeader() const;

  const ::remat::TrainDescription &description;
  /// The prefix of functions, and of macros.
  std::string name, macro;
  /// Learning rates in the state: which part of the optimizer has them.
  std::vector<std::string> rates;
  /// True if the model says what they are unless they are set.
  bool hasSchedules = true;
  bool hasEvaluation;
  std::vector<ShipField> state, batch, evalBatch, results, evalResults;
  /// Parts of the state in the order of files, by number in the description.
  std::vector<size_t> saved;
  int64_t stateBytes = 0, arenaBytes = 0, threadBytes = 0;
  int64_t batchBytes = 0, resultBytes = 0;

private:
  void addState();
  void addStructs();
  void addArena();
  ShipField makeField(std::vector<ShipField> &fields, size_t argument,
                      StringRef name);

  std::vector<::remat::ShipArgument> arguments;
  ShipWorkspace workspace;
  int64_t pointerBytes;
  int64_t addressesAt = 0, workspaceAt = 0;
};

/// A tensor of a safetensors file.
struct ShipTensor {
  std::string name;
  ::remat::ArrayType type;
  const void *data;
};

/// The entries of a safetensors header for tensors that follow each other, as
/// Python's `json` prints them, each after a comma.
std::string printTensors(ArrayRef<ShipTensor> tensors);
/// A string as `json` prints it.
std::string printString(StringRef text);

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_SHIP_LAYOUT_H
