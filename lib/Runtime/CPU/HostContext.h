//===- HostContext.h - The context of a thread of this process --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_CPU_HOSTCONTEXT_H
#define REMAT_RUNTIME_CPU_HOSTCONTEXT_H

#include "Core/Context.h"

namespace remat {

/// Returns that of the calling thread, with memory for products of its own. Its
/// team is the pool of Threads.h.
Context &hostContext();

} // namespace remat

#endif // REMAT_RUNTIME_CPU_HOSTCONTEXT_H
