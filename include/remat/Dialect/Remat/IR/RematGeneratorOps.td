//===- RematGeneratorOps.td - Draws without a state argument -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATGENERATOROPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATGENERATOROPS_TD

def Remat_GeneratorResource : Resource<"::mlir::remat::GeneratorResource">;

def Remat_GeneratorOp : Remat_Op<"generator", [Symbol]> {
  let summary = "a random state that layers share without passing it on";
  let description = [{
    Layers that draw without a state argument read the current state with
    `remat.get_rng` and store the one after their draws with `remat.set_rng`.
    Several layers may share a generator: each continues where the one before it
    in program order stopped. `remat-thread-rng` turns the generator into an
    argument and a result of every function that draws from it; the argument
    carries `remat.seed`.

    Example:

    ```mlir
    remat.generator @dropout seed(42)

    func.func private @dropout_of(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %rng = remat.get_rng @dropout
      %mask, %next = remat.random_bernoulli %rng {p = 0.9 : f64} : tensor<8x16xi1>
      remat.set_rng @dropout, %next
      ...
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$seed,
                       OptionalAttr<StrAttr>:$sym_visibility);
  let assemblyFormat = "$sym_name `seed` `(` $seed `)` attr-dict";
}

def Remat_GetRngOp : Remat_Op<"get_rng", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead<Remat_GeneratorResource>]>]> {
  let summary = "the current state of a generator";
  let description = [{
    Two reads without a `remat.set_rng` between them give the same state, and
    draws from it the same numbers.

    Example: `%rng = remat.get_rng @dropout`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$generator);
  let results = (outs Remat_RngType:$rng);
  let assemblyFormat = "$generator attr-dict";
}

def Remat_SetRngOp : Remat_Op<"set_rng", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemWrite<Remat_GeneratorResource>]>]> {
  let summary = "the state that the next reader of a generator gets";
  let description = [{
    Example: `remat.set_rng @dropout, %next`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$generator, Remat_RngType:$rng);
  let assemblyFormat = "$generator `,` $rng attr-dict";
}

#endif // REMAT_DIALECT_REMAT_IR_REMATGENERATOROPS_TD
