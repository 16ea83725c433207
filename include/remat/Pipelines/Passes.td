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

    `budget`, `budget-of` and `slowdown` replace what train steps say about bytes. They
    and `mode` are errors if there are functions but no train step.

    Example: `--remat-override="policy=dots_saveable mode=deferred"`.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"\"",
           "a policy as in the assembly, without `#remat.` if that is all of it "
           "(`dots_saveable`, `save_only_names<\"h\">`), or `none`">,
    Option<"mode", "mode", "std::string", "\"\"", "`eager` or `deferred`">,
    Option<"budget", "budget", "std::string", "\"\"", "as in `remat.train_step`">,
    Option<"budgetOf", "budget-of", "std::string", "\"\"", "`step` or `arena`">,
    Option<"slowdown", "slowdown", "std::string", "\"\"", "as in `remat.train_step`">,
  ];
}

def FitBudgetPass : Pass<"remat-fit-budget", "ModuleOp"> {
  let summary = "recompute what a budget of bytes asks for";
  let description = [{
    Makes the functions of a module fit into so many bytes, at the least cost in time
    that is found: which values are dropped and recomputed, and in which order
    everything runs. A value may be recomputed several times, from whatever is alive
    by then. No region and no policy is needed; what they have decided stays.

    In: flat functions on tensors after `remat-schedule`, whose kernels are final. Out:
    the same in another order, with operations that are recomputed. Each of these reads
    through a `remat.barrier repeated`, so that nothing merges it with its
    first run. Values do not change, and no bit of them.

    The first `remat.train_step` with a `budget` or a `slowdown` says what holds for
    all functions; without one, nothing happens.

    `budget` is a number of bytes with a unit (`500MiB`, `1.5GB`), or a fraction of
    what the functions take as they stand (`0.5`), with nothing recomputed but what
    policies ask for and what is almost free. It bounds everything that a step
    needs: the arena, the larger one of step and evaluation, parameters, states, data
    and results; with `budget_of = "arena"` the arena alone.

    `slowdown` asks for the fewest bytes instead, for at most so much more time by the
    model of costs (0.1: 10 %).

    First runs keep their order, which was chosen for more than bytes, if any plan with
    it fits. Values that a policy names (`remat.saved`) are not dropped.

    The planner (docs/planner.md) searches all budgets, so that a looser one never
    costs more time, and the search ends after a number of steps, not of seconds: the same
    plan on each machine. A plan is tried before it is taken, by bufferizing and
    packing a copy. A budget that is not met is an error, which says what was.

    Example: `--remat-train="budget=500MiB"`.
  }];
  let options = [
    Option<"planVisits", "plan-visits", "uint64_t", "200000000",
           "how many nodes and values of schedules the search looks at">,
    Option<"target", "target", "std::string", "\"cpu\"", "what the program runs on">,
    Option<"threads", "threads", "uint64_t", "0",
           "how many threads workspaces are reserved for (0: as many as the target usually has)">,
    Option<"convWorkspace", "conv-workspace", "uint64_t", "0",
           "least bytes of memory for the algorithm of a convolution">,
  ];
}

def FitLoopsPass : Pass<"remat-fit-loops", "ModuleOp"> {
  let summary = "how many states loops keep for a budget of bytes";
  let description = [{
    Where a step with tapes does not fit into the budget of the first `remat.train_step`
    that has one, puts loops into regions with `#remat.snapshots`: as many states
    as fit, of each loop of the model that carries something and is in no region. What
    loops keep is fixed by `remat-differentiate`; `remat-fit-budget` recomputes other
    values, and has the first word: if single values are enough, loops stay as they are.

    The rest of the pipeline runs on copies of the module, with more and more
    repetitions of iterations until it fits, then between the last two. All loops have as
    many repetitions, so that long ones keep more states than short ones. A budget that
    is a fraction becomes one in bytes, of the step with tapes.

    In: fused functions before `remat-differentiate`.

    Example: `--remat-train="budget=1MiB"` of a recurrent net.
  }];
  let options = [
    Option<"planVisits", "plan-visits", "uint64_t", "200000000",
           "as in `remat-fit-budget`">,
    Option<"target", "target", "std::string", "\"cpu\"", "what the program runs on">,
    Option<"threads", "threads", "uint64_t", "0",
           "how many threads workspaces are reserved for (0: as many as the target usually has)">,
    Option<"convWorkspace", "conv-workspace", "uint64_t", "0",
           "least bytes of memory for the algorithm of a convolution">,
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
