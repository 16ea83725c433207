//===- ArrayFile.cpp - Arrays in .npy and .npz files ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training data, initial values and checkpoints come from NumPy. A file may be
// damaged or made to do damage: no size that it states is believed before it
// was compared with the bytes that are there. Archives are read by zlib's
// minizip, which checks sums, but takes the marks of zip64 for numbers (version
// 1.1): what takes or begins after 4 GiB is read here.
//===----------------------------------------------------------------------===//

#include "Minizip.h"
#include "Npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

using namespace remat;

namespace {
struct Header {
  ArrayType type;
  size_t bytes;
};

/// An array: the whole file, or an entry of the archive.
struct Entry {
  unz64_file_pos position = {};
  /// With its header; and what it takes in the file.
  uint64_t bytes = 0, storedBytes = 0;
  unsigned long method = 0;
  /// Of an entry with numbers of 64 bits: where it begins.
  std::optional<uint64_t> start = std::nullopt;
  unsigned long checksum = 0;
  /// True if another entry has the same name.
  bool isAmbiguous = false;
  /// Read on demand: an array that is never read may be anything.
  std::optional<Header> header = std::nullopt;
};
} // namespace

/// `archive`, on `file`, is open if this is a .npz.
struct ArrayFile::Contents {
  FILE *file = nullptr;
  unzFile archive = nullptr;
  uint64_t fileBytes = 0;
  std::vector<std::string> order;
  std::map<std::string, Entry> entries;
  /// The checksum of what was read of an entry that minizip does not read.
  std::optional<unsigned long> found;

  ~Contents() {
    if (archive)
      unzClose(archive);
    if (file)
      fclose(file);
  }

  void open(const std::string &path);
  void listEntries(const std::string &path);
  void readLargeNumbers(Entry &entry, const std::string &path);
  void checkSizes(const Entry &entry, const std::string &where) const;
  void openEntry(Entry &entry, const std::string &where);
  bool openLarge(const Entry &entry);
  bool closeEntry(const Entry &entry);
  void readBytes(void *into, size_t bytes, const std::string &where);
  void readHeader(Entry &entry, const std::string &where);
  void readElements(Entry &entry, const std::string &where, void *into);
};

//===----------------------------------------------------------------------===//
// Names in messages
//===----------------------------------------------------------------------===//

/// A name from a file, for a message: quoted, printable and not too long.
static std::string inQuotes(const std::string &text) {
  constexpr size_t longest = 80;
  std::string result = "'";
  for (unsigned char c : text.substr(0, longest))
    result += c < 0x20 || c == 0x7f ? '?' : char(c);
  return result + (text.size() > longest ? "...'" : "'");
}

/// How errors name an array: `data.npz: array 'tokens'`.
static std::string nameOf(const std::string &path, const std::string &key) {
  return key.empty() ? path : path + ": array " + inQuotes(key);
}

//===----------------------------------------------------------------------===//
// Table of contents
//===----------------------------------------------------------------------===//

