//===- HostWork.cpp - Functions of the host in stream order ---------------===//
//
// Libraries of the device (cuBLASLt, cuDNN) are emulated by functions of the
// host, which run when the stream comes to them.
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Queue.h"

using namespace remat::cuda;
using namespace remat::cuda::emulator;

/// Queues `function(data)` on the stream, or records it while the stream is
/// captured; device memory is the host's while it runs. `release(data)` is
/// called when nothing will run it again.
REMAT_DRIVER_FUNCTION remat_emu_enqueue(CUstream handle,
                                        void (*function)(void *), void *data,
                                        void (*release)(void *)) {
  REMAT_DRIVER_CALL();
  CUstream stream = Queue::get().find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<void> owner(data, release);
  return Queue::get().enqueue(stream, [function, owner] {
    function(owner.get());
    return CUDA_SUCCESS;
  });
}
