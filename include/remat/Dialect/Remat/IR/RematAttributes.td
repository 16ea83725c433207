//===- RematAttributes.td - Rematerialization policies ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATATTRIBUTES_TD
#define REMAT_DIALECT_REMAT_IR_REMATATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/EnumAttr.td"
include "remat/Dialect/Remat/IR/RematDialect.td"

def Remat_PolicyAttrInterface : AttrInterface<"PolicyAttrInterface"> {
  let cppNamespace = "::mlir::remat";
  let description = [{
    A rematerialization policy. A policy is permission: a value that it allows
    is saved only when the backward pass needs it. A dialect adds a policy by
    implementing this interface.
  }];
  let methods = [
    InterfaceMethod<[{
        Returns true if `value`, defined inside a region with this policy, may
        be saved for the backward. Values with the same bits are one value, as
        `getAliases` (Policies.h) finds them: operand and result of a
        `remat.name`, results of nested regions and what is yielded for them.
      }], "bool", "isSaveable", (ins "::mlir::Value":$value)>,
    InterfaceMethod<[{
        Returns true if `value` is to be kept in another memory space
        ("pinned_host") between forward and backward. Implies `isSaveable`.
      }], "bool", "isOffloadable", (ins "::mlir::Value":$value),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{ return false; }]>,
    InterfaceMethod<[{
        Appends every `remat.name` that this policy mentions.
      }], "void", "collectNames",
      (ins "::llvm::SmallVectorImpl<::mlir::StringAttr> &":$names),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{ return; }]>,
    InterfaceMethod<[{
        Returns true if `value` may be saved because `name` is one of its names;
        by default, if it may be saved and the policy mentions the name. Such a
        value is never recomputed for being cheap.
      }], "bool", "savesByName",
      (ins "::mlir::Value":$value, "::llvm::StringRef":$name),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{
        ::llvm::SmallVector<::mlir::StringAttr> mentioned;
        $_attr.collectNames(mentioned);
        return ::llvm::is_contained(mentioned, name) &&
               $_attr.isSaveable(value);
      }]>,
    InterfaceMethod<[{
        Returns how many states of a loop directly inside a region with this
        policy, each of `bytes` (-1 if that is not known), are kept for its
        backward, which recomputes the others; none if each iteration keeps what
        its backward reads. Of 0, no state fits.
      }], "::std::optional<int64_t>", "countSnapshots", (ins "int64_t":$bytes),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{
        return ::std::nullopt;
      }]>,
  ];
}

/// A policy whose C++ expression `isSaveable` says whether `value` may be saved;
/// one that `offloads` keeps what it saves in host memory. Values with the same
/// bits are one value: `getAliases` and `hasNameIn` (Policies.h) know them all.
/// `methods` are those of the interface that the C++ class defines besides. A
/// name that `collectNames` gives must be that of a value in the region. In
/// Python a policy is `remat.` and its mnemonic.
class Remat_Policy<Dialect dialect, string cppName, string policyMnemonic,
                   string text, code isSaveable, bit offloads = 0,
                   list<string> methods = []>
    : AttrDef<dialect, cppName, [
        DeclareAttrInterfaceMethods<Remat_PolicyAttrInterface,
          !listconcat(methods, !if(offloads, ["isOffloadable"], []))>]> {
  let mnemonic = policyMnemonic;
  let summary = text;
  code permission = "bool $cppClass::isSaveable(::mlir::Value value) const {\n"
    "  return " # isSaveable # ";\n}\n" # !if(offloads,
    "bool $cppClass::isOffloadable(::mlir::Value value) const {\n"
    "  return isSaveable(value);\n}\n", "");
  let extraClassDefinition = permission;
}

/// A policy on values with certain names.
class Remat_NamesPolicy<Dialect dialect, string cppName, string policyMnemonic,
                        string text, code isSaveable, bit offloads = 0,
                        list<string> methods = []>
    : Remat_Policy<dialect, cppName, policyMnemonic, text, isSaveable, offloads,
                   !listconcat(methods, ["collectNames"])> {
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let assemblyFormat = "`<` $names `>`";
  let genVerifyDecl = 1;
  let extraClassDefinition = permission # [{
    void $cppClass::collectNames(
        ::llvm::SmallVectorImpl<::mlir::StringAttr> &names) const {
      ::llvm::append_range(names, getNames());
    }
    ::llvm::LogicalResult $cppClass::verify(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::llvm::ArrayRef<::mlir::StringAttr> names) {
      return ::mlir::remat::verifyPolicyNames(emitError, names);
    }
  }];
}

