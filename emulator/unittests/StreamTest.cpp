//===- StreamTest.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatorTest.h"

using namespace remat::cuda;

namespace {
class StreamTest : public EmulatorTest {
protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    EXPECT_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    EXPECT_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    EXPECT_OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    EXPECT_OK(cuMemHostAlloc(&pinned, 64, 0));
  }
  void TearDown() override {
    EXPECT_OK(cuInit(0));
    EXPECT_OK(cuStreamDestroy_v2(first));
    EXPECT_OK(cuStreamDestroy_v2(second));
    EXPECT_OK(cuEventDestroy_v2(event));
    EXPECT_OK(cuMemFreeHost(pinned));
    EmulatorTest::TearDown();
  }
  CUstream first, second;
  CUevent event;
  void *pinned;
};
} // namespace

TEST_F(StreamTest, NothingHappensBeforeSomebodyWaits) {
  CUdeviceptr pointer = upload({5});
  int value = 0;
  EXPECT_OK(cuMemcpyDtoHAsync_v2(&value, pointer, sizeof value, first));
  EXPECT_EQ(value, 0);
  EXPECT_OK(cuStreamSynchronize(first));
  EXPECT_EQ(value, 5);
}

TEST_F(StreamTest, PinnedMemoryIsReadLate) {
  CUdeviceptr pointer = allocate(sizeof(int));
  auto *staging = static_cast<int *>(pinned);
  *staging = 1;
  EXPECT_OK(cuMemcpyHtoDAsync_v2(pointer, staging, sizeof(int), first));
  *staging = 2;
  EXPECT_OK(cuStreamSynchronize(first));
  EXPECT_EQ(download(pointer, 1).front(), 2);
}

TEST_F(StreamTest, PageableMemoryIsReadAtTheCall) {
  CUdeviceptr pointer = allocate(sizeof(int));
  int value = 1;
  EXPECT_OK(cuMemcpyHtoDAsync_v2(pointer, &value, sizeof value, first));
  value = 2;
  EXPECT_OK(cuStreamSynchronize(first));
  EXPECT_EQ(download(pointer, 1).front(), 1);
}

TEST_F(StreamTest, ArgumentsAreCopiedAtTheCall) {
  CUdeviceptr x = upload({1, 2, 3}), y = upload({0, 0, 0});
  EXPECT_OK(launchAxpy(y, x, 10, 3, first));
  EXPECT_OK(cuStreamSynchronize(first));
  EXPECT_EQ(download(y, 3), std::vector<int>({10, 20, 30}));
}

/// The value that the second stream copies while the first one sets it.
static int runTwoStreams(CUdeviceptr pointer, CUstream first, CUstream second,
                         CUevent event, bool waits) {
  int value = 0, zero = 0;
  EXPECT_OK(cuMemcpyHtoDAsync_v2(pointer, &zero, sizeof zero, nullptr));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_OK(cuMemsetD8Async(pointer, 1, sizeof(int), first));
  EXPECT_OK(cuEventRecord(event, first));
  if (waits)
    EXPECT_OK(cuStreamWaitEvent(second, event, 0));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(&value, pointer, sizeof value, second));
  EXPECT_OK(cuStreamSynchronize(second));
  EXPECT_OK(cuStreamSynchronize(first));
  return value;
}

TEST_F(StreamTest, AMissingWaitShows) {
  CUdeviceptr pointer = allocate(sizeof(int));
  unsigned numMissed = 0;
  for (unsigned i = 0; i < 32; ++i) {
    set("SEED", std::to_string(i).c_str());
    EXPECT_EQ(runTwoStreams(pointer, first, second, event, true), 0x01010101);
    numMissed += runTwoStreams(pointer, first, second, event, false) == 0;
  }
  EXPECT_GT(numMissed, 16U);
  EXPECT_LT(numMissed, 32U);
}

TEST_F(StreamTest, AWaitIsForTheLastRecordingBeforeIt) {
  CUdeviceptr pointer = allocate(sizeof(int));
  EXPECT_OK(cuMemsetD8Async(pointer, 1, sizeof(int), first));
  EXPECT_OK(cuEventRecord(event, first));
  EXPECT_OK(cuStreamWaitEvent(second, event, 0));
  // The wait was enqueued before this recording, so it does not apply to it.
  EXPECT_OK(cuMemsetD8Async(pointer, 2, sizeof(int), first));
  EXPECT_OK(cuEventRecord(event, first));
  int value = 0;
  EXPECT_OK(cuMemcpyDtoHAsync_v2(&value, pointer, sizeof value, second));
  EXPECT_OK(cuStreamSynchronize(second));
  EXPECT_EQ(value, 0x01010101);
}

