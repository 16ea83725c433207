//===- OptAttributes.td - Update rules and schedules ------*- tablegen -*-===//

#ifndef REMAT_DIALECT_OPT_IR_OPTATTRIBUTES_TD
#define REMAT_DIALECT_OPT_IR_OPTATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "remat/Dialect/Opt/IR/OptDialect.td"

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

def Opt_UpdateRuleAttrInterface : AttrInterface<"UpdateRuleAttrInterface"> {
  let cppNamespace = "::mlir::opt";
  let description = [{
    How an optimizer updates one element of a parameter. A dialect adds a rule
    by implementing this interface on an attribute; `opt.optimizer` accepts it.
    States start at zero.
  }];
  let methods = [
    InterfaceMethod<[{
        Names of the state tensors that the rule keeps for each parameter.
      }], "::llvm::SmallVector<::std::string>", "getStateNames">,
    InterfaceMethod<[{
        The learning rate: a float, a schedule or a symbol of a function from
        i64 to f32.
      }], "::mlir::Attribute", "getLearningRate">,
    InterfaceMethod<[{
        Builds what depends on the step only. `step` is an i64 that counts from
        0, `lr` an f64. The results (f64) reach `emitUpdate` in the type that
        the rule computes in.
      }], "::llvm::SmallVector<::mlir::Value>", "emitScalars",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$step, "::mlir::Value":$lr)>,
    InterfaceMethod<[{
        Builds the update of one element. Everything is of one floating-point
        type. Returns the new parameter, then the new states.
      }], "::llvm::SmallVector<::mlir::Value>", "emitUpdate",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$param, "::mlir::Value":$grad,
           "::mlir::ValueRange":$states, "::mlir::ValueRange":$scalars)>,
    InterfaceMethod<[{
        The rule with some hyperparameters replaced, as a parameter group asks
        for; null after a diagnostic where it has no such hyperparameter.
      }], "::mlir::Attribute", "withOverrides",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::DictionaryAttr":$overrides)>,
  ];
}

def Opt_ScheduleAttrInterface : AttrInterface<"ScheduleAttrInterface"> {
  let cppNamespace = "::mlir::opt";
  let description = [{
    A learning rate as a function of the step.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the learning rate (f64) of `step`, an i64 that counts from 0.
      }], "::mlir::Value", "emitSchedule",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$step)>,
  ];
}

//===----------------------------------------------------------------------===//
// Update rules
//===----------------------------------------------------------------------===//

/// Hyperparameters are written `name = value` in any order; those left out have
/// their default, and the printed form leaves the defaults out. The dictionary
/// holds all of them.
class Opt_Hyperparameters<string cppName, string ruleMnemonic, string text,
                          list<Trait> traits>
    : AttrDef<Opt_Dialect, cppName, traits> {
  let mnemonic = ruleMnemonic;
  let summary = text;
  let parameters = (ins "::mlir::DictionaryAttr":$hyperparameters);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A hyperparameter that is a number.
    double getReal(::llvm::StringRef name) const {
      return ::llvm::cast<::mlir::FloatAttr>(getHyperparameters().get(name))
          .getValueAsDouble();
    }
  }];
}

class Opt_Rule<string cppName, string ruleMnemonic, string text>
    : Opt_Hyperparameters<cppName, ruleMnemonic, text,
        [DeclareAttrInterfaceMethods<Opt_UpdateRuleAttrInterface>]>;

def Opt_SGD : Opt_Rule<"SGD", "sgd",
    "gradient descent with momentum, Nesterov's momentum and weight decay"> {
  let description = [{
    `torch.optim.SGD`. With g the gradient plus `weight_decay` times the
    parameter, and the buffer b (absent without `momentum`):

        b = momentum * b + (1 - dampening) * g        (first step: b = g)
        p = p - lr * (nesterov ? g + momentum * b : b)

    Example: `#opt.sgd<lr = 0.1, momentum = 0.9, nesterov = true>`.
    State: `momentum`, if it is not 0.
  }];
}

def Opt_Adam : Opt_Rule<"Adam", "adam", "Adam (Kingma and Ba, 2015)"> {
  let description = [{
    `torch.optim.Adam`; `weight_decay` adds an L2 term to the gradient. With t
    counting from 1:

        g = g + weight_decay * p
        m = m + (1 - b1) * (g - m)
        v = b2 * v + (1 - b2) * g * g
        p = p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)

    Example: `#opt.adam<lr = 1.0e-3>`. States: `m`, `v`.
  }];
}

