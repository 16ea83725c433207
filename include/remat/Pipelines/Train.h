//===- Train.h - From an annotated model to a program -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_PIPELINES_TRAIN_H
#define REMAT_PIPELINES_TRAIN_H

#include "remat/Pipelines/Target.h"

namespace mlir {
class OpPassManager;
namespace remat {

/// Options that several pipelines have; `PassPipelineOptions` inherits its base
/// virtually so that they can be mixed in.
struct VariantOptions : public virtual mlir::detail::PassOptions {
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc("one policy for all regions, or `none`, see "
                     "remat-override"),
      llvm::cl::init("")};
  Option<std::string> mode{*this, "mode",
                           llvm::cl::desc("`eager` or `deferred` updates"),
                           llvm::cl::init("")};
  CheckedOption<int64_t> lossTile{
      *this, "loss-tile",
      llvm::cl::desc("losses over a vocabulary are computed in tiles of rows: "
                     "bytes of the logits of a tile; 0: logits stay whole; -1: "
                     "chosen by their size, see remat-tile-loss-heads"),
      llvm::cl::init(-1)};
  CheckedOption<int64_t> layersOnce{
      *this, "layers-once",
      llvm::cl::desc("so many equal layers or more become one function, which "
                     "is compiled once; 0: none do; -1: on the CPU, large ones "
                     "of which there are 8, see remat-outline-layers"),
      llvm::cl::init(-1)};
};

struct MeshOptions : public virtual mlir::detail::PassOptions {
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("train on a grid of ranks: axes with ranks and parts "
                     "(data:2:4,model:2), see remat-annotate-shards"),
      llvm::cl::init("")};
  Option<std::string> shards{
      *this, "shards",
      llvm::cl::desc("what ranks share, other than the rows of data, see "
                     "remat-annotate-shards"),
      llvm::cl::init("")};
};

struct BudgetOptions : public virtual mlir::detail::PassOptions {
  Option<std::string> budget{
      *this, "budget",
      llvm::cl::desc("most bytes that a step may take (500MiB), or a fraction "
                     "of what it takes before anything is recomputed for a "
                     "budget (0.5), see remat-fit-budget"),
      llvm::cl::init("")};
  Option<std::string> budgetOf{
      *this, "budget-of",
      llvm::cl::desc("what the budget bounds: `step`, everything that a step "
                     "needs, or its `arena`"),
      llvm::cl::init("")};
  Option<std::string> slowdown{
      *this, "slowdown",
      llvm::cl::desc(
          "instead of a budget: the fewest bytes for at most so much "
          "more time, as a fraction of all of it (0.1)"),
      llvm::cl::init("")};
  CheckedOption<uint64_t> planVisits{
      *this, "plan-visits",
      llvm::cl::desc("how many nodes and values of schedules the search for a "
                     "budget looks at: with more, cheaper plans are found"),
      llvm::cl::init(200'000'000)};
};

struct ReportOptions : public virtual mlir::detail::PassOptions {
  Option<std::string> report{
      *this, "report",
      llvm::cl::desc("memory report: `-` for a table on the standard error, "
                     "otherwise a JSON file"),
      llvm::cl::init("")};
  /// Where programs that run the pipeline themselves get the JSON.
  raw_ostream *reportStream = nullptr;
};

/// Options of the part on tensors.
struct TensorOptions : public VariantOptions,
                       public MeshOptions,
                       public BudgetOptions,
                       public TargetOptions {};

struct ToTensorsOptions : public PassPipelineOptions<ToTensorsOptions>,
                          public TensorOptions {};

struct BufferizeOptions : public PassPipelineOptions<BufferizeOptions>,
                          public ReportOptions,
                          public TargetOptions {
  Option<std::string> arena{
      *this, "arena",
      llvm::cl::desc("where entry functions get their arena from, see "
                     "remat-pack-memory"),
      llvm::cl::init("auto")};
  CheckedOption<bool> reuse{
      *this, "reuse", llvm::cl::desc("let results take over dying operands"),
      llvm::cl::init(true)};
};

struct TrainOptions : public PassPipelineOptions<TrainOptions>,
                      public TensorOptions,
                      public ReportOptions {
  CheckedOption<bool> checkNaNs{
      *this, "check-nans",
      llvm::cl::desc("End a step at the first operation that makes a NaN, and "
                     "name it; such a step is slow"),
      llvm::cl::init(false)};
};

/// Appends the passes that take an annotated model to flat functions on
/// tensors, ordered for memory.
void buildToTensorsPipeline(OpPassManager &pm, const TensorOptions &options);

/// Appends those of these passes that follow `remat-fit-loops`.
void buildFromForwardPipeline(OpPassManager &pm, const TensorOptions &options);

/// Appends the passes up to the decisions about what the backward keeps, and
/// prints these to `os`, which outlives the pipeline.
void buildExplainPipeline(OpPassManager &pm, const TensorOptions &options,
                          raw_ostream &os);

/// Appends the passes that take functions on tensors to functions on memrefs
/// that return none, and then packs their memory.
void buildBufferizePipeline(OpPassManager &pm, const BufferizeOptions &options);

/// Appends both of these: to functions whose arguments still say what they are.
void buildPackedPipeline(OpPassManager &pm, const TrainOptions &options);

/// Appends what is left, down to what the target executes: a `@main` that
/// trains, or, with `asFunction`, the function of one step (see
/// `remat-lower-train-step`).
void buildProgramPipeline(OpPassManager &pm, const TrainOptions &options,
                          bool asFunction = false);

/// Appends all of them.
void buildTrainPipeline(OpPassManager &pm, const TrainOptions &options);

/// Registers the above as `remat-train-to-tensors`, `remat-explain`,
/// `remat-bufferize` and `remat-train`.
void registerTrainPipelines();

} // namespace remat
} // namespace mlir

#endif // REMAT_PIPELINES_TRAIN_H
