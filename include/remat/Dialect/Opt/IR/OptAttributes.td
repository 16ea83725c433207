//===- OptAttributes.td - Update rules and schedules ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
    How an optimizer updates a parameter. A dialect adds a rule by implementing
    this interface on an attribute, usually one of class `Opt_Rule`, which
    leaves `getStates` and one of two methods to write; `opt.optimizer` accepts
    it. An elementwise rule (the default) has `emitUpdate`, which becomes the
    body of one kernel. A rule that reduces over the gradient, keeps states of
    shapes of their own or needs products is not elementwise, and has
    `emitTensorUpdate`; `remat/Dialect/Opt/IR/UpdateKernels.h` has the kernels
    of such rules.

    `user` is an operation of the module, for rules that refer to symbols.
  }];
  let methods = [
    InterfaceMethod<[{
        The states that the rule keeps for a parameter of type `param`: names,
        types, and what they start from. `getElementwiseStates` and `getMoments`
        make those that have the parameter's shape. One whose elements are
        `!opt.blockwise` is quantized.
      }], "::llvm::SmallVector<::mlir::opt::RuleState>", "getStates",
      (ins "::mlir::RankedTensorType":$param, "::mlir::Operation *":$user)>,
    InterfaceMethod<[{
        The learning rate: a float, a schedule or a symbol of a function from
        i64 to f32 or f64.
      }], "::mlir::Attribute", "getLearningRate">,
    InterfaceMethod<[{
        How new values of parameters are rounded.
      }], "::mlir::opt::Rounding", "getRounding", (ins),
      /*methodBody=*/"", /*defaultImplementation=*/
      "return ::mlir::opt::Rounding::Nearest;">,
    InterfaceMethod<[{
        Returns true if the update of a parameter of type `param` draws random
        numbers: its `opt.eager_step` has a `key` for them.
      }], "bool", "drawsNumbers", (ins "::mlir::RankedTensorType":$param),
      /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
        Fails with a diagnostic where the rule cannot update a parameter of type
        `param`.
      }], "::llvm::LogicalResult", "verifyParameter",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::RankedTensorType":$param, "::mlir::Operation *":$user),
      /*methodBody=*/"", /*defaultImplementation=*/"return ::mlir::success();">,
    InterfaceMethod<[{
        Builds what depends on the step only. `step` is an i64 that counts from
        0, `lr` an f64. Results of type f64 reach the update in the type that
        the rule computes in. By default the learning rate.
      }], "::llvm::SmallVector<::mlir::Value>", "emitScalars",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$step, "::mlir::Value":$lr),
      /*methodBody=*/"", /*defaultImplementation=*/"return {lr};">,
    InterfaceMethod<[{
        Returns true if `emitUpdate` is the rule, false if `emitTensorUpdate`.
      }], "bool", "isElementwise", (ins "::mlir::Operation *":$user),
      /*methodBody=*/"", /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{
        Builds the update of one element. Everything is of one floating-point
        type. Returns the new parameter, then the new states.
      }], "::llvm::SmallVector<::mlir::Value>", "emitUpdate",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$param, "::mlir::Value":$grad,
           "::mlir::ValueRange":$states, "::mlir::ValueRange":$scalars),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        llvm_unreachable("an elementwise rule implements emitUpdate");
      }]>,
    InterfaceMethod<[{
        Builds the update of a whole parameter. `grad` has the parameter's shape
        and any floating-point type; the other tensors have the types of the
        parameter and of `getStates`, and so have the results: the new
        parameter, then the new states. What is computed with the old value as
        its destination is updated in place, anything else is copied there.
      }], "::llvm::SmallVector<::mlir::Value>", "emitTensorUpdate",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$param, "::mlir::Value":$grad,
           "::mlir::ValueRange":$states, "::mlir::ValueRange":$scalars,
           "::mlir::Operation *":$user),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        llvm_unreachable("a rule on tensors implements emitTensorUpdate");
      }]>,
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
/// holds all of them. The C++ class defines `getTable()`. In Python an attribute
/// of this dialect is a class of the name `cppName`, with the same table.
class Opt_Hyperparameters<Dialect dialect, string cppName, string ruleMnemonic,
                          string text, list<Trait> traits>
    : AttrDef<dialect, cppName, traits> {
  let mnemonic = ruleMnemonic;
  let summary = text;
  let parameters = (ins "::mlir::DictionaryAttr":$hyperparameters);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  code declarations = [{
    /// The names, kinds, defaults and ranges of the hyperparameters.
    static ::mlir::opt::HyperparameterTable getTable();
    /// A hyperparameter that is a number.
    double getReal(::llvm::StringRef name) const {
      return ::llvm::cast<::mlir::FloatAttr>(getHyperparameters().get(name))
          .getValueAsDouble();
    }
    /// A hyperparameter that is a count.
    int64_t getCount(::llvm::StringRef name) const {
      return ::llvm::cast<::mlir::IntegerAttr>(getHyperparameters().get(name))
          .getInt();
    }
    /// A hyperparameter that is true or false.
    bool getFlag(::llvm::StringRef name) const {
      return ::llvm::cast<::mlir::BoolAttr>(getHyperparameters().get(name))
          .getValue();
    }
    /// A hyperparameter that is one of some words.
    ::llvm::StringRef getChoice(::llvm::StringRef name) const {
      return ::llvm::cast<::mlir::StringAttr>(getHyperparameters().get(name))
          .getValue();
    }
  }];
  code definitions = [{
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser,
                                       ::mlir::Type) {
      if (parser.parseLess())
        return {};
      auto values = ::mlir::opt::parseHyperparameters(parser, getTable(),
                                                      "#" + name.str());
      if (failed(values))
        return {};
      return parser.getChecked<$cppClass>(parser.getContext(), *values);
    }
    void $cppClass::print(::mlir::AsmPrinter &printer) const {
      printer << "<";
      ::mlir::opt::printHyperparameters(printer, getTable(),
                                        getHyperparameters());
      printer << ">";
    }
  }];
  /// Emptied by classes that check more, and define `verify` themselves.
  code verifier = [{
    ::llvm::LogicalResult $cppClass::verify(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::mlir::DictionaryAttr values) {
      return ::mlir::opt::verifyHyperparameters(emitError, getTable(), values,
                                                "#" + name.str());
    }
  }];
  let extraClassDeclaration = declarations;
  let extraClassDefinition = definitions # verifier;
}