def Opt_AdamW : Opt_Rule<"AdamW", "adamw",
    "Adam with decoupled weight decay (Loshchilov and Hutter, 2019)"> {
  let description = [{
    `torch.optim.AdamW` and `optax.adamw`: as `#opt.adam`, but first
    `p = p * (1 - lr * weight_decay)` instead of an L2 term.

    Example: `#opt.adamw<lr = 3.0e-4, weight_decay = 0.01>`. States: `m`, `v`.
  }];
}

def Opt_Lion : Opt_Rule<"Lion", "lion",
    "Lion: sign of an interpolated momentum (Chen et al., 2023)"> {
  let description = [{
    `optax.lion`:

        u = sign(b1 * m + (1 - b1) * g)
        p = p - lr * (u + weight_decay * p)
        m = b2 * m + (1 - b2) * g

    Example: `#opt.lion<lr = 1.0e-4, weight_decay = 0.1>`. State: `m`.
  }];
}

def Opt_Custom : AttrDef<Opt_Dialect, "Custom", [
    DeclareAttrInterfaceMethods<Opt_UpdateRuleAttrInterface>]> {
  let mnemonic = "custom";
  let summary = "a rule that is a function of this module";
  let description = [{
    `@rule` takes the parameter, the gradient, `states` states, the step (i64,
    from 0) and the learning rate (f32), and returns the new parameter and
    states. On scalars (f32; f64 for f64 parameters, the learning rate too) its
    body becomes the body of the update's kernel; on tensors it is called, and
    its results are copied into the parameter and the states where it does not
    compute them in place.

    Example: `#opt.custom<@signum, states = 1, lr = 1.0e-3>`.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$rule,
                        "::mlir::DictionaryAttr":$hyperparameters);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumStates() const {
      return ::llvm::cast<::mlir::IntegerAttr>(
          getHyperparameters().get("states")).getInt();
    }
  }];
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

class Opt_Schedule<string cppName, string scheduleMnemonic, string text>
    : Opt_Hyperparameters<cppName, scheduleMnemonic, text,
        [DeclareAttrInterfaceMethods<Opt_ScheduleAttrInterface>]>;

def Opt_Constant : Opt_Schedule<"Constant", "constant",
    "the same learning rate at every step"> {
  let description = [{ Example: `#opt.constant<value = 1.0e-3>`. }];
}

def Opt_LinearWarmupCosine : Opt_Schedule<"LinearWarmupCosine",
    "linear_warmup_cosine",
    "a linear rise from 0, then half a cosine down to a floor"> {
  let description = [{
    `optax.warmup_cosine_decay_schedule(0, peak, warmup, total, floor)`:
    `peak * step / warmup` for `warmup` steps, then
    `floor + (peak - floor) * (1 + cos(pi * (step - warmup) / (total - warmup))) / 2`
    up to step `total`, then `floor`.

    Example: `#opt.linear_warmup_cosine<peak = 3.0e-4, warmup = 100, total = 2000, floor = 3.0e-5>`.
  }];
}

def Opt_StepDecay : Opt_Schedule<"StepDecay", "step_decay",
    "a factor every so many steps"> {
  let description = [{
    `torch.optim.lr_scheduler.StepLR`: `initial * factor^(step / every)`, with an
    integer division.

    Example: `#opt.step_decay<initial = 0.1, factor = 0.1, every = 30>`.
  }];
}

//===----------------------------------------------------------------------===//
// Parameter groups
//===----------------------------------------------------------------------===//

def Opt_Group : AttrDef<Opt_Dialect, "Group"> {
  let mnemonic = "group";
  let summary = "other hyperparameters for parameters whose name matches";
  let description = [{
    A glob pattern on the name in `opt.param = "name"`, and what is different
    for these parameters: hyperparameters of the rule, or `frozen` (they are not
    trained). The first group that matches wins.

    Example: `#opt.group<"*.bias", weight_decay = 0.0>`,
    `#opt.group<"embed*", frozen>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$pattern, "bool":$frozen,
                        "::mlir::DictionaryAttr":$overrides);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool matches(::llvm::StringRef name) const;
  }];
}

#endif // REMAT_DIALECT_OPT_IR_OPTATTRIBUTES_TD
