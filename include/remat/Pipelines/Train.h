//===- Train.h - From an annotated model to a program -----------*- C++ -*-===//

#ifndef REMAT_PIPELINES_TRAIN_H
#define REMAT_PIPELINES_TRAIN_H

#include "mlir/Pass/PassOptions.h"

#include <string>

namespace mlir {
class OpPassManager;
namespace remat {

/// What `remat-train` lowers to.
enum class Target { CPU };

/// Names the choices, where the parser of enumerations would only say that
/// there is no such one.
struct TargetParser : public llvm::cl::parser<Target> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef value, Target &target);
  static void print(llvm::raw_ostream &os, Target target);
};

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
};

struct ReportOptions : public virtual mlir::detail::PassOptions {
  Option<std::string> report{
      *this, "report",
      llvm::cl::desc("memory report: `-` for a table on the standard error, "
                     "otherwise a JSON file"),
      llvm::cl::init("")};
};

struct ToTensorsOptions : public PassPipelineOptions<ToTensorsOptions>,
                          public VariantOptions {};

struct BufferizeOptions : public PassPipelineOptions<BufferizeOptions>,
                          public ReportOptions {
  Option<std::string> arena{
      *this, "arena",
      llvm::cl::desc("where entry functions get their arena from, see "
                     "remat-pack-memory"),
      llvm::cl::init("auto")};
  Option<bool> reuse{*this, "reuse",
                     llvm::cl::desc("let results take over dying operands"),
                     llvm::cl::init(true)};
};

struct TrainOptions : public PassPipelineOptions<TrainOptions>,
                      public VariantOptions,
                      public ReportOptions {
  Option<Target, TargetParser> target{
      *this, "target", llvm::cl::desc("what the program runs on"),
      llvm::cl::values(clEnumValN(Target::CPU, "cpu", "this machine's CPU")),
      llvm::cl::init(Target::CPU)};
};

/// Appends the passes that take an annotated model to flat functions on
/// tensors, ordered for memory.
void buildToTensorsPipeline(OpPassManager &pm, const ToTensorsOptions &options);

/// Appends the passes up to the decisions about what the backward keeps, and
/// prints these to the standard error.
void buildExplainPipeline(OpPassManager &pm, const ToTensorsOptions &options);

/// Appends the passes that take functions on tensors to functions on memrefs
/// that return none, and then packs their memory.
void buildBufferizePipeline(OpPassManager &pm, const BufferizeOptions &options);

/// Appends all of them, down to the LLVM dialect.
void buildTrainPipeline(OpPassManager &pm, const TrainOptions &options);

/// Registers the above as `remat-train-to-tensors`, `remat-explain`,
/// `remat-bufferize` and `remat-train`.
void registerTrainPipelines();

} // namespace remat
} // namespace mlir

#endif // REMAT_PIPELINES_TRAIN_H
