//===- CaptureTest.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatorTest.h"

using namespace remat::cuda;

namespace {
class CaptureTest : public EmulatorTest {
protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    EXPECT_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    EXPECT_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    EXPECT_OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    EXPECT_OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  }
  void TearDown() override {
    EXPECT_OK(cuStreamDestroy_v2(first));
    EXPECT_OK(cuStreamDestroy_v2(second));
    EXPECT_OK(cuEventDestroy_v2(fork));
    EXPECT_OK(cuEventDestroy_v2(join));
    EmulatorTest::TearDown();
  }
  void begin() {
    EXPECT_OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  }
  CUgraphExec end() {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_OK(cuStreamEndCapture(first, &graph));
    EXPECT_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    EXPECT_OK(cuGraphDestroy(graph));
    return exec;
  }
  CUresult endInvalid() {
    CUgraph graph = nullptr;
    CUresult result = cuStreamEndCapture(first, &graph);
    EXPECT_EQ(graph, nullptr);
    return result;
  }
  CUstream first, second;
  CUevent fork, join;
};
} // namespace

TEST_F(CaptureTest, ReplayUsesTheArgumentsOfTheCapture) {
  CUdeviceptr x = upload({1}), y = upload({0});
  begin();
  int a = 5;
  EXPECT_OK(launchAxpy(y, x, a, 1, first));
  a = 100;
  CUgraphExec exec = end();
  EXPECT_EQ(download(y, 1).front(), 0); // Captured work is not run.
  for (int i = 0; i < 3; ++i)
    EXPECT_OK(cuGraphLaunch(exec, first));
  EXPECT_OK(cuStreamSynchronize(first));
  EXPECT_EQ(download(y, 1).front(), 15);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, first), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CaptureTest, ReplayReadsTheStagingBufferAgain) {
  void *pinned;
  EXPECT_OK(cuMemHostAlloc(&pinned, sizeof(int), 0));
  auto *staging = static_cast<int *>(pinned);
  CUdeviceptr x = allocate(sizeof(int)), y = upload({0});
  begin();
  EXPECT_OK(cuMemcpyHtoDAsync_v2(x, staging, sizeof(int), first));
  EXPECT_OK(launchAxpy(y, x, 1, 1, first));
  CUgraphExec exec = end();
  for (int i : {1, 10}) {
    *staging = i;
    EXPECT_OK(cuGraphLaunch(exec, first));
    EXPECT_OK(cuStreamSynchronize(first));
  }
  EXPECT_EQ(download(y, 1).front(), 11);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuMemFreeHost(pinned));
}

TEST_F(CaptureTest, OtherStreamsJoinByEvents) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    set("SEED", std::to_string(seed).c_str());
    CUdeviceptr x = upload({2}), y = upload({0}), z = upload({0});
    begin();
    EXPECT_OK(launchAxpy(y, x, 1, 1, first)); // y = 2
    EXPECT_OK(cuEventRecord(fork, first));
    EXPECT_OK(cuStreamWaitEvent(second, fork, 0));
    EXPECT_OK(launchAxpy(z, y, 3, 1, second)); // z = 6
    EXPECT_OK(launchAxpy(x, x, 1, 1, first));  // x = 4
    EXPECT_OK(cuEventRecord(join, second));
    EXPECT_OK(cuStreamWaitEvent(first, join, 0));
    EXPECT_OK(launchAxpy(y, z, 10, 1, first)); // y = 62
    CUgraphExec exec = end();
    EXPECT_OK(cuGraphLaunch(exec, second));
    EXPECT_OK(cuStreamSynchronize(second));
    EXPECT_EQ(download(y, 1).front(), 62);
    EXPECT_EQ(download(x, 1).front(), 4);
    EXPECT_OK(cuGraphExecDestroy(exec));
  }
}

TEST_F(CaptureTest, AStreamThatDoesNotComeBackIsAnError) {
  CUdeviceptr x = upload({2});
  begin();
  EXPECT_OK(cuEventRecord(fork, first));
  EXPECT_OK(cuStreamWaitEvent(second, fork, 0));
  EXPECT_OK(launchAxpy(x, x, 1, 1, second));
  EXPECT_EQ(endInvalid(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST_F(CaptureTest, WaitingMakesACaptureInvalid) {
  CUdeviceptr x = upload({2});
  for (auto wait :
       {+[](CUstream stream) { return cuStreamSynchronize(stream); },
        +[](CUstream) { return cuCtxSynchronize(); },
        +[](CUstream) {
          CUdeviceptr pointer;
          return cuMemAlloc_v2(&pointer, 1);
        }}) {
    begin();
    EXPECT_EQ(wait(first), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(launchAxpy(x, x, 1, 1, first),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(endInvalid(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_OK(wait == nullptr ? CUDA_SUCCESS : cuCtxSynchronize());
  }
}

TEST_F(CaptureTest, AnEventFromOutsideMakesACaptureInvalid) {
  EXPECT_OK(cuEventRecord(fork, second));
  begin();
  EXPECT_EQ(cuStreamWaitEvent(first, fork, 0),
            CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(endInvalid(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  EXPECT_OK(cuEventRecord(fork, first));
  EXPECT_EQ(cuEventSynchronize(fork), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(endInvalid(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, AnEventOfACaptureThatEndedIsNoEvent) {
  begin();
  EXPECT_OK(cuEventRecord(fork, first));
  EXPECT_OK(cuGraphExecDestroy(end()));
  EXPECT_EQ(cuStreamWaitEvent(second, fork, 0), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuEventSynchronize(fork), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_OK(cuEventRecord(fork, first));
  EXPECT_OK(cuEventSynchronize(fork));
}

TEST_F(CaptureTest, TheDefaultStreamIsNotCaptured) {
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_F(CaptureTest, AReplayAfterItsMemoryWasFreedFails) {
  set("FATAL", "0");
  CUdeviceptr x = upload({2});
  begin();
  EXPECT_OK(cuMemsetD8Async(x, 0, sizeof(int), first));
  CUgraphExec exec = end();
  EXPECT_OK(cuMemFree_v2(x));
  allocations.clear();
  EXPECT_OK(cuGraphLaunch(exec, first));
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_OK(cuInit(0));
  EXPECT_OK(cuGraphExecDestroy(exec));
}
