//===- Session.h - A run on one device -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One stream, in whose order everything happens: what programs append, what the
// training loop copies. Programs append to a list; `flush` puts it on the
// stream, where the host needs a result or a step ends.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_SESSION_H
#define REMAT_RUNTIME_CUDA_SESSION_H

#include "BlockPool.h"
#include "Convolutions.h"
#include "InputSlots.h"
#include "Products.h"
#include "ScalarRows.h"
#include "Segments.h"
#include "StepBlock.h"
#include "StepTimer.h"

namespace remat::cuda {

/// A stream on a device. Destroyed after everything that uses it.
struct Stream {
  explicit Stream(const Driver &driver);
  ~Stream();
  Stream(const Stream &) = delete;

  const Driver &driver;
  Chip chip;
  CUstream handle = nullptr;
};

class Session {
public:
  explicit Session(const Driver &driver);
  ~Session();
  Session(const Session &) = delete;

  /// An argument of a kernel, as remat_cuda_launch gets it.
  struct Arguments {
    int64_t count;
    const char *kinds;
    const uint64_t *values;
  };
  void launch(const Kernel &kernel, const LaunchShape &shape,
              const Arguments &arguments, const char *where);
  void copy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
  void fill(CUdeviceptr to, uint8_t value, size_t bytes);
  void call(const LibraryCall &library, const uint64_t *words,
            int64_t numWords);
  /// Writes bytes that differ from step to step.
  void write(CUdeviceptr to, const void *from, size_t bytes);
  void assertByte(CUdeviceptr condition, const Assertion &assertion);
  /// The device's copy of a constant of the program.
  CUdeviceptr constant(const void *host, size_t bytes);

  /// Starts a phase; what was appended before is not part of it.
  void begin(Phase next);
  void flush();
  void upload(CUdeviceptr to, const void *from, size_t bytes);
  void download(void *to, CUdeviceptr from, size_t bytes);
  /// Waits for the device. Fails if an assertion did not hold.
  void synchronize();
  bool keepScalar(CUdeviceptr scalar, ScalarKind kind);
  std::vector<double> takeScalars();

  /// Makes each assertion wait for the device, so that no command after one
  /// that fails is run.
  void checkAssertionsAtOnce() { checksAtOnce = true; }
  /// Copies from memory of others, ahead of what was appended.
  void copyNow(CUdeviceptr to, CUdeviceptr from, size_t bytes);
  /// Ends what a failure interrupted: until then, threads cannot do much.
  void abandonCapture() { segments.abandonCapture(); }
  /// For a thread that did not make the session.
  void makeCurrent() const {
    driver.check(driver.cuCtxSetCurrent(chip.context), "cuCtxSetCurrent");
  }

  /// Pinned bytes of the host.
  size_t hostBytes() const;

  const Driver driver;

private:
  Stream owner;

public:
  const Chip &chip = owner.chip;
  const CUstream stream = owner.handle;
  DeviceMemory memory;
  Kernels kernels;
  BlockPool pool;
  InputSlots inputs;
  Products products;
  Convolutions convolutions;
  Segments segments;
  StepTimer timer;

private:
  void appended();

  Staging uploads;
  CUdeviceptr runtimeMemory;
  StepBlock stepBlock;
  ScalarRows rows;
  CommandList list;
  Phase phase = Phase::none;
  bool checksAtOnce = false;
  std::vector<uint64_t> words;
  struct Constant {
    CUdeviceptr pointer;
    size_t bytes;
  };
  std::unordered_map<const void *, Constant> constants;
};

/// The session of this thread if it has one, else of this process, made when it
/// is first needed, with the driver that runs `image`.
Session &session(const void *image = nullptr);
/// Makes a session the one of this thread, for as long as this exists.
class ThreadSession {
public:
  explicit ThreadSession(Session &session);
  ~ThreadSession();
  ThreadSession(const ThreadSession &) = delete;

private:
  Session *outer;
};
/// Replaces that of the process, for tests; null: the next one is made anew.
void setSession(std::unique_ptr<Session> replacement);

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_SESSION_H
