//===- Activations.td - A dialect outside of remat --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACTIVATIONS_TD
#define ACTIVATIONS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Analysis/RecomputeCostOpInterface.td"
include "remat/Autodiff/DifferentiableOpInterface.td"
include "remat/Autodiff/ScalarDifferentiableOpInterface.td"
include "remat/Dialect/Opt/IR/OptAttributes.td"
include "remat/Dialect/Remat/IR/RematAttributes.td"
include "remat/Transforms/Decompose/DecomposableOpInterface.td"

def Act_Dialect : Dialect {
  let name = "act";
  let cppNamespace = "::act";
  let summary = "Activations, an optimizer by signs, and a policy on sizes";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{ void registerAttributes(); }];
}

def Act_SoftplusOp : Op<Act_Dialect, "softplus", [
    Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<RecomputeCostOpInterface>]> {
  let summary = "log(1 + exp(x)), elementwise";
  let description = [{
    Example: `%y = act.softplus %x : tensor<4x8xf32>`.
  }];
  let arguments = (ins RankedTensorOf<[AnyFloat]>:$x);
  let results = (outs RankedTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Act_SumRowsOp : Op<Act_Dialect, "sum_rows", [
    Pure, SameTypeOperands,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the sum of two vectors, in every row of a matrix";
  let description = [{
    Example: `%y = act.sum_rows %a, %b : tensor<8xf32> -> tensor<4x8xf32>`.
  }];
  let arguments = (ins RankedTensorOf<[AnyFloat]>:$a,
                       RankedTensorOf<[AnyFloat]>:$b);
  let results = (outs RankedTensorOf<[AnyFloat]>:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `->` type($y)";
}

def Act_LogCoshOp : Op<Act_Dialect, "log_cosh", [
    Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ScalarDifferentiableOpInterface,
                              ["getDerivativeKind"]>]> {
  let summary = "log(cosh(x)) of a scalar";
  let description = [{
    Example: `%y = act.log_cosh %x : f32`, in the body of a `linalg.generic`, too.
  }];
  let arguments = (ins AnyFloat:$x);
  let results = (outs AnyFloat:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Act_RepeatOp : Op<Act_Dialect, "repeat", [
    RecursiveMemoryEffects, SingleBlock,
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "runs its body a number of times";
  let description = [{
    Example:

    ```mlir
    %y = act.repeat %n(%x) {
    ^bb0(%h: tensor<4x8xf32>):
      %next = act.softplus %h : tensor<4x8xf32>
      act.yield %next : tensor<4x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Index:$count, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $count `(` $inits `)` $body attr-dict `:` functional-type($inits, $results)
  }];
  let hasRegionVerifier = 1;
}

def Act_YieldOp : Op<Act_Dialect, "yield", [
    Pure, ReturnLike, Terminator, HasParent<"RepeatOp">]> {
  let summary = "ends the body of an act.repeat";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Act_SignDescent : Opt_Rule<Act_Dialect, "SignDescent", "sign_descent",
    "steps in the direction of the gradient's sign, as large as it is on average",
    ["isElementwise", "emitTensorUpdate"]> {
  let description = [{
    With one number for each parameter, which starts at 1:

        size = decay * size + (1 - decay) * mean(abs(g))
        p = p - lr * size * sign(g)

    Example: `#act.sign_descent<lr = 0.01, decay = 0.5>`. State: `size`.
  }];
}

def Act_SaveSmallNames : Remat_Policy<Act_Dialect, "SaveSmallNames",
    "save_small_names",
    "save values with one of these names that have no more than so many bytes",
    [{::mlir::remat::hasNameIn(value, getNames()) &&
      ::mlir::remat::estimateBytes(value.getType()) <= getBytes()}],
    /*offloads=*/0, ["collectNames"]> {
  let description = [{
    Example: `#act.save_small_names<4096, "h", "scores">`.
  }];
  let parameters = (ins "int64_t":$bytes,
                        ArrayRefParameter<"::mlir::StringAttr">:$names);
  let assemblyFormat = "`<` $bytes `,` $names `>`";
  let genVerifyDecl = 1;
}

#endif // ACTIVATIONS_TD
