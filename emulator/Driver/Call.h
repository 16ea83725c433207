//===- Call.h - What every function of the driver does first ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_CALL_H
#define REMAT_EMULATOR_DRIVER_CALL_H

#include "remat/CUDA/Driver.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace remat::cuda::emulator {

/// A call of the driver: takes the lock, counts, fails if it is the one that
/// shall, or if there was an error that stays.
class Call {
public:
  explicit Call(const char *function);
  /// One that is not counted.
  Call();

  CUresult getError() const { return error; }

private:
  std::unique_lock<std::recursive_mutex> lock;
  CUresult error;
};

/// cuInit was called.
void setInitialized();
/// After an error in a kernel every call fails with it. Returns `error`.
CUresult keepError(CUresult error);

/// Handles that the driver gave out.
template <typename T> class Handles {
public:
  T *add(T value) {
    objects.push_back(std::make_unique<T>(std::move(value)));
    return objects.back().get();
  }
  bool contains(const T *object) const { return find(object) != objects.end(); }
  bool remove(const T *object) {
    auto found = find(object);
    if (found == objects.end())
      return false;
    objects.erase(found);
    return true;
  }

private:
  auto find(const T *object) const {
    return std::find_if(objects.begin(), objects.end(), [&](const auto &known) {
      return known.get() == object;
    });
  }
  std::vector<std::unique_ptr<T>> objects;
};

} // namespace remat::cuda::emulator

#define REMAT_DRIVER_FUNCTION                                                  \
  extern "C" __attribute__((visibility("default"))) remat::cuda::CUresult

/// First line of each function of the driver.
#define REMAT_DRIVER_CALL()                                                    \
  remat::cuda::emulator::Call driverCall(__func__);                            \
  if (driverCall.getError() != remat::cuda::CUDA_SUCCESS)                      \
  return driverCall.getError()

#endif // REMAT_EMULATOR_DRIVER_CALL_H
