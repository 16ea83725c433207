//===- AtomicFile.h - Files that are replaced as a whole -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint must survive a kill and a full disk: it is written beside its
// name and renamed once all of it is on the disk.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_ATOMICFILE_H
#define REMAT_RUNTIME_ATOMICFILE_H

#include <cstdio>
#include <string>

namespace remat {

/// A temporary file that replaces the file called `path` on `commit`. A
/// symbolic link stays one: the file that it points to is replaced. What killed
/// runs left beside `path` is removed.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path);
  /// Without `commit`, the temporary file is removed.
  ~AtomicFile() { discard(); }
  AtomicFile(const AtomicFile &) = delete;

  FILE *stream() const { return file; }
  /// The temporary file's name, for what writes to files by name.
  const std::string &getTemporary() const { return temporary; }
  void commit();
  /// Removes the temporary file and fails with the reason in `errno`.
  [[noreturn]] void fail();

private:
  bool create();
  void discard();

  std::string name, target, temporary;
  FILE *file = nullptr;
};

} // namespace remat

#endif // REMAT_RUNTIME_ATOMICFILE_H
