//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_PIPELINES_PASSES_TD
#define REMAT_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def OverridePass : Pass<"remat-override", "ModuleOp"> {
  let summary = "other policies and another mode than the model says";
  let description = [{
    Gives every `remat.region` one policy and every `remat.train_step` one mode,
    so that variants of a model can be compared without editing it.
    `policy=none` takes the regions away altogether, and names with them: all
    that the backward needs is saved. In `remat-train` that happens once fusion has
    made the kernels of the forward, up to the borders of regions: another order of
    the sums in their adjoints would be other bits than under a policy. A region
    that has not every name that the policy mentions keeps its own, with a remark.

    Example: `--remat-override="policy=dots_saveable mode=deferred"`.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"\"",
           "a policy as in the assembly, without `#remat.` if that is all of it "
           "(`dots_saveable`, `save_only_names<\"h\">`), or `none`">,
    Option<"mode", "mode", "std::string", "\"\"", "`eager` or `deferred`">,
  ];
}

def StripAnnotationsPass : Pass<"remat-strip-annotations", "ModuleOp"> {
  let summary = "remove everything that only this project's passes read";
  let description = [{
    The last pass before a program leaves for `mlir-runner` or `mlir-translate`,
    which know neither dialect: removes attributes of the `remat` and `opt`
    dialects from operations, arguments and results, and the operations that
    only describe a training: optimizers, train steps and custom derivatives.
  }];
}

#endif // REMAT_PIPELINES_PASSES_TD
