//===- StepBlock.cpp - Scalars that change from step to step --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepBlock.h"

using namespace remat;
using namespace remat::cuda;

CUdeviceptr StepBlock::add(const void *value, size_t bytes) {
  size_t offset = values.size();
  const char *data = static_cast<const char *>(value);
  values.insert(values.end(), data, data + bytes);
  values.resize((values.size() + kStepSlotBytes - 1) / kStepSlotBytes *
                kStepSlotBytes);
  return memory + offset;
}

void StepBlock::submit() {
  if (values.empty())
    return;
  staging.append(memory, values.data(), values.size());
  staging.submit();
  values.clear();
}
