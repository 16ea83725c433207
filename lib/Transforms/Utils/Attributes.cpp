//===- Attributes.cpp - Attributes of replaced operations -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/Attributes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;

void remat::copyAttributes(Operation *from, Operation *to, bool withPhase) {
  for (NamedAttribute attr : from->getDiscardableAttrs()) {
    StringAttr name = attr.getName();
    bool isPhase = name == RematDialect::getPhaseAttrName();
    if (!to->hasAttr(name) && (withPhase || !isPhase) &&
        !name.getValue().starts_with("linalg."))
      to->setDiscardableAttr(name, attr.getValue());
  }
}