void ArrayFile::Contents::open(const std::string &path) {
  // Opening a pipe would wait for somebody to write.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 || !(file = fdopen(descriptor, "rb")))
    fail(path + ": " + std::strerror(errno));
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    fail(path + ": " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    fail(path + (S_ISDIR(status.st_mode) ? ": is a directory"
                                         : ": is not a regular file"));
  fileBytes = status.st_size;
}

/// The key of an archive's entry: NumPy calls it `key.npy`. Other files in an
/// archive are no arrays.
static std::optional<std::string> keyOf(const std::string &entryName) {
  constexpr size_t suffix = 4;
  if (entryName.size() <= suffix ||
      entryName.compare(entryName.size() - suffix, suffix, ".npy") != 0)
    return std::nullopt;
  return entryName.substr(0, entryName.size() - suffix);
}

/// A number of the format's, of two to eight bytes.
static uint64_t numberAt(const unsigned char *at, int bytes) {
  uint64_t number = 0;
  for (int i = bytes - 1; i >= 0; --i)
    number = number << 8 | at[i];
  return number;
}

/// Reads the numbers that do not fit into 32 bits from the entry's record in
/// the table of contents (APPNOTE.TXT of PKWARE, 4.3.12 and 4.5.3).
void ArrayFile::Contents::readLargeNumbers(Entry &entry,
                                           const std::string &path) {
  constexpr uint64_t mark = 0xffffffff;
  constexpr size_t recordBytes = 46, idBytes = 4;
  unsigned char record[recordBytes];
  auto at = static_cast<off_t>(entry.position.pos_in_zip_directory);
  // With something before the archive it is elsewhere.
  if (fseeko(file, at, SEEK_SET) != 0 ||
      fread(record, 1, recordBytes, file) != recordBytes ||
      std::memcmp(record, "PK\1\2", 4) != 0)
    return;
  uint64_t storedBytes = numberAt(record + 20, 4),
           bytes = numberAt(record + 24, 4), start = numberAt(record + 42, 4);
  if (bytes != mark && storedBytes != mark && start != mark)
    return;
  std::vector<unsigned char> extra(numberAt(record + 30, 2));
  auto nameBytes = static_cast<off_t>(numberAt(record + 28, 2));
  bool isGood = fseeko(file, nameBytes, SEEK_CUR) == 0 &&
                fread(extra.data(), 1, extra.size(), file) == extra.size();
  size_t begin = 0, end = 0;
  for (; isGood; begin = end) {
    isGood = begin + idBytes <= extra.size();
    if (!isGood)
      break;
    end = begin + idBytes + numberAt(&extra[begin + 2], 2);
    isGood = end <= extra.size();
    if (numberAt(&extra[begin], 2) == 1)
      break;
  }
  begin += idBytes;
  for (uint64_t *number : {&bytes, &storedBytes, &start})
    if (isGood && *number == mark) {
      isGood = begin + 8 <= end;
      if (isGood)
        *number = numberAt(&extra[begin], 8);
      begin += 8;
    }
  if (!isGood)
    fail(path + ": damaged archive");
  entry.bytes = bytes;
  entry.storedBytes = storedBytes;
  entry.start = start;
  entry.checksum = numberAt(record + 16, 4);
}

void ArrayFile::Contents::listEntries(const std::string &path) {
  int status = unzGoToFirstFile(archive);
  for (; status == UNZ_OK; status = unzGoToNextFile(archive)) {
    unz_file_info64 info;
    Entry entry;
    // Twice: only the first call says how long the name is.
    if (unzGetCurrentFileInfo64(archive, &info, nullptr, 0, nullptr, 0, nullptr,
                                0) != UNZ_OK)
      fail(path + ": damaged archive");
    std::string name(info.size_filename, '\0');
    if (unzGetCurrentFileInfo64(archive, &info, name.data(), name.size(),
                                nullptr, 0, nullptr, 0) != UNZ_OK ||
        unzGetFilePos64(archive, &entry.position) != UNZ_OK)
      fail(path + ": damaged archive");
    std::optional<std::string> key = keyOf(name);
    if (!key)
      continue;
    entry.bytes = info.uncompressed_size;
    entry.storedBytes = info.compressed_size;
    entry.method = info.compression_method;
    readLargeNumbers(entry, path);
    auto [known, isNew] = entries.emplace(*key, entry);
    known->second.isAmbiguous = !isNew;
    if (isNew)
      order.push_back(*key);
  }
  if (status != UNZ_END_OF_LIST_OF_FILE)
    fail(path + ": damaged archive");
}

ArrayFile::ArrayFile(const std::string &path)
    : name(path), contents(std::make_unique<Contents>()) {
  contents->open(path);
  unsigned char start[4] = {};
  size_t read = fread(start, 1, sizeof start, contents->file);
  if (read == sizeof start && std::memcmp(start, "\x93NUM", 4) == 0) {
    contents->order = {""};
    Entry &entry = contents->entries[""];
    entry.bytes = entry.storedBytes = contents->fileBytes;
    return;
  }
  if (read < sizeof start || std::memcmp(start, "PK", 2) != 0)
    fail(path + ": neither a .npz archive nor a .npy array");
  zlib_filefunc64_def functions = onStream(contents->file);
  contents->archive = unzOpen2_64(path.c_str(), &functions);
  if (!contents->archive)
    fail(path + ": truncated or damaged archive (no table of contents)");
  contents->listEntries(path);
}

ArrayFile::~ArrayFile() = default;

std::vector<std::string> ArrayFile::keys() const { return contents->order; }

bool ArrayFile::contains(const std::string &key) const {
  return contents->entries.count(key) != 0;
}

//===----------------------------------------------------------------------===//
// One array
//===----------------------------------------------------------------------===//

/// Fails unless the sizes in the table of contents can be true. Memory for
/// elements is a small multiple of what the file takes, then.
void ArrayFile::Contents::checkSizes(const Entry &entry,
                                     const std::string &where) const {
  constexpr unsigned long stored = 0, deflated = 8;
  constexpr uint64_t mostInflation = 200, always = uint64_t(64) << 20;
  if (entry.isAmbiguous)
    fail(where + ": is in the archive more than once");
  if (entry.method != stored && entry.method != deflated)
    fail(where + ": unknown compression method " +
         std::to_string(entry.method) +
         "; save it with numpy.savez or numpy.savez_compressed");
  if (entry.start && entry.method != stored)
    fail(where + ": is compressed, and takes or begins after 4 GiB; save it "
                 "with numpy.savez");
  if (entry.storedBytes > fileBytes)
    fail(where + ": truncated, it takes " + std::to_string(entry.storedBytes) +
         " bytes of a file of " + std::to_string(fileBytes));
  if (entry.method == stored && entry.storedBytes != entry.bytes)
    fail(where + ": damaged (the archive states two sizes)");
  if (entry.bytes > always && entry.bytes / mostInflation > entry.storedBytes)
    fail(where + ": inflates from " + std::to_string(entry.storedBytes) +
         " to " + std::to_string(entry.bytes) + " bytes, more than " +
         std::to_string(mostInflation) +
         " times as many; if that is meant, save it with numpy.savez");
}

void ArrayFile::Contents::openEntry(Entry &entry, const std::string &where) {
  bool ok = !archive ? fseek(file, 0, SEEK_SET) == 0
            : entry.start
                ? openLarge(entry)
                : unzGoToFilePos64(archive, &entry.position) == UNZ_OK &&
                      unzOpenCurrentFile(archive) == UNZ_OK;
  if (!ok)
    fail(where + ": damaged archive");
}

/// Goes to the elements of a stored entry; false if its header is not there.
bool ArrayFile::Contents::openLarge(const Entry &entry) {
  constexpr size_t headerBytes = 30;
  unsigned char header[headerBytes];
  if (*entry.start > fileBytes - entry.storedBytes ||
      fseeko(file, static_cast<off_t>(*entry.start), SEEK_SET) != 0 ||
      fread(header, 1, headerBytes, file) != headerBytes ||
      std::memcmp(header, "PK\3\4", 4) != 0)
    return false;
  found = crc32(0, nullptr, 0);
  // Behind the name and the extra fields.
  uint64_t rest = numberAt(header + 26, 2) + numberAt(header + 28, 2);
  return fseeko(file, static_cast<off_t>(rest), SEEK_CUR) == 0;
}

/// False if all of the entry was read, and its checksum is another.
bool ArrayFile::Contents::closeEntry(const Entry &entry) {
  if (!archive)
    return true;
  if (!found)
    return unzCloseCurrentFile(archive) == UNZ_OK;
  bool isGood = *found == entry.checksum;
  found = std::nullopt;
  return isGood;
}

/// Reads exactly `bytes` bytes of the array that is open.
void ArrayFile::Contents::readBytes(void *into, size_t bytes,
                                    const std::string &where) {
  auto *at = static_cast<unsigned char *>(into);
  while (bytes > 0) {
    size_t wanted = std::min(bytes, kMinizipChunk);
    int64_t read = archive && !found ? unzReadCurrentFile(archive, at, wanted)
                                     : int64_t(fread(at, 1, wanted, file));
    if (read < 0)
      fail(where + ": damaged (it does not decompress)");
    if (read == 0)
      fail(where + ": truncated, " + std::to_string(bytes) +
           " bytes are missing");
    if (found)
      found = crc32(*found, at, read);
    at += read;
    bytes -= read;
  }
}

/// Reads the header of the array that is open.
void ArrayFile::Contents::readHeader(Entry &entry, const std::string &where) {
  std::string bytes(npy::prefixBytes, '\0');
  readBytes(bytes.data(), bytes.size(), where);
  size_t total = npy::headerBytes(bytes, where);
  constexpr size_t longest = size_t(1) << 20;
  if (total < bytes.size() || total > longest)
    fail(where + ": malformed .npy header");
  if (total > entry.bytes)
    fail(where + ": truncated in its header");
  bytes.resize(total);
  readBytes(bytes.data() + npy::prefixBytes, total - npy::prefixBytes, where);
  ArrayType type = npy::parseHeader(bytes, where);
  uint64_t found = entry.bytes - total, expected = type.numBytes();
  if (found < expected)
    fail(where + ": truncated, " + std::to_string(expected - found) +
         " bytes are missing");
  if (found > expected)
    fail(where + ": has " + std::to_string(found - expected) +
         " bytes behind its elements");
  entry.header = {type, total};
}

/// Reads the elements of an array whose header was read.
void ArrayFile::Contents::readElements(Entry &entry, const std::string &where,
                                       void *into) {
  const ArrayType &type = entry.header->type;
  openEntry(entry, where);
  std::string header(entry.header->bytes, '\0');
  readBytes(header.data(), header.size(), where);
  readBytes(into, type.numBytes(), where);
  if (!closeEntry(entry))
    fail(where + ": damaged (wrong checksum)");
  // Compiled code takes an i1 for 0 or 1; NumPy takes any byte for a boolean.
  if (type.dtype == DType::i1)
    for (auto *at = static_cast<char *>(into), *end = at + type.numBytes();
         at != end; ++at)
      *at = *at != 0;
}

const ArrayType &ArrayFile::get(const std::string &key) const {
  auto found = contents->entries.find(key);
  if (found != contents->entries.end()) {
    Entry &entry = found->second;
    if (!entry.header) {
      std::string where = ::nameOf(name, key);
      contents->checkSizes(entry, where);
      contents->openEntry(entry, where);
      contents->readHeader(entry, where);
      contents->closeEntry(entry);
    }
    return entry.header->type;
  }
  if (!contents->archive)
    fail(name + ": a .npy file has no array " + inQuotes(key) +
         "; save it with numpy.savez");
  constexpr size_t most = 20;
  std::string known;
  for (size_t i = 0; i < std::min(most, contents->order.size()); ++i)
    known += (i ? ", " : "") + inQuotes(contents->order[i]);
  if (contents->order.size() > most)
    known += ", ... (" + std::to_string(contents->order.size()) + " in all)";
  fail(name + ": no array " + inQuotes(key) + "; it has " +
       (known.empty() ? "none" : known));
}

void ArrayFile::expect(const std::string &key,
                       const ArrayType &expected) const {
  const ArrayType &found = get(key);
  bool bothBytes = found.dtype == DType::u8 && expected.dtype == DType::i8 &&
                   found.shape == expected.shape;
  if (!(found == expected) && !bothBytes)
    fail(::nameOf(name, key) + ": expected " + expected.str() + ", found " +
         found.str());
}

void ArrayFile::read(const std::string &key, const ArrayType &expected,
                     void *into) const {
  expect(key, expected);
  contents->readElements(contents->entries.at(key), ::nameOf(name, key), into);
}
