//===- DriverStream.cpp - Streams and events ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Call.h"
#include "Queue.h"

using namespace remat::cuda;
using namespace remat::cuda::emulator;

static Handles<CUevent_st> events;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

REMAT_DRIVER_FUNCTION cuStreamCreate(CUstream *stream, unsigned flags) {
  REMAT_DRIVER_CALL();
  if (!stream || flags > CU_STREAM_NON_BLOCKING)
    return CUDA_ERROR_INVALID_VALUE;
  *stream = Queue::get().create(flags != CU_STREAM_NON_BLOCKING);
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuStreamDestroy_v2(CUstream stream) {
  REMAT_DRIVER_CALL();
  if (!stream || !Queue::get().find(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  Queue::get().destroy(stream);
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuStreamSynchronize(CUstream handle) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = Queue::get().checkUncaptured(stream);
      error != CUDA_SUCCESS)
    return error;
  return keepError(Queue::get().finish(stream->last));
}

REMAT_DRIVER_FUNCTION cuStreamWaitEvent(CUstream handle, CUevent event,
                                        unsigned flags) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream || !events.contains(event))
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return Queue::get().wait(stream, event);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

REMAT_DRIVER_FUNCTION cuEventCreate(CUevent *event, unsigned flags) {
  REMAT_DRIVER_CALL();
  if (!event)
    return CUDA_ERROR_INVALID_VALUE;
  *event = events.add({});
  (*event)->hasTime = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return CUDA_SUCCESS;
}

REMAT_DRIVER_FUNCTION cuEventDestroy_v2(CUevent event) {
  REMAT_DRIVER_CALL();
  return events.remove(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

REMAT_DRIVER_FUNCTION cuEventRecord(CUevent event, CUstream handle) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream || !events.contains(event))
    return CUDA_ERROR_INVALID_HANDLE;
  return Queue::get().record(event, stream);
}

/// Why the host cannot look at `event` now.
static CUresult checkEvent(CUevent event) {
  if (!events.contains(event))
    return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture) {
    event->capture->isInvalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return Queue::get().checkUncaptured();
}

/// Says a few times that the event is not there yet, whether it could be or
/// not.
REMAT_DRIVER_FUNCTION cuEventQuery(CUevent event) {
  REMAT_DRIVER_CALL();
  if (CUresult error = checkEvent(event); error != CUDA_SUCCESS)
    return error;
  if (!event->recorded || event->recorded->isDone)
    return CUDA_SUCCESS;
  constexpr unsigned kMostQueries = 4;
  if (++event->numQueries > kMostQueries)
    return keepError(Queue::get().finish(event->recorded));
  if (event->numQueries % 2 == 0)
    if (CUresult error = Queue::get().runAny(); error != CUDA_SUCCESS)
      return keepError(error);
  return event->recorded->isDone ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

REMAT_DRIVER_FUNCTION cuEventSynchronize(CUevent event) {
  REMAT_DRIVER_CALL();
  if (CUresult error = checkEvent(event); error != CUDA_SUCCESS)
    return error;
  return keepError(Queue::get().finish(event->recorded));
}

REMAT_DRIVER_FUNCTION cuEventElapsedTime(float *milliseconds, CUevent from,
                                         CUevent to) {
  REMAT_DRIVER_CALL();
  if (!milliseconds)
    return CUDA_ERROR_INVALID_VALUE;
  for (CUevent event : {from, to}) {
    if (!events.contains(event) || !event->hasTime || !event->recorded)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!event->recorded->isDone)
      return CUDA_ERROR_NOT_READY;
  }
  *milliseconds =
      static_cast<float>((to->recorded->time - from->recorded->time) * 1e3);
  return CUDA_SUCCESS;
}
