//===- Rules.h - Derivative rules by dialect --------------------*- C++ -*-===//
//
// One line for each dialect that has rules here; Registration.cpp calls them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_RULES_H
#define REMAT_LIB_AUTODIFF_RULES_H

namespace mlir {
class DialectRegistry;
namespace remat {
void registerRematRules(DialectRegistry &registry);
} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_AUTODIFF_RULES_H
