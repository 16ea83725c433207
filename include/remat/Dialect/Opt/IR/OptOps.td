//===- OptOps.td - Operations of the opt dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_OPT_IR_OPTOPS_TD
#define REMAT_DIALECT_OPT_IR_OPTOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Opt/IR/OptAttributes.td"
include "remat/Dialect/Opt/IR/OptTypes.td"

class Opt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Opt_Dialect, mnemonic, traits>;

def Opt_OptimizerOp : Opt_Op<"optimizer", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "an optimizer: a named update rule";
  let description = [{
    `groups` gives parameters other hyperparameters by name. `clip_value` limits
    every element of a gradient to [-clip_value, clip_value]; `clip_norm` then
    scales a gradient whose norm is larger down to that norm, each parameter by
    itself (`torch.nn.utils.clip_grad_value_` and `clip_grad_norm_` on one
    parameter, whose factor is `clip_norm / (norm + 1e-6)`, at most 1). Clipping
    by the norm of all gradients together is a matter of `remat.train_step`.

    `ema = 0.999` keeps an exponential moving average of every parameter that is
    trained, in the type that the rule computes in, as a state `average`. It is
    updated right after the parameter, `average + (1 - ema) * (new - average)`
    with the value that the parameter stores, and is the parameter itself after
    the first step (`torch.optim.swa_utils.AveragedModel` with
    `get_ema_multi_avg_fn`). A step does not read it.

    Example:

    ```mlir
    opt.optimizer @adamw = #opt.adamw<lr = 3.0e-4, weight_decay = 0.01>
        {groups = [#opt.group<"*.bias", weight_decay = 0.0>], clip_norm = 1.0}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, AnyAttr:$rule,
                       OptionalAttr<ArrayAttr>:$groups,
                       OptionalAttr<F64Attr>:$clip_value,
                       OptionalAttr<F64Attr>:$clip_norm,
                       OptionalAttr<F64Attr>:$ema);
  let assemblyFormat = "$sym_name `=` $rule attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The rule for the parameter called `name`, null if a group freezes it.
    ::mlir::opt::UpdateRuleAttrInterface getRuleFor(::llvm::StringRef name);
    /// The tensors that hold the states of the parameter called `name`, which is
    /// trained: those of its rule, then its average.
    ::llvm::SmallVector<::mlir::opt::RuleState>
    getStatesFor(::llvm::StringRef name, ::mlir::RankedTensorType param,
                 ::mlir::Operation *user);
  }];
}

def Opt_EagerStepOp : Opt_Op<"eager_step", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    AttrSizedOperandSegments]> {
  let summary = "one step of an optimizer on one parameter";
  let description = [{
    Takes a parameter, its gradient and its states, and returns the new
    parameter and states. `step` counts from 0. The gradient is multiplied by
    `scale` first, if there is one. `key` is the key of the random bits of a rule
    that rounds stochastically or draws numbers. A state that is quantized is two operands, codes
    and scales (`!opt.blockwise`). `parameter` is the name that parameter groups
    look at. Placed right after the gradient's last contribution, it ends the
    gradient's live range there; `opt-lower-steps` makes it an in-place kernel.

    Example:

    ```mlir
    %w1, %m1, %v1 = opt.eager_step @adamw(%w, %dw, %m, %v) step %t {parameter = "head"}
        : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$optimizer, AnyRankedTensor:$param,
                       AnyRankedTensor:$grad,
                       Variadic<AnyRankedTensor>:$states, I64:$step,
                       Optional<F64>:$scale, Optional<I64>:$key,
                       DefaultValuedAttr<StrAttr, "\"\"">:$parameter);
  let results = (outs AnyRankedTensor:$new_param,
                      Variadic<AnyRankedTensor>:$new_states);
  let assemblyFormat = [{
    $optimizer `(` $param `,` $grad (`,` $states^)? `)` `step` $step
    (`scale` $scale^)? (`key` $key^)? attr-dict `:` type($param) `,` type($grad)
    (`,` type($states)^)?
  }];
  let hasVerifier = 1;
}

#endif // REMAT_DIALECT_OPT_IR_OPTOPS_TD
