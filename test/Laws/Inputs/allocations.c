// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts what a program allocates inside its training steps: preloaded, it
// stands in front of the C library's functions and of the runtime's
// remat_rt_train_next and remat_rt_train_done, between which a step runs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_int inside;
static atomic_long count, steps;

static void *counted(void *pointer) {
  count += inside;
  return pointer;
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }
void *calloc(size_t n, size_t size) { return counted(__libc_calloc(n, size)); }
void *realloc(void *p, size_t size) { return counted(__libc_realloc(p, size)); }
void *memalign(size_t alignment, size_t size) {
  return counted(__libc_memalign(alignment, size));
}
void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  return !(*result = memalign(alignment, size));
}

static void *runtime(const char *name) {
  return dlsym(dlopen(getenv("RUNTIME"), RTLD_NOLOAD | RTLD_LAZY), name);
}

int64_t _mlir_ciface_remat_rt_train_next(void) {
  int64_t step = ((int64_t (*)(void))runtime(__func__))();
  inside =
      step > 0; // The first one starts the threads and the library of products.
  steps += step > 0;
  return step;
}

int64_t _mlir_ciface_remat_rt_train_done(double loss) {
  inside = 0;
  return ((int64_t (*)(double))runtime(__func__))(loss);
}

__attribute__((destructor)) static void print(void) {
  if (steps)
    fprintf(stderr, "%ld allocations in %ld steps\n", (long)count, (long)steps);
}
