//===- FakeDriver.cpp - A driver that records and runs late ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FakeDriver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace remat::cuda;

FakeDriver &FakeDriver::get() {
  static FakeDriver instance;
  return instance;
}

bool FakeDriver::isCalled(const char *name) {
  calls.push_back(name);
  return failAt > 0 && --failAt == 0;
}

int64_t FakeDriver::count(const std::string &name) const {
  return std::count(calls.begin(), calls.end(), name);
}

void FakeDriver::enqueue(FakeWork work) {
  if (capture)
    capture->push_back(std::move(work));
  else
    queue.push_back(std::move(work));
}

void FakeDriver::runUntil(const std::function<bool()> &isDone) {
  while (!isDone() && !queue.empty()) {
    FakeWork work = std::move(queue.front());
    queue.pop_front();
    work();
    clock += 1;
  }
}

namespace {
struct Event {
  int64_t recorded = 0, reached = 0;
  float time = 0;
};
struct Graph {
  std::vector<FakeWork> work;
};

FakeDriver &fake() { return FakeDriver::get(); }
Event *toEvent(CUevent event) { return reinterpret_cast<Event *>(event); }

CUresult waitForAll() {
  fake().runAll();
  return fake().streamResult;
}

void copy(uint64_t to, uint64_t from, size_t bytes) {
  fake().enqueue([=] {
    std::memcpy(reinterpret_cast<void *>(to),
                reinterpret_cast<const void *>(from), bytes);
  });
}

template <typename T> uint64_t toHost(T pointer) {
  return uint64_t(pointer) - FakeDriver::deviceOffset;
}
} // namespace

