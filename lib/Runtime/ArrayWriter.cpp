//===- ArrayWriter.cpp - Write arrays into a .npz file --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AtomicFile.h"
#include "Minizip.h"
#include "Npy.h"

#include <algorithm>
#include <cerrno>

using namespace remat;

ArrayWriter::ArrayWriter(const std::string &path)
    : file(std::make_unique<AtomicFile>(path)) {
  zlib_filefunc64_def functions = onStream(file->stream());
  errno = 0;
  archive =
      zipOpen2_64(path.c_str(), APPEND_STATUS_CREATE, nullptr, &functions);
  if (!archive)
    file->fail();
}

ArrayWriter::~ArrayWriter() {
  if (archive)
    zipClose(archive, nullptr);
}

void ArrayWriter::add(const std::string &key, const ArrayType &type,
                      const void *data) {
  zip_fileinfo info = {};
  info.tmz_date = {0, 0, 0, 1, 0, 1980};
  bool isLarge = type.numBytes() >= size_t(0xffffff00) - (size_t(1) << 16);
  errno = 0;
  bool ok = zipOpenNewFileInZip64(archive, (key + ".npy").c_str(), &info,
                                  nullptr, 0, nullptr, 0, nullptr, /*method=*/0,
                                  /*level=*/0, isLarge) == ZIP_OK;
  std::string header = npy::header(type);
  ok = ok &&
       zipWriteInFileInZip(archive, header.data(), header.size()) == ZIP_OK;
  auto *at = static_cast<const char *>(data);
  for (size_t left = type.numBytes(); ok && left > 0;) {
    size_t bytes = std::min(left, kMinizipChunk);
    ok = zipWriteInFileInZip(archive, at, bytes) == ZIP_OK;
    at += bytes;
    left -= bytes;
  }
  if (!ok || zipCloseFileInZip(archive) != ZIP_OK)
    file->fail();
}

void ArrayWriter::commit() {
  errno = 0;
  bool ok = zipClose(archive, nullptr) == ZIP_OK;
  archive = nullptr;
  if (!ok)
    file->fail();
  file->commit();
}