TEST_F(StreamTest, BlockingStreamsAndTheDefaultStreamWaitForEachOther) {
  CUstream blocking;
  EXPECT_OK(cuStreamCreate(&blocking, 0));
  for (unsigned i = 0; i < 8; ++i) {
    set("SEED", std::to_string(i).c_str());
    CUdeviceptr x = upload({1}), y = upload({0});
    EXPECT_OK(launchAxpy(y, x, 1, 1, blocking)); // 1
    EXPECT_OK(launchAxpy(y, y, 9, 1, nullptr));  // 10
    EXPECT_OK(launchAxpy(y, x, 1, 1, blocking)); // 11
    EXPECT_OK(cuStreamSynchronize(blocking));
    EXPECT_EQ(download(y, 1).front(), 11);
  }
  EXPECT_OK(cuStreamDestroy_v2(blocking));
}

TEST_F(StreamTest, EventsAreNotReadyAFewTimes) {
  EXPECT_OK(cuEventQuery(event)); // Never recorded.
  CUdeviceptr pointer = upload({1});
  EXPECT_OK(launchAxpy(pointer, pointer, 1, 1, first));
  EXPECT_OK(cuEventRecord(event, first));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  unsigned numQueries = 0;
  while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
    ++numQueries;
  EXPECT_LT(numQueries, 5U);
}

TEST_F(StreamTest, ElapsedTimeNeedsTwoEventsThatAreDone) {
  CUevent end;
  EXPECT_OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, end),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuEventRecord(event, first));
  EXPECT_OK(cuEventRecord(end, first));
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, end),
            CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuEventSynchronize(end));
  EXPECT_OK(cuEventElapsedTime(&milliseconds, event, end));
  EXPECT_GE(milliseconds, 0);
  EXPECT_OK(cuEventDestroy_v2(end));
}

TEST_F(StreamTest, WorkOfADestroyedStreamIsDone) {
  CUstream stream;
  EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr x = upload({1}), y = upload({0});
  EXPECT_OK(launchAxpy(y, x, 7, 1, stream));
  EXPECT_OK(cuStreamDestroy_v2(stream));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(download(y, 1).front(), 7);
}

//===----------------------------------------------------------------------===//
// Work of libraries
//===----------------------------------------------------------------------===//

namespace {
struct LibraryCall {
  CUdeviceptr to;
  int *numReleased;
};
} // namespace

static CUresult runLibraryCall(void *data) {
  auto *call = static_cast<LibraryCall *>(data);
  auto *to = reinterpret_cast<int *>(call->to);
  if (!remat_emu_is_device_memory(to, sizeof *to))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  ++*to;
  return CUDA_SUCCESS;
}

static void releaseLibraryCall(void *data) {
  auto *call = static_cast<LibraryCall *>(data);
  ++*call->numReleased;
  delete call;
}

TEST_F(StreamTest, LibrariesQueueTheirWork) {
  CUdeviceptr y = upload({0});
  int numReleased = 0;
  auto enqueue = [&] {
    return remat_emu_enqueue(first, runLibraryCall,
                             new LibraryCall{y, &numReleased},
                             releaseLibraryCall);
  };
  EXPECT_OK(enqueue());
  EXPECT_EQ(numReleased, 0);
  EXPECT_OK(cuStreamSynchronize(first));
  EXPECT_EQ(numReleased, 1);
  EXPECT_OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(enqueue());
  CUgraph graph;
  CUgraphExec exec;
  EXPECT_OK(cuStreamEndCapture(first, &graph));
  EXPECT_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  EXPECT_OK(cuGraphDestroy(graph));
  EXPECT_OK(cuGraphLaunch(exec, first));
  EXPECT_OK(cuGraphLaunch(exec, first));
  EXPECT_OK(cuStreamSynchronize(first));
  EXPECT_EQ(download(y, 1).front(), 3);
  EXPECT_EQ(numReleased, 1);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(numReleased, 2);
}
