//===- ReductionOrder.h - In which order a reduction adds up ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits of a sum are those of one order of additions. It is fixed while the
// operation is what the model or a derivative rule made of it, and every pass
// that replaces, clones or lowers the operation keeps it: otherwise it would
// depend on what was fused with the operation, and so on regions and policies.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_REDUCTIONORDER_H
#define REMAT_DIALECT_REMAT_IR_REDUCTIONORDER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// How the elements of a reduction are combined, by value of `remat.order`:
///  - `Product`: a matrix product or a convolution, of which each operand lacks
///    a dimension of the result; as the library adds up, if it takes the
///    operation, else as `Across`;
///  - `RoundedProduct`: the same in f32, from factors of a narrower type, whose
///    result is rounded to that type once (RoundedProduct.h);
///  - `Along`: in 16 partial results, where the innermost dimension (of more
///    than one iteration) is a reduction, and one associative operation
///    combines each result. Element i of that dimension goes to partial result
///    i modulo 16; these are combined pairwise (i with i + 8, 4, 2, 1), and the
///    initial value last;
///  - `Across`: one by one in the order of the loops, from the initial value.
/// A generic that multiplies and adds up its operands without being a product
/// in this sense is a reduction which took in its producer, and adds up as the
/// reduction alone does.
enum class ReductionOrder { Product, RoundedProduct, Along, Across };

/// The order of `op` as it is written; of no use for operations that fusion has
/// made.
ReductionOrder computeReductionOrder(linalg::LinalgOp op);

/// The fixed order of `op`, or that of the operation as it is written.
ReductionOrder getReductionOrder(linalg::LinalgOp op);

bool hasFixedOrder(Operation *op);

/// Fixes the order of `op` as it is written, unless it is fixed or nothing is
/// added up.
void fixReductionOrder(linalg::LinalgOp op);

/// Fixes the order of `replacement` as that of `op`, of which it is another way
/// to write, if it would be another one as it is written.
void keepReductionOrder(linalg::LinalgOp op, linalg::LinalgOp replacement);

/// Fixes that of `op`, a part of the adjoint of `forward`. What is no product
/// has no products for adjoints, even if they look like some.
void fixAdjointOrder(linalg::LinalgOp op, Operation *forward);

/// Makes `op` a rounded product.
void fixAsRounded(linalg::LinalgOp op);

/// Returns true if `op` is a matrix product or a convolution by its fixed
/// order, or as it is written.
bool isProduct(linalg::LinalgOp op);

/// How one iteration of the body combines a term into an output.
struct Combiner {
  Operation *op;
  TypedAttr neutral;
};

/// The combiner of every output, or nothing if some output has none.
SmallVector<Combiner> findCombiners(linalg::LinalgOp op);

/// The outputs of a reduction of which every iteration writes an element of its
/// own, whatever the others write.
SmallVector<unsigned> findMappedOutputs(linalg::LinalgOp op);

/// The combiner of every output that is not mapped, or nothing if one of these
/// has none, or all are mapped.
SmallVector<Combiner> findCombinersBesideMapped(linalg::LinalgOp op);

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_REDUCTIONORDER_H
