//===- Reduction.h - Parts added in the order of a tree ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_RUNTIME_REDUCTION_H
#define REMAT_LIB_RUNTIME_REDUCTION_H

#include "remat/Runtime/Device.h"

namespace remat {

/// The kinds of remat.all_reduce.
enum class ReductionKind : int64_t {
  sum,
  prod,
  maximum,
  minimum,
  maxnum,
  minnum,
  maxs,
  mins,
  maxu,
  minu,
  bitAnd,
  bitOr,
  bitXor
};
constexpr int64_t numReductionKinds = 13;
const char *nameOf(ReductionKind kind);

/// As MLIR has it: `f32`.
const char *nameOf(ScalarKind kind);

/// Puts two parts together, element by element: `into`, which may be `left` or
/// `right`, = left op right.
using Combine = void (*)(void *into, const void *left, const void *right,
                         int64_t count);

/// Null where elements of this type have no such kind.
Combine getCombine(ReductionKind kind, ScalarKind type);

/// Puts `count` elements of each part together, pairwise, neighbours first: 0
/// with 1, 2 with 3, ...; of an odd number, the last goes to the next level as
/// it is. `into` may be one of the parts. The threads share large parts; no bit
/// depends on them.
void reduceParts(ReductionKind kind, ScalarKind type,
                 const std::vector<const char *> &parts, char *into,
                 int64_t count);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_REDUCTION_H
