// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuBLASLt and cuDNN of versions that are not supported; the rest is the emulated ones'.

#include <stddef.h>

size_t cublasLtGetVersion(void) { return 110205; }
size_t cudnnGetVersion(void) { return 80905; }
