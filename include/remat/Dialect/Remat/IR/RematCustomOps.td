//===- RematCustomOps.td - Derivatives by hand ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATCUSTOMOPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATCUSTOMOPS_TD

def Remat_CustomVJPOp : Remat_Op<"custom_vjp", [
    HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the derivative of a function or of a kind of operation, as a function";
  let description = [{
    Overrides the derivative of every call of a function, or of every operation
    of a kind, by the function `rule`. It takes the operands, the results, and
    the cotangents of those results that have one (floating-point scalars and
    ranked tensors); it returns the cotangents of those operands that have one,
    in their order. `jax.custom_vjp` and `torch.autograd.Function` are exported as
    these.

    The rule is a `func.func` with one block and without effects, but for
    assertions. Its tensor types may be more general than those of what it is
    for (`tensor<?xf32>` for a `tensor<8xf32>`). Of operands and results it
    keeps alive until the backward only what it reads. It is never
    differentiated itself; what it is for need not be differentiable.

    A function with a rule is inlined after differentiation rather than before
    it (`remat-inline-custom-vjp`). It takes its random state as an argument if
    it needs one.

    A kind of operation is its name. The operations are those that
    `remat-bind-custom-vjp` finds: in functions, in `remat.region`s and loops,
    and in the bodies of `linalg.generic`, `linalg.map` and `linalg.reduce`, but
    not in the bodies of named operations. An elementwise operation on
    tensors (of `arith`, `math`) takes a rule on scalars, too. Several rules may
    be for one kind with different types; an operation of that kind whose types
    fit none of them is an error. A rule sees no attributes; where they matter,
    put the operation into a function.

    Example:

    ```mlir
    // The straight-through estimator: the cotangent passes the rounding.
    func.func private @straight_through(%x: f32, %y: f32, %dy: f32) -> f32 {
      return %dy : f32
    }
    remat.custom_vjp @straight_through for "math.roundeven"

    remat.custom_vjp @layer_vjp for @layer
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$rule,
                       AnyAttrOf<[FlatSymbolRefAttr, StrAttr]>:$target);
  let assemblyFormat = "$rule `for` $target attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The function that the rule is for; null if it is for operations.
    ::mlir::FlatSymbolRefAttr getFunctionTarget() {
      return ::llvm::dyn_cast<::mlir::FlatSymbolRefAttr>(getTarget());
    }
    /// The name of the operations that the rule is for; empty if it is for a
    /// function.
    ::llvm::StringRef getOperationTarget() {
      auto name = ::llvm::dyn_cast<::mlir::StringAttr>(getTarget());
      return name ? name.getValue() : ::llvm::StringRef();
    }
    /// Returns the type of a rule for these operands and results.
    static ::mlir::FunctionType getRuleType(::mlir::MLIRContext *context,
                                            ::mlir::TypeRange operands,
                                            ::mlir::TypeRange results);
    /// Returns true if a rule of type `rule` may be used where `needed` is
    /// needed: it is the same but for dimensions that `rule` leaves open.
    static bool isRuleFor(::mlir::FunctionType rule,
                          ::mlir::FunctionType needed);
  }];
}

#endif // REMAT_DIALECT_REMAT_IR_REMATCUSTOMOPS_TD