def Remat_NothingSaveable : Remat_Policy<Remat_Dialect, "NothingSaveable",
    "nothing_saveable",
    "recompute everything from the region's operands (the default)",
    "false">;

def Remat_EverythingSaveable : Remat_Policy<Remat_Dialect, "EverythingSaveable",
    "everything_saveable", "save whatever the backward needs", "true">;

def Remat_DotsSaveable : Remat_Policy<Remat_Dialect, "DotsSaveable",
    "dots_saveable",
    "save results of contractions (`linalg.matmul` and its kin, generic ones included) and convolutions",
    "isMadeBy(value, isDot)">;

def Remat_DotsWithNoBatchDimsSaveable : Remat_Policy<Remat_Dialect,
    "DotsWithNoBatchDimsSaveable", "dots_with_no_batch_dims_saveable",
    "save results of contractions without batch dimension, such as a layer's products with its weights, but not attention's",
    [{isMadeBy(value, [](Operation *op) {
        return isDot(op) && !hasBatchDims(op);
      })}]>;

def Remat_SaveOnlyNames : Remat_NamesPolicy<Remat_Dialect, "SaveOnlyNames",
    "save_only_names",
    "save values that carry one of these `remat.name`s, nothing else",
    "hasNameIn(value, getNames())">;

// A value with two names of which one is excluded is excluded: saving it under
// the other would save the very same bits.
def Remat_SaveAnyNamesBut : Remat_NamesPolicy<Remat_Dialect, "SaveAnyNamesBut",
    "save_any_names_but",
    "save every named value but those with these names; unnamed values are recomputed",
    "!getNamesOf(value).empty() && !hasNameIn(value, getNames())",
    /*offloads=*/0, ["savesByName"]>;

def Remat_SaveAnythingExceptNames : Remat_NamesPolicy<Remat_Dialect,
    "SaveAnythingExceptNames", "save_anything_except_names",
    "save every value, named or not, but those with these names",
    "!hasNameIn(value, getNames())">;

def Remat_OffloadNames : Remat_NamesPolicy<Remat_Dialect, "OffloadNames",
    "offload_names",
    "keep values that carry one of these names in host memory between forward and backward (on the CPU: save them)",
    "hasNameIn(value, getNames())", /*offloads=*/1>;

def Remat_OffloadDots : Remat_Policy<Remat_Dialect, "OffloadDots",
    "offload_dots",
    "keep results of contractions and convolutions in host memory between forward and backward (on the CPU: save them)",
    "isMadeBy(value, isDot)", /*offloads=*/1>;

def Remat_EveryK : AttrDef<Remat_Dialect, "EveryK", [
    DeclareAttrInterfaceMethods<Remat_PolicyAttrInterface>]> {
  let mnemonic = "every_k";
  let summary = "save the results of every k-th region directly inside this one";
  let description = [{
    Of the `remat.region`s that stand directly inside the region with this
    policy, in program order, the results of the k-th, 2k-th, ... may be saved.
    A chain of n blocks is thus recomputed in segments of k blocks. Calls of
    functions count as regions.

    Example: `#remat.every_k<2>`.
  }];
  let parameters = (ins "int64_t":$k);
  let assemblyFormat = "`<` $k `>`";
  let genVerifyDecl = 1;
}

