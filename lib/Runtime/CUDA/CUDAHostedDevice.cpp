//===- CUDAHostedDevice.cpp - A GPU for the steps of a host program -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session of its own. While a step runs, it is its thread's session: that is
// where the program's calls go.
//===----------------------------------------------------------------------===//

#include "remat/Runtime/HostedDevice.h"

#include "Failure.h"
#include "MemRef.h"
#include "Session.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <unistd.h>

using namespace remat;
using namespace remat::cuda;

static CUdeviceptr toAddress(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

namespace {
struct Failed {
  std::string message;
};

/// A lock on the emulator, of which a process has one, with one thread.
class EmulatorLock {
public:
  explicit EmulatorLock(bool isEmulated) {
    static std::mutex mutex;
    if (isEmulated)
      lock = std::unique_lock<std::mutex>(mutex);
  }

private:
  std::unique_lock<std::mutex> lock;
};

class CUDAHostedDevice final : public HostedDevice {
public:
  /// Fails without a device.
  explicit CUDAHostedDevice(bool isEmulated)
      : owned(std::make_unique<Session>(loadDriver(isEmulated))),
        session(*owned) {
    session.checkAssertionsAtOnce();
  }
  ~CUDAHostedDevice() override;

  void announce(size_t bytes) override { session.memory.announce(bytes); }
  size_t getDataSlots() const override { return kDataSlots; }
  std::string allocate(MemoryClass memoryClass, size_t bytes,
                       const std::string &name, void **pointer,
                       bool *isShort) override {
    size_t before = session.memory.countShortages();
    // Too little memory is nothing that the device is lost by.
    std::string problem = attempt(
        [&] {
          *pointer = reinterpret_cast<void *>(
              memoryClass == MemoryClass::data
                  ? session.inputs.allocate(bytes, name)
                  : session.memory.allocateZeroed(memoryClass, bytes, name));
        },
        /*mayLose=*/false);
    *isShort = session.memory.countShortages() != before;
    return problem;
  }
  std::string release(void *pointer) override {
    return attempt([&] {
      if (!pointer)
        return;
      session.flush();
      session.inputs.release(toAddress(pointer));
      session.memory.release(toAddress(pointer));
    });
  }
  std::string write(void *to, const void *from, size_t bytes) override {
    return attempt([&] {
      session.upload(toAddress(to), from, bytes);
      session.synchronize();
    });
  }
  std::string read(void *to, const void *from, size_t bytes) override {
    return attempt([&] { session.download(to, toAddress(from), bytes); });
  }
  std::string load(const Program &program) override {
    return attempt(
        [&] {
          if (program.kernels)
            session.kernels.load(program.kernels);
          if (program.multiplies)
            session.products.load();
          if (program.convolves)
            session.convolutions.load();
        },
        /*mayLose=*/false);
  }
  std::string run(const Call &call, Outcome *outcome) override;

  void *getStream() const override { return session.stream; }
  size_t getHeldBytes() const override { return session.memory.heldBytes(); }
  size_t getRuntimeBytes() const override { return kRuntimeBytes; }
  int getNumber() const override { return session.chip.device; }
  std::string describe() const override {
    return session.chip.name + " (" + session.chip.architecture +
           "), driver for CUDA " + session.chip.driverVersion;
  }

private:
  template <typename Work> std::string attempt(Work work, bool mayLose = true);
  /// Why there is nothing to be done with it.
  std::string findObstacle() const;
  /// Nothing is known of what was under way.
  std::string lose(const std::string &message) {
    const char *advice =
        "; make the step again, and load a state that was saved before";
    session.abandonCapture();
    loss = "the device was lost when a call failed (" + message + ")" + advice;
    return message + advice;
  }

  std::unique_ptr<Session> owned;
  Session &session;
  pid_t process = getpid();
  std::string loss;
};
} // namespace

static void throwFailure(const std::string &message) { throw Failed{message}; }

/// Runs `work`; returns the message of its failure, empty if it succeeds.
template <typename Work> static std::string catchFailure(Work work) {
  auto *outer = failureHandler;
  failureHandler = throwFailure;
  std::string message;
  try {
    work();
  } catch (const Failed &failed) {
    message = failed.message;
  } catch (const std::exception &failed) {
    message = failed.what(); // No memory of the host.
  }
  failureHandler = outer;
  return message;
}

CUDAHostedDevice::~CUDAHostedDevice() {
  if (process != getpid()) {
    // The driver of this process knows nothing of it.
    (void)owned.release();
    return;
  }
  EmulatorLock lock(session.driver.isEmulated);
  catchFailure([&] { session.makeCurrent(); });
  owned.reset();
}

static constexpr const char *kForked =
    "this process was forked from one that uses a GPU, of which CUDA allows no "
    "copy; fork before the first step is made, or start processes by 'spawn'";

std::string CUDAHostedDevice::findObstacle() const {
  return process == getpid() ? loss : kForked;
}

template <typename Work>
std::string CUDAHostedDevice::attempt(Work work, bool mayLose) {
  if (std::string obstacle = findObstacle(); !obstacle.empty())
    return obstacle;
  EmulatorLock lock(session.driver.isEmulated);
  std::string message = catchFailure([&] {
    session.makeCurrent();
    work();
  });
  return message.empty() || !mayLose ? message : lose(message);
}

std::string CUDAHostedDevice::run(const Call &call, Outcome *outcome) {
  *outcome = Outcome::refused;
  if (std::string obstacle = findObstacle(); !obstacle.empty())
    return obstacle;
  EmulatorLock lock(session.driver.isEmulated);
  *outcome = Outcome::lost;
  std::string problem = catchFailure([&] {
    session.makeCurrent();
    for (const Input &input : call.inputs) {
      if (input.isOnDevice)
        session.copyNow(toAddress(input.to), toAddress(input.from),
                        input.bytes);
      else
        session.upload(toAddress(input.to), input.from, input.bytes);
    }
    session.begin(call.evaluates ? Phase::evaluation : Phase::step);
  });
  if (!problem.empty())
    return lose(problem);
  assertionFailed = false;
  ThreadSession scope(session);
  bool hasWritten = false;
  std::unique_ptr<char, decltype(&std::free)> left(
      remat_rt_run_step(call.function, call.buffers, call.step, &hasWritten),
      std::free);
  bool isAssertion = left && assertionFailed;
  if (left && !isAssertion)
    return lose(left.get());
  // The host's part of an assertion leaves what comes before it in the list.
  problem = catchFailure([&] {
    session.begin(Phase::none);
    session.synchronize();
  });
  if (!problem.empty())
    return lose(problem);
  if (!isAssertion) {
    *outcome = Outcome::done;
    return "";
  }
  *outcome = hasWritten ? Outcome::assertionAfterWrites : Outcome::assertion;
  return left.get();
}

REMAT_EXPORT char *remat_rt_open_device(bool isEmulated,
                                        HostedDevice **device) {
  static const pid_t process = getpid();
  if (process != getpid())
    return strdup(kForked);
  EmulatorLock lock(isEmulated);
  std::string message =
      catchFailure([&] { *device = new CUDAHostedDevice(isEmulated); });
  return message.empty() ? nullptr : strdup(message.c_str());
}
