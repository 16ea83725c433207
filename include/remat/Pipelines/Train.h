//===- Train.h - From an annotated model to a program -----------*- C++ -*-===//

#ifndef REMAT_PIPELINES_TRAIN_H
#define REMAT_PIPELINES_TRAIN_H

#include "mlir/Pass/PassOptions.h"

#include <string>

namespace mlir {
class OpPassManager;
namespace remat {

struct BufferizeOptions : public PassPipelineOptions<BufferizeOptions> {
  Option<std::string> arena{
      *this, "arena",
      llvm::cl::desc("where entry functions get their arena from, see "
                     "remat-pack-memory"),
      llvm::cl::init("auto")};
  Option<bool> reuse{*this, "reuse",
                     llvm::cl::desc("let results take over dying operands"),
                     llvm::cl::init(true)};
  Option<std::string> report{
      *this, "report",
      llvm::cl::desc("memory report: `-` for a table on the standard error, "
                     "otherwise a JSON file"),
      llvm::cl::init("")};
};

/// Appends the passes that take functions on tensors to functions on memrefs
/// that return none, and then packs their memory.
void buildBufferizePipeline(OpPassManager &pm, const BufferizeOptions &options);

/// Registers the above as `remat-bufferize`.
void registerTrainPipelines();

} // namespace remat
} // namespace mlir

#endif // REMAT_PIPELINES_TRAIN_H
