//===- Rules.h - Derivative rules by dialect --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line for each dialect that has rules here; Registration.cpp calls them.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_RULES_H
#define REMAT_LIB_AUTODIFF_RULES_H

namespace mlir {
class DialectRegistry;
namespace remat {
void registerAttentionRule(DialectRegistry &registry);
void registerConvRules(DialectRegistry &registry);
void registerScalarRules(DialectRegistry &registry);
void registerScatterRules(DialectRegistry &registry);
void registerTensorRules(DialectRegistry &registry);
/// Not derivatives, but needed for them: shapes through remat operations.
void registerShapeBounds(DialectRegistry &registry);
} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_AUTODIFF_RULES_H
