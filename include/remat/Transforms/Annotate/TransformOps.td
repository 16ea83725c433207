//===- TransformOps.td - Annotate by a script -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_ANNOTATE_TRANSFORMOPS_TD
#define REMAT_TRANSFORMS_ANNOTATE_TRANSFORMOPS_TD

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/IR/TransformTypes.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Remat_MatchOp<string mnemonic> : Op<Transform_Dialect, "remat." # mnemonic, [
    DeclareOpInterfaceMethods<TransformOpInterface>, NavigationTransformOpTrait,
    MemoryEffectsOpInterface]> {
  let results = (outs TransformHandleTypeInterface:$ops,
                      TransformParamTypeInterface:$labels);
  string common = [{
    `$target` are functions. Returns the operations and, for each of them, what
    it was selected for: operations with one label belong together. It is a
    definite failure if there are none.
  }];
}

class Remat_MatchPatternsOp<string mnemonic> : Remat_MatchOp<mnemonic> {
  let arguments = (ins StrArrayAttr:$patterns,
                       TransformHandleTypeInterface:$target);
  let assemblyFormat = [{
    $patterns `in` $target attr-dict `:` functional-type($target, results)
  }];
}

def Remat_MatchScopeOp : Remat_MatchPatternsOp<"match_scope"> {
  let summary = "operations by the scope that their location names";
  let description = [{
    As `scope=` of `remat-annotate`.
    }] # common # [{

    Example:

    ```mlir
    %ops, %labels = transform.remat.match_scope ["layers.*"] in %f
        : (!transform.any_op) -> (!transform.any_op, !transform.any_param)
    ```
  }];
}

def Remat_MatchCallsOp : Remat_MatchPatternsOp<"match_calls"> {
  let summary = "calls of functions by name";
  let description = [{
    As `calls=` of `remat-annotate`.
    }] # common # [{

    Example: `transform.remat.match_calls ["layer*"] in %f : ...`.
  }];
}

def Remat_MatchKindOp : Remat_MatchPatternsOp<"match_kind"> {
  let summary = "operations by what they do";
  let description = [{
    As `ops=` of `remat-annotate`; `transform.structured.match` finds operations
    by name or interface. Operations that read each other have one label.
    }] # common # [{

    Example: `transform.remat.match_kind ["softmax", "norm"] in %f : ...`.
  }];
}

def Remat_MatchCheckpointsOp : Remat_MatchOp<"match_checkpoints"> {
  let summary = "what was under a checkpoint";
  let description = [{
    As `checkpoints` of `remat-annotate`.
    }] # common # [{

    Example: `transform.remat.match_checkpoints in %f : ...`.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let assemblyFormat = [{
    `in` $target attr-dict `:` functional-type($target, results)
  }];
}

def Remat_MatchBlocksOp : Remat_MatchOp<"match_blocks"> {
  let summary = "layers found in the operations themselves";
  let description = [{
    As `blocks` of `remat-annotate`, with its options.
    }] # common # [{

    Example: `transform.remat.match_blocks in %f {every = 2} : ...`.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       OptionalAttr<StrArrayAttr>:$pick,
                       DefaultValuedAttr<I64Attr, "1">:$every,
                       DefaultValuedAttr<I64Attr, "1">:$group);
  let assemblyFormat = [{
    `in` $target attr-dict `:` functional-type($target, results)
  }];
}

class Remat_ActionOp<string mnemonic> : Op<Transform_Dialect, "remat." # mnemonic, [
    DeclareOpInterfaceMethods<TransformOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

def Remat_WrapOp : Remat_ActionOp<"wrap"> {
  let summary = "put operations into regions";
  let description = [{
    Makes a `remat.region` with `policy` (`nothing_saveable` if there is none)
    of the operations of each label, as `remat-annotate` does; without labels,
    of those that read each other. Returns the regions. The operations stay what
    they are, inside.

    Example:

    ```mlir
    %regions = transform.remat.wrap %ops labels(%labels) policy(#remat.dots_saveable)
        : (!transform.any_op, !transform.any_param) -> !transform.any_op
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       Optional<TransformParamTypeInterface>:$labels,
                       OptionalAttr<AnyAttr>:$policy);
  let results = (outs TransformHandleTypeInterface:$wrapped);
  let assemblyFormat = [{
    $target (`labels` `(` $labels^ `)`)? (`policy` `(` $policy^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_NameTransformOp : Remat_ActionOp<"name"> {
  let summary = "name values";
  let description = [{
    Gives every value of the operations of each label (without labels: of each
    operation) that others read a `remat.name`.

    Example: `transform.remat.name %ops labels(%labels) "attn" : !transform.any_op, !transform.any_param`.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       Optional<TransformParamTypeInterface>:$labels,
                       StrAttr:$name);
  let assemblyFormat = [{
    $target (`labels` `(` $labels^ `)`)? $name attr-dict `:` type(operands)
  }];
}

def Remat_StopGradientTransformOp : Remat_ActionOp<"stop_gradient"> {
  let summary = "let no derivative pass through values";
  let description = [{
    Puts a `remat.stop_gradient` at every floating-point value of the operations
    of each label (without labels: of each operation) that others read.

    Example: `transform.remat.stop_gradient %ops labels(%labels) : !transform.any_op, !transform.any_param`.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       Optional<TransformParamTypeInterface>:$labels);
  let assemblyFormat = [{
    $target (`labels` `(` $labels^ `)`)? attr-dict `:` type(operands)
  }];
}

def Remat_BindVJPOp : Remat_ActionOp<"bind_vjp"> {
  let summary = "give operations a derivative by hand";
  let description = [{
    Puts the operations of each label (without labels: those that read each
    other) into a private function with a `remat.custom_vjp` by the function
    `rule`. Consumes the handle.

    Example: `transform.remat.bind_vjp %ops labels(%labels) to @rule : !transform.any_op, !transform.any_param`.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       Optional<TransformParamTypeInterface>:$labels,
                       FlatSymbolRefAttr:$rule);
  let assemblyFormat = [{
    $target (`labels` `(` $labels^ `)`)? `to` $rule attr-dict `:` type(operands)
  }];
}

#endif // REMAT_TRANSFORMS_ANNOTATE_TRANSFORMOPS_TD
