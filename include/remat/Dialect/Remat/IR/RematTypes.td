//===- RematTypes.td - Types of the remat dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATTYPES_TD
#define REMAT_DIALECT_REMAT_IR_REMATTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "remat/Dialect/Remat/IR/RematDialect.td"

def Remat_RngType : TypeDef<Remat_Dialect, "Rng"> {
  let mnemonic = "rng";
  let summary = "state of a counter-based random generator";
  let description = [{
    The state of a Philox 4x32-10 stream: a 64-bit key and a 64-bit counter.
    Every draw takes a state and returns the one after it; a state that is used
    twice gives the same numbers twice, which is what a recompute relies on.
  }];
}

#endif // REMAT_DIALECT_REMAT_IR_REMATTYPES_TD