def Remat_Budget : AttrDef<Remat_Dialect, "Budget", [
    DeclareAttrInterfaceMethods<Remat_PolicyAttrInterface>]> {
  let mnemonic = "budget";
  let summary = "save values of at most so many bytes, those whose recompute would take the most time";
  let description = [{
    `remat-plan` chooses the values of each region by itself, by the model of costs. What the
    region reads, and what others keep anyway, does not count. For a bound of everything that
    a step takes, see `remat-fit-budget`.

    Example: `#remat.budget<"10MiB">`, `#remat.budget<4096>`.
  }];
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` custom<Bytes>($bytes) `>`";
  let genVerifyDecl = 1;
}

def Remat_MinCut : AttrDef<Remat_Dialect, "MinCut", [
    DeclareAttrInterfaceMethods<Remat_PolicyAttrInterface>]> {
  let mnemonic = "min_cut";
  let summary = "save the fewest bytes from which the rest can be recomputed cheaply: without products, convolutions, reductions and calls";
  let description = [{
    A minimum cut between what the region reads and what its backward reads
    (`remat-plan`). Elementwise operations, views, constants and draws of random numbers
    are cheap.
  }];
}

def Remat_Snapshots : AttrDef<Remat_Dialect, "Snapshots", [
    DeclareAttrInterfaceMethods<Remat_PolicyAttrInterface,
        ["countSnapshots"]>]> {
  let mnemonic = "snapshots";
  let summary = "keep so many states of each loop, or states of so many bytes, and recompute its iterations from these";
  let description = [{
    A loop (`scf.for`, `scf.while`) otherwise keeps what its backward reads of each iteration.
    With this policy, loops directly inside the region keep the state (what an iteration reads of
    what the loop carries) before a few iterations only. The backward recomputes each iteration from the
    last such state before it, in the binomial order, which takes the fewest iterations:
    with s snapshots r * l - C(s + r, s + 1) for l iterations and the smallest r with
    l <= C(s + r, s). That is 222 for 100 iterations and 10 snapshots. One state more is kept, that before
    the last iteration. `remat.region`s in the body of the loop have their own policies, by which
    the backward of one iteration is computed. The trip count need not be known.

    Outside of loops, and in loops inside of these, everything that the backward reads is saved.

    Example: `#remat.snapshots<10>`, `#remat.snapshots<"4MiB">` (of each loop).
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$bytes);
  let assemblyFormat = "`<` custom<CountOrBytes>($count, $bytes) `>`";
  let genVerifyDecl = 1;
}

def Remat_AnyOf : AttrDef<Remat_Dialect, "AnyOf", [
    DeclareAttrInterfaceMethods<Remat_PolicyAttrInterface,
        ["collectNames", "isOffloadable", "savesByName",
         "countSnapshots"]>]> {
  let mnemonic = "any_of";
  let summary = "save what at least one of these policies saves";
  let description = [{
    Example: `#remat.any_of<#remat.dots_saveable, #remat.save_only_names<"h">>`.
    Each member must be a policy, and at least two of them are needed.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$policies);
  let assemblyFormat = "`<` $policies `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

def Remat_DecisionKind : I32EnumAttr<"DecisionKind", "what happens to a residual", [
    I32EnumAttrCase<"Save", 0, "save">,
    I32EnumAttrCase<"SaveNamed", 4, "save_named">,
    I32EnumAttrCase<"Recompute", 1, "recompute">,
    I32EnumAttrCase<"Rebuild", 2, "rebuild">,
    I32EnumAttrCase<"Offload", 3, "offload">]> {
  let cppNamespace = "::mlir::remat";
  let genSpecializedAttr = 0;
}

def Remat_Decision : AttrDef<Remat_Dialect, "Decision"> {
  let mnemonic = "decision";
  let summary = "what a backward does about one of its residuals, who decided so, and why";
  let description = [{
    | kind | meaning |
    |---|---|
    | `save` | kept from forward to backward |
    | `save_named` | as `save`, since the policy names the value: other policies permit, a name is a wish |
    | `recompute` | recomputed in the backward, because it may not be saved |
    | `rebuild` | recomputed in the backward, because that costs nothing or little and keeps no more bytes live |
    | `offload` | as `save`, in host memory where the target has memory of its own |

    `by` is the policy (or another planner) that decided, `reason` a short
    sentence for `remat-explain`.

    What a region decided to save stays in a `remat.saved`, together with the
    value's name (`of`), when `remat-materialize` removes the region's plan. The
    plan of the function says the same once more, as `remat-explain` prints it.

    Example: `#remat.decision<save by "#remat.dots_saveable" because "permitted">`.
  }];
  let parameters = (ins EnumParameter<Remat_DecisionKind>:$kind,
                        OptionalParameter<"::mlir::StringAttr">:$of,
                        "::mlir::StringAttr":$by, "::mlir::StringAttr":$reason);
  let assemblyFormat = "`<` $kind (`of` $of^)? `by` $by `because` $reason `>`";
  let extraClassDeclaration = [{
    /// Returns true if the backward recomputes the value.
    bool runsAgain() const {
      return getKind() == DecisionKind::Recompute ||
             getKind() == DecisionKind::Rebuild;
    }
  }];
}

def Remat_DecisionArray
    : TypedArrayAttrBase<Remat_Decision, "decisions, one for each residual">;

#endif // REMAT_DIALECT_REMAT_IR_REMATATTRIBUTES_TD
