//===- Session.cpp - A run on one device ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Session.h"

#include <cstdlib>

using namespace remat;
using namespace remat::cuda;

/// Bounds what the host keeps of a step that launches without end.
static constexpr size_t kMaxCommands = 16384;
/// More go through a slot of their own.
static constexpr size_t kMaxWriteBytes = 1024;

//===----------------------------------------------------------------------===//
// Start and end
//===----------------------------------------------------------------------===//

Stream::Stream(const Driver &driver)
    : driver(driver), chip(Chip::open(driver)) {
  driver.check(driver.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING),
               "cuStreamCreate");
}

Stream::~Stream() {
  driver.cuStreamDestroy_v2(handle);
  driver.cuDevicePrimaryCtxRelease_v2(chip.device);
}

Session::Session(const Driver &table)
    : driver(table), owner(driver), memory(driver, stream),
      kernels(driver, chip), pool(memory), inputs(driver, stream, memory),
      products(driver, memory), convolutions(driver, stream, memory),
      segments(driver, stream, SegmentOptions::fromEnvironment()),
      timer(driver, stream),
      uploads(driver, stream, kUploadSlots, kUploadBytes),
      runtimeMemory(memory.allocateZeroed(MemoryClass::runtime, kRuntimeBytes,
                                          "the runtime's own block")),
      stepBlock(driver, stream, runtimeMemory),
      rows(driver, stream, uploads, runtimeMemory + kStepBlockBytes) {
  memory.setReserve([this] {
    flush();
    driver.wait(stream);
    pool.releaseFreeBlocks();
  });
}

Session::~Session() { driver.cuStreamSynchronize(stream); }

static std::unique_ptr<Session> &instance() {
  // Never destroyed: the driver may be gone by then.
  static auto *pointer = new std::unique_ptr<Session>();
  return *pointer;
}

static thread_local Session *threadSession = nullptr;

ThreadSession::ThreadSession(Session &session) : outer(threadSession) {
  threadSession = &session;
}

ThreadSession::~ThreadSession() { threadSession = outer; }

Session &cuda::session(const void *image) {
  if (threadSession)
    return *threadSession;
  if (!instance())
    instance() = std::make_unique<Session>(
        loadDriver(image ? isEmulatedImage(image)
                         : std::getenv("REMAT_CUDA_EMULATOR") != nullptr));
  return *instance();
}

void cuda::setSession(std::unique_ptr<Session> replacement) {
  instance() = std::move(replacement);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

void Session::flush() {
  uploads.submit();
  inputs.deliver();
  stepBlock.submit();
  segments.run(list);
}

void Session::appended() {
  if (list.size() >= kMaxCommands)
    flush();
}

void Session::begin(Phase next) {
  flush();
  phase = next;
  segments.begin(next);
}

void Session::launch(const Kernel &kernel, const LaunchShape &shape,
                     const Arguments &arguments, const char *where) {
  auto isSlot = [](char kind) { return kind == 's' || kind == 'v'; };
  size_t slotBytes = 0;
  for (int64_t i = 0; i < arguments.count; ++i)
    slotBytes += isSlot(arguments.kinds[i]) ? kStepSlotBytes : 0;
  if (!stepBlock.hasRoomFor(slotBytes))
    flush();
  words.resize(arguments.count);
  for (int64_t i = 0; i < arguments.count; ++i) {
    uint64_t value = arguments.values[i];
    switch (arguments.kinds[i]) {
    case 'p':
      words[i] = value;
      break;
    case 'w':
      words[i] = static_cast<uint32_t>(value);
      break;
    case 's':
      words[i] = stepBlock.add(&value, sizeof(value));
      break;
    case 'v':
      words[i] =
          stepBlock.add(reinterpret_cast<const void *>(value), kStepSlotBytes);
      break;
    default:
      fail("argument " + std::to_string(i) +
           describeKernel(kernel.name, where) + " is of unknown kind '" +
           arguments.kinds[i] +
           "'; was the program compiled by another version?");
    }
  }
  list.launch(kernel, shape, words.data(), arguments.count, where);
  appended();
}

void Session::copy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (bytes == 0 || to == from)
    return;
  list.copy(to, from, bytes);
  appended();
}

void Session::copyNow(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (bytes > 0)
    driver.check(driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
                 "cuMemcpyDtoDAsync");
}

void Session::fill(CUdeviceptr to, uint8_t value, size_t bytes) {
  if (bytes == 0)
    return;
  list.fill(to, value, bytes);
  appended();
}

void Session::call(const LibraryCall &library, const uint64_t *operands,
                   int64_t numOperands) {
  list.call(library, operands, numOperands);
  appended();
}

void Session::write(CUdeviceptr to, const void *from, size_t bytes) {
  if (bytes > kMaxWriteBytes)
    return upload(to, from, bytes);
  if (bytes == 0)
    return;
  if (!stepBlock.hasRoomFor(bytes))
    flush();
  list.copy(to, stepBlock.add(from, bytes), bytes);
  appended();
}

void Session::assertByte(CUdeviceptr condition, const Assertion &assertion) {
  if (!rows.hasRoomForAssertion()) {
    flush();
    rows.keepAssertions();
  }
  list.copy(rows.addAssertion(assertion), condition, 1);
  appended();
  if (!checksAtOnce)
    return;
  flush();
  rows.check();
}

CUdeviceptr Session::constant(const void *host, size_t bytes) {
  auto it = constants.find(host);
  if (it != constants.end() && it->second.bytes >= bytes)
    return it->second.pointer;
  // No command that was appended knows the new memory: nothing to wait for.
  CUdeviceptr pointer =
      memory.allocate(MemoryClass::constant, bytes,
                      "a constant of " + std::to_string(bytes) + " bytes");
  uploads.submit();
  uploads.append(pointer, host, bytes);
  constants[host] = {pointer, bytes};
  return pointer;
}

//===----------------------------------------------------------------------===//
// What the host waits for
//===----------------------------------------------------------------------===//

void Session::upload(CUdeviceptr to, const void *from, size_t bytes) {
  if (!list.empty())
    flush();
  if (inputs.upload(to, from, bytes))
    return;
  if (memory.isStart(to))
    uploads.submit();
  uploads.append(to, from, bytes);
}

void Session::download(void *to, CUdeviceptr from, size_t bytes) {
  flush();
  uploads.download(to, from, bytes);
  // A program without a training loop looks at its assertions nowhere else.
  if (phase == Phase::none && rows.hasAssertions())
    rows.check();
}

void Session::synchronize() {
  flush();
  driver.wait(stream);
  rows.check();
}

bool Session::keepScalar(CUdeviceptr scalar, ScalarKind kind) {
  flush();
  return rows.keep(scalar, kind);
}

std::vector<double> Session::takeScalars() {
  flush();
  return rows.take();
}

size_t Session::hostBytes() const {
  return uploads.hostBytes() + inputs.hostBytes() + stepBlock.hostBytes();
}