#define FAKE(NAME, PARAMETERS, ...)                                            \
  table.NAME = [] PARAMETERS -> CUresult {                                     \
    if (fake().isCalled(#NAME))                                                \
      return fake().failure;                                                   \
    __VA_ARGS__                                                                \
    return CUDA_SUCCESS;                                                       \
  };

Driver FakeDriver::table() {
  Driver table;
  FAKE(cuInit, (unsigned), {
    if (fake().numDevices == 0)
      return CUDA_ERROR_NO_DEVICE;
  })
  FAKE(cuDriverGetVersion, (int *version), { *version = fake().version; })
  FAKE(cuDeviceGetCount, (int *count), { *count = fake().numDevices; })
  FAKE(cuDeviceGet, (CUdevice * device, int), { *device = 0; })
  FAKE(cuDeviceGetName, (char *name, int length, CUdevice),
       { std::strncpy(name, "Fake", length); })
  FAKE(cuDeviceGetAttribute,
       (int *value, CUdevice_attribute attribute, CUdevice), {
         *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
                  : attribute ==
                          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
                      ? fake().sharedLimit
                      : 0;
       })
  FAKE(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice),
       { *bytes = fake().totalBytes; })
  FAKE(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice),
       { *context = reinterpret_cast<CUcontext>(1); })
  FAKE(cuDevicePrimaryCtxRelease_v2, (CUdevice), {})
  FAKE(cuCtxSetCurrent, (CUcontext), {})
  FAKE(cuCtxSynchronize, (), { return waitForAll(); })
  table.cuGetErrorName = [](CUresult error, const char **text) {
    *text = error == CUDA_ERROR_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
            : error == CUDA_ERROR_NOT_FOUND     ? "CUDA_ERROR_NOT_FOUND"
            : error == CUDA_ERROR_NO_BINARY_FOR_GPU
                ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                : "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
  };
  table.cuGetErrorString = [](CUresult, const char **text) {
    *text = "as planned";
    return CUDA_SUCCESS;
  };
  FAKE(cuMemGetInfo_v2, (size_t *free, size_t *total), {
    *total = fake().totalBytes;
    *free = *total - fake().usedBytes;
  })
  FAKE(cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes), {
    if (bytes > fake().totalBytes - fake().usedBytes)
      return CUDA_ERROR_OUT_OF_MEMORY;
    void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(memory, 0x55, bytes);
    *pointer = uint64_t(memory) + deviceOffset;
    fake().allocations[*pointer] = bytes;
    fake().usedBytes += bytes;
  })
  FAKE(cuMemFree_v2, (CUdeviceptr pointer), {
    fake().runAll();
    auto it = fake().allocations.find(pointer);
    if (it == fake().allocations.end())
      return CUDA_ERROR_INVALID_VALUE;
    fake().usedBytes -= it->second;
    fake().allocations.erase(it);
    std::free(FakeDriver::at<void>(pointer));
  })
  FAKE(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned),
       { *pointer = std::malloc(bytes); })
  FAKE(cuMemFreeHost, (void *pointer), { std::free(pointer); })
  FAKE(cuMemcpyHtoDAsync_v2,
       (CUdeviceptr to, const void *from, size_t bytes, CUstream),
       { copy(toHost(to), uint64_t(from), bytes); })
  FAKE(cuMemcpyDtoHAsync_v2,
       (void *to, CUdeviceptr from, size_t bytes, CUstream),
       { copy(uint64_t(to), toHost(from), bytes); })
  FAKE(cuMemcpyDtoDAsync_v2,
       (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream),
       { copy(toHost(to), toHost(from), bytes); })
  FAKE(cuMemsetD8Async,
       (CUdeviceptr to, unsigned char value, size_t bytes, CUstream), {
         fake().enqueue(
             [=] { std::memset(FakeDriver::at<void>(to), value, bytes); });
       })
  FAKE(cuModuleLoadData, (CUmodule * module, const void *), {
    *module = reinterpret_cast<CUmodule>(1);
    return fake().moduleResult;
  })
  FAKE(cuModuleUnload, (CUmodule), {})
  FAKE(cuModuleGetFunction, (CUfunction * function, CUmodule, const char *name),
       {
         auto it = fake().kernels.find(name);
         if (it == fake().kernels.end())
           return CUDA_ERROR_NOT_FOUND;
         *function = reinterpret_cast<CUfunction>(&*it);
       })
  FAKE(cuFuncGetAttribute, (int *value, CUfunction_attribute, CUfunction f), {
    using Entry = std::pair<const std::string, FakeKernel>;
    *value = reinterpret_cast<Entry *>(f)->second.staticSharedBytes;
  })
  FAKE(cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int), {})
  FAKE(cuLaunchKernel,
       (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned, unsigned,
        unsigned, unsigned shared, CUstream, void **arguments, void **),
       {
         using Entry = std::pair<const std::string, FakeKernel>;
         auto *entry = reinterpret_cast<Entry *>(f);
         FakeLaunch launch{entry->first, {gx, gy, gz}, shared, {}};
         for (size_t i = 0; i < entry->second.numArguments; ++i)
           launch.arguments.push_back(*static_cast<uint64_t *>(arguments[i]));
         fake().enqueue([=] {
           fake().launches.push_back(launch);
           entry->second.run(launch);
         });
       })
  FAKE(cuStreamCreate, (CUstream * stream, unsigned),
       { *stream = reinterpret_cast<CUstream>(1); })
  FAKE(cuStreamDestroy_v2, (CUstream), {})
  FAKE(cuStreamSynchronize, (CUstream), { return waitForAll(); })
  FAKE(cuStreamWaitEvent, (CUstream, CUevent, unsigned), {})
  FAKE(cuEventCreate, (CUevent * event, unsigned),
       { *event = reinterpret_cast<CUevent>(new Event()); })
  FAKE(cuEventDestroy_v2, (CUevent event), {
    fake().runAll();
    delete toEvent(event);
  })
  FAKE(cuEventRecord, (CUevent event, CUstream), {
    ++toEvent(event)->recorded;
    fake().enqueue([=] {
      ++toEvent(event)->reached;
      toEvent(event)->time = fake().clock;
    });
  })
  FAKE(cuEventQuery, (CUevent event), {
    if (toEvent(event)->reached < toEvent(event)->recorded)
      return CUDA_ERROR_NOT_READY;
  })
  FAKE(cuEventSynchronize, (CUevent event), {
    fake().runUntil(
        [=] { return toEvent(event)->reached == toEvent(event)->recorded; });
  })
  FAKE(cuEventElapsedTime, (float *milliseconds, CUevent from, CUevent to),
       { *milliseconds = toEvent(to)->time - toEvent(from)->time; })
  FAKE(cuStreamBeginCapture_v2, (CUstream, CUstreamCaptureMode),
       { fake().capture = &(new Graph())->work; })
  FAKE(cuStreamEndCapture, (CUstream, CUgraph * graph), {
    *graph = reinterpret_cast<CUgraph>(fake().capture);
    fake().capture = nullptr;
  })
  FAKE(cuGraphInstantiateWithFlags,
       (CUgraphExec * exec, CUgraph graph, unsigned long long), {
         *exec = reinterpret_cast<CUgraphExec>(
             new Graph(*reinterpret_cast<Graph *>(graph)));
       })
  FAKE(cuGraphLaunch, (CUgraphExec exec, CUstream), {
    for (const FakeWork &work : reinterpret_cast<Graph *>(exec)->work)
      fake().enqueue(work);
  })
  FAKE(cuGraphDestroy, (CUgraph graph),
       { delete reinterpret_cast<Graph *>(graph); })
  FAKE(cuGraphExecDestroy, (CUgraphExec exec),
       { delete reinterpret_cast<Graph *>(exec); })
  return table;
}
