//===- Target.h - What the shared pipelines ask of a target -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipelines in Train.h know what a training step is, a target knows what it
// runs on. A new target is a class like the one in lib/Pipelines/CPU.cpp.
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_TARGET_H
#define REMAT_PIPELINES_TARGET_H

#include "remat/Pipelines/Options.h"

#include "mlir/Support/LLVM.h"

#include <memory>
#include <string>

namespace mlir {
class OpPassManager;
namespace remat {
struct TargetOptions;

/// Describes what programs run on. No answer may depend on the machine that
/// compiles: a program is a function of the model and the options.
class Target {
public:
  virtual ~Target();

  /// Its name in `target=`.
  virtual StringRef getName() const = 0;

  /// Of the arena and of every buffer in it, in bytes.
  virtual int64_t getAlignment() const = 0;

  /// How many batches of data are in its memory at once.
  virtual int64_t getDataSlots() const { return 1; }

  /// How many threads workspaces are reserved for unless `threads=` says so.
  virtual int64_t getDefaultThreads() const = 0;

  /// The fewest rows of a loss head that keep it busy: each tile reads and
  /// writes the gradient of the weights beside its products.
  virtual int64_t getTileRows() const { return 128; }

  /// Returns true if kernels that stand side by side become one, which reads
  /// once what both of them read.
  virtual bool mergesKernels() const { return false; }

  /// How many dimensions in space its library's convolutions have at most;
  /// others are loops.
  virtual unsigned getConvolutionDims() const { return 2; }

  /// Operations with linalg's AggregatedOpInterface (`linalg.softmax`) that the
  /// target lowers as a whole; the others are expanded.
  virtual ArrayRef<StringRef> getWholeAggregates() const { return {}; }

  /// Returns true if its attention of f16 or bf16 writes results and gradients
  /// in that type.
  virtual bool roundsInAttention() const { return false; }

  /// Appends passes on the forward, before what depends on its form is detached
  /// from the gradient: other forms of variances, which change values by
  /// rounding.
  virtual void addBeforeDetaching(OpPassManager &pm) const {}

  /// Appends a pass on tensors that expands those operations with such a name
  /// which the target does not lower after all.
  virtual void addBeforeDecomposing(OpPassManager &pm) const {}

  /// Appends passes on tensors that the schedule should know the result of:
  /// fusion of the target's own, operations of its own, and the workspace that
  /// operations will get (`remat.workspace_bytes`), which the options may
  /// change.
  virtual void addBeforeScheduling(OpPassManager &pm,
                                   const TargetOptions &options) const {}

  /// Appends passes on bufferized functions before their memory is packed:
  /// whatever allocates, such as the workspace of a library, is part of the
  /// peak then.
  virtual void addBeforePacking(OpPassManager &pm,
                                const TargetOptions &options) const {}

  /// Appends the passes that make a `@main` of a `remat.train_step`, or, with
  /// `asFunction`, the function of one step.
  virtual void addTrainStepLowering(OpPassManager &pm,
                                    bool asFunction) const = 0;

  /// Appends the passes from packed functions to what is executed.
  virtual void addLowering(OpPassManager &pm,
                           const TargetOptions &options) const = 0;
};

/// Makes a target known to `target=`; one of the same name is replaced.
void registerTarget(std::unique_ptr<Target> target);

/// Null if there is none of this name.
const Target *lookupTarget(StringRef name);

/// Refuses names of no registered target, and names the choices.
struct TargetParser : public llvm::cl::parser<std::string> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, StringRef name, StringRef value,
             std::string &target);
};

/// Options of pipelines that depend on the target.
struct TargetOptions : public virtual mlir::detail::PassOptions {
  Option<std::string, TargetParser> target{
      *this, "target", llvm::cl::desc("what the program runs on"),
      llvm::cl::init("cpu")};
  CheckedOption<uint64_t> threads{
      *this, "threads",
      llvm::cl::desc("how many threads workspaces are reserved for, on any "
                     "machine (0: as many as the target usually has)"),
      llvm::cl::init(0)};
  CheckedOption<uint64_t> convWorkspace{
      *this, "conv-workspace",
      llvm::cl::desc("least bytes of memory for the algorithm of a convolution "
                     "(`cuda`), where the library has none for what it gets"),
      llvm::cl::init(0)};
  ListOption<std::string> chips{
      *this, "chips",
      llvm::cl::desc("chips to make a binary for (`cuda`: sm_80,sm_90,...; "
                     "default: the usual ones)")};
  CheckedOption<bool> tf32{
      *this, "tf32",
      llvm::cl::desc("products, convolutions and attention of f32 may round "
                     "their factors to TF32, 10 bits of mantissa (`cuda`)"),
      llvm::cl::init(false)};
  Option<std::string> toolkit{
      *this, "toolkit",
      llvm::cl::desc("folder of the CUDA toolkit (`cuda`; default: search)")};
  Option<std::string> dumpKernels{
      *this, "dump-kernels",
      llvm::cl::desc("folder for PTX, machine code and resources of the "
                     "kernels (`cuda`)")};
  CheckedOption<int64_t> blockSize{
      *this, "block-size",
      llvm::cl::desc("threads of a block (`cuda`); no bit depends on it"),
      llvm::cl::init(256)};
  CheckedOption<bool> emulate{
      *this, "emulate",
      llvm::cl::desc("run the kernels of the device on the host (`cuda`)"),
      llvm::cl::init(false)};
  CheckedOption<bool> check{
      *this, "check",
      llvm::cl::desc("with `emulate`: look for races and wrong accesses"),
      llvm::cl::init(false)};

  const Target &getTarget() const;
  int64_t getThreads() const {
    return threads > 0 ? threads : getTarget().getDefaultThreads();
  }
};

} // namespace remat
} // namespace mlir

#endif // REMAT_PIPELINES_TARGET_H
