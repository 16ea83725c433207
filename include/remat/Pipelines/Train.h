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

struct ToTensorsOptions : public PassPipelineOptions<ToTensorsOptions> {
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc("one policy for all regions, or `none`, see "
                     "remat-override"),
      llvm::cl::init("")};
  Option<std::string> mode{*this, "mode",
                           llvm::cl::desc("`eager` or `deferred` updates"),
                           llvm::cl::init("")};
};

struct TrainOptions : public PassPipelineOptions<TrainOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("`cpu`"),
                             llvm::cl::init("cpu")};
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc("one policy for all regions, or `none`, see "
                     "remat-override"),
      llvm::cl::init("")};
  Option<std::string> mode{*this, "mode",
                           llvm::cl::desc("`eager` or `deferred` updates"),
                           llvm::cl::init("")};
  Option<std::string> report{
      *this, "report",
      llvm::cl::desc("memory report: `-` for a table on the standard error, "
                     "otherwise a JSON file"),
      llvm::cl::init("")};
};

/// Appends the passes that take an annotated model to flat functions on
/// tensors, ordered for memory.
void buildToTensorsPipeline(OpPassManager &pm, const ToTensorsOptions &options);

/// Appends the passes that take functions on tensors to functions on memrefs
/// that return none, and then packs their memory.
void buildBufferizePipeline(OpPassManager &pm, const BufferizeOptions &options);

/// Appends all of them, down to the LLVM dialect.
void buildTrainPipeline(OpPassManager &pm, const TrainOptions &options);

/// Registers the above as `remat-train-to-tensors`, `remat-bufferize` and
/// `remat-train`.
void registerTrainPipelines();

} // namespace remat
} // namespace mlir

#endif // REMAT_PIPELINES_TRAIN_H