/// An update rule. `methods` are those of the interface, beyond `getStates`,
/// that the C++ class defines.
class Opt_Rule<Dialect dialect, string cppName, string ruleMnemonic,
               string text, list<string> methods = ["emitUpdate"]>
    : Opt_Hyperparameters<dialect, cppName, ruleMnemonic, text,
        [DeclareAttrInterfaceMethods<Opt_UpdateRuleAttrInterface,
           !listconcat(methods, ["getRounding"])>]> {
  code ruleDefinitions = [{
    ::mlir::Attribute $cppClass::getLearningRate() const {
      return getHyperparameters().get("lr");
    }
    ::mlir::opt::Rounding $cppClass::getRounding() const {
      return ::mlir::opt::getRounding(getHyperparameters());
    }
    ::mlir::Attribute $cppClass::withOverrides(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::mlir::DictionaryAttr overrides) const {
      auto values = ::mlir::opt::overrideHyperparameters(
          emitError, getTable(), getHyperparameters(), overrides,
          "#" + name.str());
      return failed(values) ? ::mlir::Attribute()
                            : getChecked(emitError, getContext(), *values);
    }
  }];
  let extraClassDefinition = definitions # verifier # ruleDefinitions;
}

def Opt_SGD : Opt_Rule<Opt_Dialect, "SGD", "sgd",
    "gradient descent with momentum, Nesterov's momentum and weight decay",
    ["emitScalars", "emitUpdate"]> {
  let description = [{
    `torch.optim.SGD`. With g the gradient plus `weight_decay` times the
    parameter, and the buffer b (absent without `momentum`):

        b = momentum * b + (1 - dampening) * g        (first step: b = g)
        p = p - lr * (nesterov ? g + momentum * b : b)

    Example: `#opt.sgd<lr = 0.1, momentum = 0.9, nesterov = true>`.
    State: `momentum`, if it is not 0. `nesterov` needs a momentum, and no
    dampening.
  }];
  let verifier = "";
}

