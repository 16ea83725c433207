//===- Runtime.h - What compiled programs call -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's services: arrays in and out of .npy/.npz files, memory
// accounting, step times, progress. Training.cpp drives them from C++, programs
// call the `remat_rt_*` functions listed at the end from MLIR.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_RUNTIME_H
#define REMAT_RUNTIME_RUNTIME_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace remat {

/// Prints `remat: error: <message>` on one line of stderr and exits with 1.
[[noreturn]] void fail(const std::string &message);
/// Prints `remat: warning: <message>` on one line of stderr.
void warn(const std::string &message);

//===----------------------------------------------------------------------===//
// Arrays in files
//===----------------------------------------------------------------------===//

enum class DType { i1, i8, i16, i32, i64, u8, f16, bf16, f32, f64 };

/// MLIR's name of the type; `u8` has none of its own and reads into `i8`.
const char *nameOf(DType type);
size_t byteWidth(DType type);

/// An array's type and shape, without its elements. Elements are row-major.
struct ArrayType {
  DType dtype;
  std::vector<int64_t> shape;

  int64_t numElements() const;
  size_t numBytes() const { return numElements() * byteWidth(dtype); }
  /// As in `f32 [8x256]`; a scalar is `f32 []`.
  std::string str() const;
  bool operator==(const ArrayType &other) const {
    return dtype == other.dtype && shape == other.shape;
  }
};

/// A .npz archive (stored or deflated), or a .npy file, which is an archive
/// with one array whose key is "". The constructor reads the table of contents;
/// arrays are read when asked for, so that one which is never read may be
/// anything. Whatever is wrong with what is read (missing, truncated, not an
/// archive, checksum, Fortran order, big-endian) fails with its name.
class ArrayFile {
public:
  explicit ArrayFile(const std::string &path);
  ~ArrayFile();
  ArrayFile(const ArrayFile &) = delete;

  const std::string &path() const { return name; }
  /// In the order of the archive.
  std::vector<std::string> keys() const;
  bool contains(const std::string &key) const;
  /// A missing key fails and lists the keys that there are.
  const ArrayType &get(const std::string &key) const;
  /// Fails unless the array is of exactly this type and shape.
  void expect(const std::string &key, const ArrayType &expected) const;
  /// Reads an array of the type that `expect` accepts into `numBytes()` bytes
  /// at `into`.
  void read(const std::string &key, const ArrayType &expected,
            void *into) const;
  /// Reads whatever the type is; `into` holds `get(key).numBytes()` bytes.
  void read(const std::string &key, void *into) const {
    read(key, get(key), into);
  }

private:
  struct Contents;
  std::string name;
  std::unique_ptr<Contents> contents;
};

class AtomicFile;

/// Writes an uncompressed .npz archive that appears under its name complete or
/// not at all: `commit` syncs a temporary file and renames it. The bytes depend
/// on the arrays only, not on the time.
class ArrayWriter {
public:
  explicit ArrayWriter(const std::string &path);
  /// Without `commit`, the temporary file is removed.
  ~ArrayWriter();
  ArrayWriter(const ArrayWriter &) = delete;

  void add(const std::string &key, const ArrayType &type, const void *data);
  void commit();

private:
  std::unique_ptr<AtomicFile> file;
  void *archive;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The purposes of memory, as the memory report counts them. `constant` and
/// `runtime` (the runtime's own memory) are used by devices only.
enum class MemoryClass {
  parameter,
  optimizerState,
  state,
  data,
  arena,
  other,
  constant,
  runtime
};
constexpr int numMemoryClasses = 8;
const char *nameOf(MemoryClass memoryClass);

/// Adds (or, negative, removes) bytes to a class and keeps the peaks. Bytes of
/// the device are counted, which are the host's only on the CPU.
void accountMemory(MemoryClass memoryClass, int64_t bytes);
int64_t currentMemory(MemoryClass memoryClass);
int64_t peakMemory(MemoryClass memoryClass);
/// The peak of the sum over all classes.
int64_t peakMemory();

//===----------------------------------------------------------------------===//
// Time and progress
//===----------------------------------------------------------------------===//

/// Steps are timed from beginStep to endStep, by the device.
void beginStep();
void endStep();
/// Seconds per step, in order; and their median over all but the first, which
/// warms caches and thread pool up (0 if there was none).
const std::vector<double> &stepTimes();
double medianStepTime();

/// One line: `step 20/300  loss 2.3012  145 ms/step`.
void printProgress(int64_t step, int64_t steps, double loss);
/// Steps, median step time, and peak bytes by class: a few lines on stdout and,
/// if the environment names a file in REMAT_REPORT, JSON there.
void printReport();

} // namespace remat

//===----------------------------------------------------------------------===//
// From MLIR
//===----------------------------------------------------------------------===//
//
// Declare with `attributes {llvm.emit_c_interface}`. Strings are i8 buffers,
// with or without a trailing 0. T: i1 i8 i32 i64 f16 bf16 f32 f64.
//
//   @remat_rt_read_T(path: memref<?xi8>, key: memref<?xi8>, into: memref<*xT>)
//   @remat_rt_write_begin(path: memref<?xi8>)
//   @remat_rt_write_T(key: memref<?xi8>, from: memref<*xT>)
//   @remat_rt_write_end()
//   @remat_rt_account(class: i32, bytes: i64)
//   @remat_rt_fail(message: memref<?xi8>)
//   @remat_rt_begin_writes()
//   @remat_rt_begin_step()
//   @remat_rt_end_step()
//   @remat_rt_progress(step: i64, steps: i64, loss: f64)
//   @remat_rt_report()
//
// Memrefs must be contiguous. `class` counts MemoryClass from 0.

#endif // REMAT_RUNTIME_RUNTIME_H
