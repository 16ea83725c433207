//===- Interface.cpp - The runtime's services from MLIR -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C functions on memref descriptors, as `llvm.emit_c_interface` calls them.
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "MemRef.h"
#include "remat/Runtime/Runtime.h"

#include <algorithm>
#include <cstring>

using namespace remat;

namespace {
/// `memref<*xT>`: its rank and a pointer to the ranked descriptor.
struct UnrankedMemRef {
  int64_t rank;
  void *descriptor;
};

/// A memref of unknown type and rank, taken apart.
struct Buffer {
  char *data;
  std::vector<int64_t> shape;
};
} // namespace

static std::string toString(const MemRef<char, 1> *text) {
  // Stops at a trailing 0, if there is one.
  return std::string(text->data(), strnlen(text->data(), text->sizes[0]));
}

/// The descriptor's layout depends on the rank only.
static Buffer toBuffer(const UnrankedMemRef *memref, size_t width,
                       const std::string &what) {
  auto *descriptor = static_cast<MemRef<char, 1> *>(memref->descriptor);
  const int64_t *sizes = descriptor->sizes, *strides = sizes + memref->rank;
  bool isEmpty = std::find(sizes, strides, 0) != strides;
  int64_t stride = 1;
  for (int64_t i = memref->rank; i-- > 0; stride *= sizes[i])
    if (!isEmpty && sizes[i] != 1 && strides[i] != stride)
      fail(what + ": the memref is not contiguous");
  return {descriptor->aligned + descriptor->offset * width,
          {sizes, sizes + memref->rank}};
}

/// The archive that was read last: programs load several arrays from one.
static std::unique_ptr<ArrayFile> &lastFile() {
  static std::unique_ptr<ArrayFile> instance;
  return instance;
}

static const ArrayFile &openFile(const std::string &path) {
  std::unique_ptr<ArrayFile> &file = lastFile();
  if (!file || file->path() != path)
    file = std::make_unique<ArrayFile>(path);
  return *file;
}

static std::unique_ptr<ArrayWriter> &writer() {
  static std::unique_ptr<ArrayWriter> instance;
  return instance;
}

static ArrayWriter &openWriter() {
  if (!writer())
    fail("remat_rt_write_begin was not called");
  return *writer();
}

static void readInto(const MemRef<char, 1> *path, const MemRef<char, 1> *key,
                     DType dtype, const UnrankedMemRef *into) {
  std::string name = toString(key);
  Buffer buffer = toBuffer(into, byteWidth(dtype), name);
  openFile(toString(path)).read(name, {dtype, buffer.shape}, buffer.data);
}

static void writeFrom(const MemRef<char, 1> *key, DType dtype,
                      const UnrankedMemRef *from) {
  std::string name = toString(key);
  Buffer buffer = toBuffer(from, byteWidth(dtype), name);
  openWriter().add(name, {dtype, buffer.shape}, buffer.data);
}

#define REMAT_FOR_DTYPE(T)                                                     \
  REMAT_EXPORT void _mlir_ciface_remat_rt_read_##T(                            \
      const MemRef<char, 1> *path, const MemRef<char, 1> *key,                 \
      const UnrankedMemRef *into) {                                            \
    readInto(path, key, DType::T, into);                                       \
  }                                                                            \
  REMAT_EXPORT void _mlir_ciface_remat_rt_write_##T(                           \
      const MemRef<char, 1> *key, const UnrankedMemRef *from) {                \
    writeFrom(key, DType::T, from);                                            \
  }
REMAT_FOR_DTYPE(i1)
REMAT_FOR_DTYPE(i8)
REMAT_FOR_DTYPE(i32)
REMAT_FOR_DTYPE(i64)
REMAT_FOR_DTYPE(f16)
REMAT_FOR_DTYPE(bf16)
REMAT_FOR_DTYPE(f32)
REMAT_FOR_DTYPE(f64)
#undef REMAT_FOR_DTYPE

REMAT_EXPORT void
_mlir_ciface_remat_rt_write_begin(const MemRef<char, 1> *path) {
  if (writer())
    fail("remat_rt_write_begin is called twice without remat_rt_write_end");
  writer() = std::make_unique<ArrayWriter>(toString(path));
}

REMAT_EXPORT void _mlir_ciface_remat_rt_write_end() {
  openWriter().commit();
  lastFile().reset(); // It may have been replaced.
  writer().reset();
}

REMAT_EXPORT void _mlir_ciface_remat_rt_account(int32_t memoryClass,
                                                int64_t bytes) {
  if (memoryClass < 0 || memoryClass >= numMemoryClasses)
    fail("unknown memory class " + std::to_string(memoryClass));
  accountMemory(static_cast<MemoryClass>(memoryClass), bytes);
}

REMAT_EXPORT void _mlir_ciface_remat_rt_fail(const MemRef<char, 1> *message) {
  std::string text = toString(message);
  assertionFailed = true;
  if (!noteFailure(text))
    fail(text);
}

REMAT_EXPORT void _mlir_ciface_remat_rt_begin_step() { beginStep(); }
REMAT_EXPORT void _mlir_ciface_remat_rt_end_step() { endStep(); }
REMAT_EXPORT void _mlir_ciface_remat_rt_progress(int64_t step, int64_t steps,
                                                 double loss) {
  printProgress(step, steps, loss);
}
REMAT_EXPORT void _mlir_ciface_remat_rt_report() { printReport(); }