def Opt_Adam : Opt_Rule<Opt_Dialect, "Adam", "adam", "Adam (Kingma and Ba, 2015)",
    ["emitScalars", "emitUpdate"]> {
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

def Opt_AdamW : Opt_Rule<Opt_Dialect, "AdamW", "adamw",
    "Adam with decoupled weight decay (Loshchilov and Hutter, 2019)",
    ["emitScalars", "emitUpdate"]> {
  let description = [{
    `torch.optim.AdamW` and `optax.adamw`: as `#opt.adam`, but first
    `p = p * (1 - lr * weight_decay)` instead of an L2 term.

    Example: `#opt.adamw<lr = 3.0e-4, weight_decay = 0.01>`. States: `m`, `v`.
  }];
}

def Opt_Lion : Opt_Rule<Opt_Dialect, "Lion", "lion",
    "Lion: sign of an interpolated momentum (Chen et al., 2023)"> {
  let description = [{
    `optax.lion`:

        u = sign(b1 * m + (1 - b1) * g)
        p = p - lr * (u + weight_decay * p)
        m = b2 * m + (1 - b2) * g

    Example: `#opt.lion<lr = 1.0e-4, weight_decay = 0.1>`. State: `m`.
  }];
}

def Opt_LAMB : Opt_Rule<Opt_Dialect, "LAMB", "lamb",
    "LAMB: Adam with a trust ratio for each parameter (You et al., 2020)",
    ["emitScalars", "isElementwise", "emitTensorUpdate"]> {
  let description = [{
    `optax.lamb`. With m and v as in `#opt.adam`, and t counting from 1:

        u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay * p
        p = p - lr * norm(p) / norm(u) * u          (ratio 1 where a norm is 0)

    Example: `#opt.lamb<lr = 1.0e-3, weight_decay = 0.01>`. States: `m`, `v`.
  }];
}

def Opt_Adafactor : Opt_Rule<Opt_Dialect, "Adafactor", "adafactor",
    "Adafactor: a second moment of rows and columns (Shazeer and Stern, 2018)",
    ["emitScalars", "isElementwise", "emitTensorUpdate"]> {
  let description = [{
    `torch.optim.Adafactor`. With t counting from 1, b = t^beta2_decay, and
    means over the last (row) or the last but one dimension (column):

        row = row + b * (mean(g * g, -1) - row)
        col = col + b * (mean(g * g, -2) - col)
        v = row * col / max(mean(row, -1), eps1)
        u = g / sqrt(max(v, eps1^2))
        alpha = max(eps2, rms(p)) * min(lr, 1 / sqrt(t))
        p = p * (1 - lr * weight_decay) - alpha / max(1, rms(u) / d) * u

    Example: `#opt.adafactor<lr = 0.01>`. States: `row` and `col`, which together
    are as large as one row and one column; for vectors `v`, of their size.
  }];
}

def Opt_APOLLO : Opt_Rule<Opt_Dialect, "APOLLO", "apollo",
    "APOLLO: moments of a random projection of the gradient (Zhu et al., 2024)",
    ["verifyParameter", "drawsNumbers", "emitScalars", "isElementwise",
     "emitTensorUpdate"]> {
  let description = [{
    `apollo_torch.APOLLOAdamW`. Adam's moments are those of a projection R of the
    gradient G to `rank` rows (columns, if G has at least as many rows as
    columns), and say only by how much each column (row) of G is scaled. With t
    counting from 1, and norms over the rows (columns) of R:

        R = P G                             (or G P)
        m = m + (1 - b1) * (R - m)
        v = b2 * v + (1 - b2) * R * R
        s = norm(m / (sqrt(v) + eps)) / (norm(R) + 1e-8)
        limit = max(norm(s G) / (norm + 1e-8), growth) / growth
        norm = norm(s G) / limit            (first: limit = 1)
        p = p - lr * sqrt(1 - b2^t) / (1 - b1^t) * sqrt(scale) / limit * s G
        p = p * (1 - lr * weight_decay)

    `scaling = tensor` has one norm, and one s, for all of G: APOLLO-Mini is
    `rank = 1, scale = 128, scaling = tensor`. The elements of P are 1 or -1 over
    the root of `rank` (Achlioptas, 2003; APOLLO's are normal), drawn by counter
    for each parameter and every `refresh` steps. P is drawn in each step and
    never kept. Where `rank` is the smaller side of G at least, R is G. What is
    no matrix has m and v of its own shape, and is updated by
    m / (sqrt(v) + eps), as AdamW's parameters are.

    Example: `#opt.apollo<lr = 1.0e-2, rank = 256>`. States: `m`, `v`, and for
    matrices `norm`, a number.
  }];
}

def Opt_Muon : Opt_Rule<Opt_Dialect, "Muon", "muon",
    "Muon: an orthogonalized momentum (Jordan et al., 2024)",
    ["verifyParameter", "emitScalars", "isElementwise", "emitTensorUpdate"]> {
  let description = [{
    `torch.optim.Muon`, in the type that rules compute in (there: bf16). It is
    for matrices; others need a group with another rule.

        b = b + (1 - momentum) * (g - b)
        X = nesterov ? g + momentum * (b - g) : b
        X = X / max(norm(X), eps)
        X = a1 * X + (a2 * A + a3 * A * A) * X,  A = X * X^T    (`steps` times)
        p = p * (1 - lr * weight_decay) - lr * ratio * X

    with (a1, a2, a3) = (3.4445, -4.775, 2.0315), and A = X^T * X to the right of X if it
    has more rows than columns. `ratio` is the root of max(1, rows / columns),
    or with `adjust = match_rms_adamw` 0.2 times the root of the larger one.

    Example: `#opt.muon<lr = 1.0e-3>` with
    `groups = [#opt.group<"embed*", rule = #opt.adamw<lr = 3.0e-4>>]`. State:
    `momentum`.
  }];
}

def Opt_AdamMini : Opt_Rule<Opt_Dialect, "AdamMini", "adam_mini",
    "Adam-mini: a second moment for each block (Zhang et al., 2024)",
    ["verifyParameter", "emitScalars", "isElementwise", "emitTensorUpdate"]> {
  let description = [{
    `#opt.adamw` with the mean of g * g over a block in the place of g * g. The
    blocks of a parameter are the indices of its dimension `dim`, that of its
    outputs (0 in PyTorch, -1 in JAX), or, with `blocks`, as many equal ranges of
    them: the heads of a query's or key's projection. Vectors have moments of
    their own shape.

    Example: `#opt.adam_mini<lr = 1.0e-3>` with
    `groups = [#opt.group<"*.query", blocks = 12>]`. States: `m`, and `v` of one
    number for each block.
  }];
}

def Opt_Custom : AttrDef<Opt_Dialect, "Custom", [
    DeclareAttrInterfaceMethods<Opt_UpdateRuleAttrInterface, [
      "getRounding", "verifyParameter", "emitScalars", "isElementwise",
      "emitUpdate", "emitTensorUpdate"]>]> {
  let mnemonic = "custom";
  let summary = "a rule that is a function of this module";
  let description = [{
    `@rule` takes the parameter, the gradient, `states` states, the step (i64,
    from 0) and the learning rate (f32), and returns the new parameter and
    states. On scalars (f32; f64 for f64 parameters, the learning rate too) its
    body becomes the body of the update's kernel. On tensors its body becomes
    part of the step (a declaration, or a function of several blocks, is
    called), and its results are copied into the parameter and the states where
    it does not compute them in place.

    A state of a rule on tensors has the type of the function's argument, whose
    elements may be integers; one of dynamic sizes has the parameter's shape. An argument of the function may
    name its state (`opt.state = "m"`; default: `s0`, `s1`, ...) and say what it
    starts from (`opt.init = "constant(0.1)"`; default: zeros). One of a rule on
    scalars may say in which type its numbers are stored: `opt.stored = bf16`, or
    `!opt.blockwise<int8, 256>`, whatever the size of the parameter is.

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

class Opt_Schedule<Dialect dialect, string cppName, string scheduleMnemonic,
                   string text>
    : Opt_Hyperparameters<dialect, cppName, scheduleMnemonic, text,
        [DeclareAttrInterfaceMethods<Opt_ScheduleAttrInterface>]>;

def Opt_Constant : Opt_Schedule<Opt_Dialect, "Constant", "constant",
    "the same learning rate at every step"> {
  let description = [{ Example: `#opt.constant<value = 1.0e-3>`. }];
}

def Opt_LinearWarmupCosine : Opt_Schedule<Opt_Dialect,
    "LinearWarmupCosine", "linear_warmup_cosine",
    "a linear rise from 0, then half a cosine down to a floor"> {
  let description = [{
    `optax.warmup_cosine_decay_schedule(0, peak, warmup, total, floor)`:
    `peak * step / warmup` for `warmup` steps, then
    `floor + (peak - floor) * (1 + cos(pi * (step - warmup) / (total - warmup))) / 2`
    up to step `total`, then `floor`.

    Example: `#opt.linear_warmup_cosine<peak = 3.0e-4, warmup = 100, total = 2000, floor = 3.0e-5>`.
  }];
  let verifier = "";
}

def Opt_StepDecay : Opt_Schedule<Opt_Dialect, "StepDecay", "step_decay",
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
    for these parameters: hyperparameters of the rule, another `rule`, or
    `frozen` (they are not trained). The first group that matches wins.

    Example: `#opt.group<"*.bias", weight_decay = 0.0>`,
    `#opt.group<"*.norm", rule = #opt.adamw<lr = 3.0e-4>>`,
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
