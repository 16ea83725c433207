//===- DriverGraph.cpp - Capture and replay -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Call.h"
#include "Queue.h"
#include "Report.h"

using namespace remat::cuda;
using namespace remat::cuda::emulator;

static Handles<CUgraph_st> graphs;
static Handles<CUgraphExec_st> execs;

REMAT_DRIVER_FUNCTION cuStreamBeginCapture_v2(CUstream handle,
                                              CUstreamCaptureMode mode) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  return stream ? Queue::get().beginCapture(stream, mode)
                : CUDA_ERROR_INVALID_HANDLE;
}

REMAT_DRIVER_FUNCTION cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = nullptr;
  GraphNodes nodes;
  CUresult result = Queue::get().endCapture(stream, nodes);
  if (result == CUDA_SUCCESS)
    *graph = graphs.add({std::make_shared<const GraphNodes>(std::move(nodes))});
  return result;
}

REMAT_DRIVER_FUNCTION cuGraphInstantiateWithFlags(CUgraphExec *exec,
                                                  CUgraph graph,
                                                  unsigned long long flags) {
  REMAT_DRIVER_CALL();
  if (!exec || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!graphs.contains(graph))
    return CUDA_ERROR_INVALID_HANDLE;
  *exec = execs.add({graph->nodes});
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream || !execs.contains(exec))
    return CUDA_ERROR_INVALID_HANDLE;
  return Queue::get().enqueue(stream, [nodes = exec->nodes] {
    ++getDriverCounts().graphLaunches;
    return Queue::get().runGraph(*nodes);
  });
}

REMAT_DRIVER_FUNCTION cuGraphDestroy(CUgraph graph) {
  REMAT_DRIVER_CALL();
  return graphs.remove(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

REMAT_DRIVER_FUNCTION cuGraphExecDestroy(CUgraphExec exec) {
  REMAT_DRIVER_CALL();
  return execs.remove(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
