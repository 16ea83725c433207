//===- ArrayFile.cpp - Arrays in .npy and .npz files ----------------------===//
//
// Training data, initial values and checkpoints come from and go to NumPy.
// Archives are read and written by zlib's minizip, which knows zip64 and checks
// sums.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace remat;

namespace {
struct Entry {
  ArrayType type;
  size_t headerBytes;
  unz64_file_pos position;
};
} // namespace

/// Either `archive` (.npz) or `file` (.npy) is open.
struct ArrayFile::Contents {
  unzFile archive = nullptr;
  FILE *file = nullptr;
  std::vector<std::string> order;
  std::map<std::string, Entry> entries;

  ~Contents() {
    if (archive)
      unzClose(archive);
    if (file)
      fclose(file);
  }

  /// Reads exactly `bytes` bytes of the array that is open; `where` names it.
  void readBytes(void *into, size_t bytes, const std::string &where) {
    constexpr size_t chunk = size_t(1) << 30; // minizip counts in 32 bits.
    auto *at = static_cast<unsigned char *>(into);
    while (bytes > 0) {
      size_t wanted = std::min(bytes, chunk);
      int64_t read = archive ? unzReadCurrentFile(archive, at, wanted)
                             : int64_t(fread(at, 1, wanted, file));
      if (read < 0)
        fail(where + ": damaged (it does not decompress)");
      if (read == 0)
        fail(where + ": truncated, " + std::to_string(bytes) +
             " bytes are missing");
      at += read;
      bytes -= read;
    }
  }

  Entry readHeader(const std::string &where) {
    std::vector<unsigned char> bytes(npy::prefixBytes);
    readBytes(bytes.data(), bytes.size(), where);
    size_t total = npy::headerBytes(bytes.data(), where);
    constexpr size_t longest = size_t(1) << 20;
    if (total < bytes.size() || total > longest)
      fail(where + ": malformed .npy header");
    bytes.resize(total);
    readBytes(bytes.data() + npy::prefixBytes, total - npy::prefixBytes, where);
    size_t start = bytes[6] == 1 ? 10 : 12;
    std::string text(bytes.begin() + start, bytes.end());
    return {npy::parseHeader(text, where), total, {}};
  }
};

static std::string inQuotes(const std::string &key) { return "'" + key + "'"; }

/// How errors name an array: `data.npz: array 'tokens'`.
static std::string nameOf(const std::string &path, const std::string &key) {
  return key.empty() ? path : path + ": array " + inQuotes(key);
}

/// The archive's entry is called `key.npy`.
static std::string keyOf(std::string entryName) {
  constexpr size_t suffix = 4;
  if (entryName.size() > suffix &&
      entryName.compare(entryName.size() - suffix, suffix, ".npy") == 0)
    entryName.resize(entryName.size() - suffix);
  return entryName;
}

ArrayFile::ArrayFile(const std::string &path)
    : name(path), contents(std::make_unique<Contents>()) {
  FILE *file = fopen(path.c_str(), "rb");
  if (!file)
    fail(path + ": " + std::strerror(errno));
  contents->file = file;
  struct stat status;
  if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode))
    fail(path + ": is a directory");
  unsigned char start[4] = {};
  size_t read = fread(start, 1, sizeof start, file);
  rewind(file);
  if (read == sizeof start && std::memcmp(start, "\x93NUM", 4) == 0) {
    Entry entry = contents->readHeader(path);
    int64_t expected = entry.headerBytes + entry.type.numBytes();
    if (status.st_size < expected)
      fail(path + ": truncated, " + std::to_string(expected - status.st_size) +
           " bytes are missing");
    contents->order = {""};
    contents->entries[""] = entry;
    return;
  }
  if (read < sizeof start || std::memcmp(start, "PK", 2) != 0)
    fail(path + ": neither a .npz archive nor a .npy array");

  fclose(file);
  contents->file = nullptr;
  unzFile archive = contents->archive = unzOpen64(path.c_str());
  if (!archive)
    fail(path + ": truncated or damaged archive (no table of contents)");
  int status64 = unzGoToFirstFile(archive);
  for (; status64 == UNZ_OK; status64 = unzGoToNextFile(archive)) {
    char entryName[4096];
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(archive, &info, entryName, sizeof entryName,
                                nullptr, 0, nullptr, 0) != UNZ_OK ||
        unzOpenCurrentFile(archive) != UNZ_OK)
      fail(path + ": damaged archive");
    std::string key = keyOf(entryName), where = ::nameOf(path, key);
    Entry entry = contents->readHeader(where);
    unzCloseCurrentFile(archive);
    if (info.uncompressed_size < entry.headerBytes + entry.type.numBytes())
      fail(where + ": truncated, " + entry.type.str() + " needs " +
           std::to_string(entry.type.numBytes()) + " bytes");
    unzGetFilePos64(archive, &entry.position);
    if (contents->entries.emplace(key, entry).second)
      contents->order.push_back(key);
  }
  if (status64 != UNZ_END_OF_LIST_OF_FILE)
    fail(path + ": damaged archive");
}

