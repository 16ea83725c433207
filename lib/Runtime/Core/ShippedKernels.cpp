//===- ShippedKernels.cpp - What a shipped step knows beforehand ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler knows for which processor an object is (lib/CAPI/Ship) and
// defines this constant: kernels for others become dead code.
//===----------------------------------------------------------------------===//

#include "Ship.h"
#include "TileKernels.h"

using namespace remat;

extern "C" const int64_t remat_core_kernels;

bool remat::hasArmFMA() {
  return remat_core_kernels == static_cast<int64_t>(ShipKernels::armFMA);
}
bool remat::hasAVX2() {
  return remat_core_kernels >= static_cast<int64_t>(ShipKernels::avx2);
}
bool remat::hasAVX512() {
  return remat_core_kernels == static_cast<int64_t>(ShipKernels::avx512);
}