ArrayFile::~ArrayFile() = default;

std::vector<std::string> ArrayFile::keys() const { return contents->order; }

const ArrayType *ArrayFile::find(const std::string &key) const {
  auto entry = contents->entries.find(key);
  return entry == contents->entries.end() ? nullptr : &entry->second.type;
}

const ArrayType &ArrayFile::get(const std::string &key) const {
  if (const ArrayType *type = find(key))
    return *type;
  if (contents->file)
    fail(name + ": a .npy file has no array " + inQuotes(key) +
         "; save it with numpy.savez");
  std::string known;
  for (const std::string &other : contents->order)
    known += (known.empty() ? "" : ", ") + inQuotes(other);
  fail(name + ": no array " + inQuotes(key) + "; it has " +
       (known.empty() ? "none" : known));
}

void ArrayFile::read(const std::string &key, const ArrayType &expected,
                     void *into) const {
  const ArrayType &found = get(key);
  std::string where = ::nameOf(name, key);
  bool bothBytes = found.dtype == DType::u8 && expected.dtype == DType::i8 &&
                   found.shape == expected.shape;
  if (!(found == expected) && !bothBytes)
    fail(where + ": expected " + expected.str() + ", found " + found.str());
  Entry &entry = contents->entries.at(key);
  if (contents->file) {
    if (fseek(contents->file, entry.headerBytes, SEEK_SET) != 0)
      fail(where + ": " + std::strerror(errno));
    contents->readBytes(into, found.numBytes(), where);
    return;
  }
  unzFile archive = contents->archive;
  if (unzGoToFilePos64(archive, &entry.position) != UNZ_OK ||
      unzOpenCurrentFile(archive) != UNZ_OK)
    fail(where + ": damaged archive");
  std::vector<char> header(entry.headerBytes);
  contents->readBytes(header.data(), header.size(), where);
  contents->readBytes(into, found.numBytes(), where);
  if (unzCloseCurrentFile(archive) != UNZ_OK)
    fail(where + ": damaged (wrong checksum)");
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

ArrayWriter::ArrayWriter(const std::string &path)
    : name(path), temporary(path + ".tmp" + std::to_string(getpid())) {
  archive = zipOpen64(temporary.c_str(), APPEND_STATUS_CREATE);
  if (!archive)
    fail(temporary + ": cannot be written: " + std::strerror(errno));
}

ArrayWriter::~ArrayWriter() {
  if (!archive)
    return;
  zipClose(archive, nullptr);
  unlink(temporary.c_str());
}

void ArrayWriter::add(const std::string &key, const ArrayType &type,
                      const void *data) {
  constexpr size_t chunk = size_t(1) << 30; // minizip counts in 32 bits.
  zip_fileinfo info = {};
  info.tmz_date = {0, 0, 0, 1, 0, 1980};
  bool isLarge = type.numBytes() >= size_t(0xffffff00) - (size_t(1) << 16);
  bool ok = zipOpenNewFileInZip64(archive, (key + ".npy").c_str(), &info,
                                  nullptr, 0, nullptr, 0, nullptr, /*method=*/0,
                                  /*level=*/0, isLarge) == ZIP_OK;
  std::string header = npy::header(type);
  ok = ok &&
       zipWriteInFileInZip(archive, header.data(), header.size()) == ZIP_OK;
  auto *at = static_cast<const char *>(data);
  for (size_t left = type.numBytes(); ok && left > 0;) {
    size_t bytes = std::min(left, chunk);
    ok = zipWriteInFileInZip(archive, at, bytes) == ZIP_OK;
    at += bytes;
    left -= bytes;
  }
  if (!ok || zipCloseFileInZip(archive) != ZIP_OK)
    fail(::nameOf(temporary, key) +
         ": cannot be written: " + std::strerror(errno));
}

/// Waits until a file or folder is on the disk.
static bool syncToDisk(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY);
  bool ok = descriptor >= 0 && fsync(descriptor) == 0;
  if (descriptor >= 0)
    close(descriptor);
  return ok;
}

void ArrayWriter::commit() {
  bool ok = zipClose(archive, nullptr) == ZIP_OK;
  archive = nullptr;
  ok = ok && syncToDisk(temporary) &&
       rename(temporary.c_str(), name.c_str()) == 0;
  if (!ok) {
    std::string reason = std::strerror(errno);
    unlink(temporary.c_str());
    fail(name + ": cannot be written: " + reason);
  }
  size_t slash = name.rfind('/');
  syncToDisk(slash == std::string::npos ? "." : name.substr(0, slash + 1));
}
