//===- Cache.cpp - Compiled steps on disk ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's `localCache` would do but for two things: it makes the process's
// handler of SIGINT LLVM's, and a full disk ends the process.
//===----------------------------------------------------------------------===//

#include "Cache.h"

#include "mlir/CAPI/Support.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/DataExtractor.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::remat;
using llvm::Error;
using llvm::Expected;

/// Pruning looks at files that begin so, temporary ones included.
static constexpr llvm::StringLiteral kPrefix = "llvmcache-remat-";
/// The start of each file; other layouts have other numbers.
static constexpr llvm::StringLiteral kMagic = "remat compiled step 4\n";

//===----------------------------------------------------------------------===//
// What a result depends on
//===----------------------------------------------------------------------===//

namespace {
class Hasher {
public:
  void add(StringRef text) {
    std::string length = std::to_string(text.size()) + ":";
    hasher.update(length);
    hasher.update(text);
  }
  void add(MlirStringRef text) { add(unwrap(text)); }
  std::string finish() {
    return llvm::toHex(hasher.final<16>(), /*LowerCase=*/true);
  }

private:
  llvm::BLAKE3 hasher;
};

/// A library of this process, and the number that its linker gave it.
struct LoadedLibrary {
  uintptr_t address;
  std::string path, buildID;
  bool isFound = false;
};
} // namespace

/// The build ID among the notes in `segment`; empty if there is none.
static StringRef findBuildID(StringRef segment) {
  while (segment.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, segment.data(), sizeof(header));
    segment = segment.drop_front(sizeof(header));
    StringRef name = segment.substr(0, header.n_namesz);
    segment = segment.substr(llvm::alignTo(header.n_namesz, 4));
    StringRef value = segment.substr(0, header.n_descsz);
    segment = segment.substr(llvm::alignTo(header.n_descsz, 4));
    if (header.n_type == NT_GNU_BUILD_ID && name == StringRef("GNU\0", 4))
      return value;
  }
  return {};
}

/// `dl_iterate_phdr`'s callback: fills in the library that has the address.
static int describeLibrary(dl_phdr_info *info, size_t, void *data) {
  auto &library = *static_cast<LoadedLibrary *>(data);
  std::string buildID;
  bool hasAddress = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD)
      hasAddress |= library.address - start < header.p_memsz;
    if (header.p_type == PT_NOTE && buildID.empty())
      buildID = findBuildID({reinterpret_cast<const char *>(start),
                             static_cast<size_t>(header.p_memsz)});
  }
  if (!hasAddress)
    return 0;
  library.path = info->dlpi_name;
  library.buildID = buildID;
  library.isFound = true;
  return 1;
}

/// Adds which build of the library this process has at `address`.
static Error addLibrary(Hasher &hasher, const void *address) {
  LoadedLibrary library{reinterpret_cast<uintptr_t>(address), {}, {}};
  dl_iterate_phdr(describeLibrary, &library);
  if (!library.isFound || library.buildID.empty())
    return llvm::createStringError(
        "'" + library.path + "' has no build ID; link it with --build-id");
  hasher.add(library.buildID);
  return Error::success();
}

/// Adds the content of files that options of passes name, such as
/// `remat-import{spec=model.json}`.
static void addFiles(Hasher &hasher, StringRef options) {
  SmallVector<StringRef> words;
  llvm::SplitString(options, words, " \t\n={}(),;\"'");
  for (StringRef word : words) {
    if (!llvm::sys::fs::is_regular_file(word))
      continue;
    auto content = llvm::MemoryBuffer::getFile(word);
    hasher.add(content ? (*content)->getBuffer() : StringRef());
  }
}

static Error addCompiler(Hasher &hasher) {
  const void *addresses[] = {
      reinterpret_cast<const void *>(&rematStepCompile),
      reinterpret_cast<const void *>(&remat_rt_run_step),
      reinterpret_cast<const void *>(&mlir::registerPassManagerCLOptions),
      reinterpret_cast<const void *>(&llvm::parseCachePruningPolicy)};
  for (const void *address : addresses)
    if (Error error = addLibrary(hasher, address))
      return error;
  hasher.add(StringRef(LLVM_VERSION_STRING));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Who may change it
//===----------------------------------------------------------------------===//

/// Returns how users other than this one and root may change what has this
/// `status`; nothing if they cannot. A folder that is only on the way may be
/// writable if it is sticky, and by the user's own group.
static std::string findOthers(const struct stat &status, bool isOnTheWay) {
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return "it belongs to user " + std::to_string(status.st_uid);
  mode_t others = S_IWGRP | S_IWOTH;
  if (isOnTheWay && status.st_mode & S_ISVTX)
    others = 0;
  else if (isOnTheWay && status.st_gid == getegid())
    others = S_IWOTH;
  if (!(status.st_mode & others))
    return {};
  std::string mode;
  llvm::raw_string_ostream(mode)
      << llvm::format("%03o", status.st_mode & 07777);
  return "others may write to it (mode " + mode + ")";
}

/// An error if others may put files into `folder`, or another folder in its
/// place. It need not be there.
static Error checkFolder(StringRef folder) {
  SmallString<128> path(folder), real;
  if (std::error_code error = llvm::sys::fs::make_absolute(path))
    return llvm::errorCodeToError(error);
  bool isOnTheWay = false;
  while (llvm::sys::fs::real_path(path, real) &&
         llvm::sys::path::has_relative_path(path)) {
    llvm::sys::path::remove_filename(path);
    isOnTheWay = true;
  }
  for (StringRef place = real; !place.empty();
       place = llvm::sys::path::parent_path(place), isOnTheWay = true) {
    struct stat status;
    if (stat(place.str().c_str(), &status) != 0)
      return llvm::errorCodeToError(llvm::errnoAsErrorCode());
    std::string others = findOthers(status, isOnTheWay);
    if (!others.empty())
      return llvm::createStringError(
          "machine code is not read from '" + folder + "', since others may " +
          "change '" + place + "': " + others +
          "; name a folder of your own by REMAT_CACHE_DIR, or take away "
          "their rights (chmod go-w)");
  }
  return Error::success();
}

/// An error if others may write to the open file.
static Error checkFile(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return llvm::errorCodeToError(llvm::errnoAsErrorCode());
  if (!S_ISREG(status.st_mode))
    return llvm::createStringError("it is no regular file");
  std::string others = findOthers(status, /*isOnTheWay=*/false);
  return others.empty() ? Error::success() : llvm::createStringError(others);
}

Expected<CacheFile> CacheFile::find(const RematStepOptions &request) {
  if (Error error = checkFolder(unwrap(request.cacheFolder)))
    return error;
  auto policy = llvm::parseCachePruningPolicy(unwrap(request.cachePolicy));
  if (!policy)
    return policy.takeError();
  auto target = describeTarget();
  if (!target)
    return target.takeError();
  Hasher hasher;
  if (Error error = addCompiler(hasher))
    return error;
  hasher.add(StringRef(*target));
  for (MlirStringRef text :
       {request.text, request.fileName, request.passes, request.function,
        request.optimizer, request.learningRates, request.trainAttributes,
        request.evalFunction, request.evalText, request.evalFileName,
        request.evalPasses, request.trainOptions})
    hasher.add(text);
  hasher.add(StringRef(std::to_string(request.optimizationLevel)));
  for (MlirStringRef options :
       {request.passes, request.evalPasses, request.trainOptions})
    addFiles(hasher, unwrap(options));
  CacheFile file;
  file.policy = *policy;
  file.folder = unwrap(request.cacheFolder).str();
  SmallString<128> path(file.folder);
  llvm::sys::path::append(path, kPrefix + hasher.finish());
  file.path = path.str().str();
  return file;
}

//===----------------------------------------------------------------------===//
// The content of a file
//===----------------------------------------------------------------------===//

namespace {
class Writer {
public:
  explicit Writer(raw_ostream &os) : writer(os, llvm::endianness::little) {}
  void add(uint64_t value) { writer.write(value); }
  void add(StringRef bytes) {
    add(static_cast<uint64_t>(bytes.size()));
    writer.OS << bytes;
  }

private:
  llvm::support::endian::Writer writer;
};

class Reader {
public:
  explicit Reader(StringRef data)
      : data(data, /*IsLittleEndian=*/true, /*AddressSize=*/8) {}
  uint64_t number() { return data.getU64(cursor); }
  StringRef bytes() {
    uint64_t size = number();
    return data.getBytes(cursor, size);
  }
  std::string text() { return bytes().str(); }
  bool isValid() const { return static_cast<bool>(cursor); }
  Error finish() {
    if (Error error = cursor.takeError())
      return error;
    return data.eof(cursor) ? Error::success()
                            : llvm::createStringError("there is more in it");
  }

private:
  llvm::DataExtractor data;
  mutable llvm::DataExtractor::Cursor cursor{0};
};
} // namespace

/// Returns `value`, or only its first element if all are the same.
static StringRef shorten(StringRef value, size_t width) {
  bool repeats =
      value.size() > width && value.drop_back(width) == value.drop_front(width);
  return repeats ? value.substr(0, width) : value;
}

/// False if there is no value.
static bool repeat(StringRef value, void *into, size_t numBytes) {
  if (value.empty() || !into)
    return numBytes == 0;
  for (size_t i = 0; i + value.size() <= numBytes; i += value.size())
    std::memcpy(static_cast<char *>(into) + i, value.data(), value.size());
  return true;
}

static Expected<std::string> serialize(const Step &step,
                                       llvm::MemoryBufferRef object,
                                       ArrayRef<StoredDiagnostic> diagnostics) {
  std::string content;
  llvm::raw_string_ostream os(content);
  Writer writer(os);
  writer.add(static_cast<uint64_t>(step.getTarget()));
  writer.add(StringRef(step.descriptionText));
  writer.add(StringRef(step.function));
  writer.add(StringRef(step.evaluation));
  writer.add(StringRef(step.memoryReport));
  writer.add(static_cast<uint64_t>(step.hasLearningRates));
  writer.add(static_cast<uint64_t>(diagnostics.size()));
  for (const StoredDiagnostic &diagnostic : diagnostics) {
    writer.add(static_cast<uint64_t>(diagnostic.severity));
    for (StringRef text : {diagnostic.message, diagnostic.file, diagnostic.text,
                           diagnostic.code})
      writer.add(text);
    writer.add(static_cast<uint64_t>(diagnostic.line));
    writer.add(static_cast<uint64_t>(diagnostic.column));
  }
  for (auto [i, argument] : llvm::enumerate(step.description.arguments))
    if (argument.isFromProgram()) {
      std::vector<char> value(argument.type.numBytes());
      if (!step.buffers[i]->isInitialized)
        value.clear();
      else if (Error error = step.buffers[i]->read(value.data()))
        return error;
      writer.add(shorten({value.data(), value.size()},
                         byteWidth(argument.type.dtype)));
    }
  writer.add(object.getBuffer());
  return content;
}

static Expected<std::unique_ptr<Step>>
deserialize(StringRef content, Step *statesOf,
            std::vector<StoredDiagnostic> &diagnostics) {
  Reader reader(content);
  auto step = std::make_unique<Step>();
  auto target = static_cast<StepTarget>(reader.number());
  std::string description = reader.text();
  step->function = reader.text();
  step->evaluation = reader.text();
  step->memoryReport = reader.text();
  step->hasLearningRates = reader.number();
  for (uint64_t i = 0, count = reader.number(); reader.isValid() && i < count;
       ++i) {
    StoredDiagnostic diagnostic;
    diagnostic.severity = static_cast<MlirDiagnosticSeverity>(reader.number());
    diagnostic.message = reader.text();
    diagnostic.file = reader.text();
    diagnostic.text = reader.text();
    diagnostic.code = reader.text();
    diagnostic.line = reader.number();
    diagnostic.column = reader.number();
    diagnostics.push_back(std::move(diagnostic));
  }
  auto getValue = [&](size_t, void *into, size_t numBytes) {
    return repeat(reader.bytes(), into, numBytes);
  };
  if (reader.isValid()) {
    if (Error error = step->open(target, statesOf))
      return error;
    if (Error error =
            step->allocate(std::move(description), statesOf, getValue))
      return error;
  }
  StringRef object = reader.bytes();
  if (Error error = reader.finish())
    return error;
  if (Error error = step->link(llvm::MemoryBuffer::getMemBufferCopy(object)))
    return error;
  step->isCached = true;
  return step;
}

/// Returns the checksum that stands between the magic and the content.
static std::string getChecksum(StringRef content) {
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(content));
  std::string checksum;
  llvm::raw_string_ostream os(checksum);
  Writer writer(os);
  writer.add(hash.low64);
  writer.add(hash.high64);
  return checksum;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Step>>
CacheFile::load(Step *statesOf,
                std::vector<StoredDiagnostic> &diagnostics) const {
  // The time of its last use is what pruning goes by.
  auto descriptor =
      llvm::sys::fs::openNativeFileForRead(path, llvm::sys::fs::OF_UpdateAtime);
  if (!descriptor) {
    llvm::consumeError(descriptor.takeError());
    return nullptr;
  }
  llvm::scope_exit close([&] { llvm::sys::fs::closeFile(*descriptor); });
  if (Error error = checkFile(*descriptor))
    return error;
  auto buffer = llvm::MemoryBuffer::getOpenFile(
      *descriptor, path, /*FileSize=*/-1, /*RequiresNullTerminator=*/false,
      /*IsVolatile=*/true);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  StringRef content = (*buffer)->getBuffer();
  if (!content.consume_front(kMagic))
    return llvm::createStringError("it does not begin as such files do");
  StringRef checksum = content.take_front(16);
  content = content.drop_front(checksum.size());
  if (checksum != getChecksum(content))
    return llvm::createStringError("its checksum is wrong");
  return deserialize(content, statesOf, diagnostics);
}

/// Writes all of it to the disk; whatever is wrong with that is the result.
static Error writeFile(int descriptor, StringRef checksum, StringRef content) {
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/false);
  os << kMagic << checksum << content;
  os.flush();
  std::error_code error = os.error();
  os.clear_error(); // The destructor would end the process.
  if (!error && fsync(descriptor) != 0)
    error = llvm::errnoAsErrorCode();
  return llvm::errorCodeToError(error);
}

Error CacheFile::store(const Step &step, llvm::MemoryBufferRef object,
                       ArrayRef<StoredDiagnostic> diagnostics) const {
  Expected<std::string> content = serialize(step, object, diagnostics);
  if (!content)
    return content.takeError();
  if (std::error_code error = llvm::sys::fs::create_directories(
          folder, /*IgnoreExisting=*/true, llvm::sys::fs::owner_all))
    return llvm::errorCodeToError(error);
  int descriptor;
  SmallString<128> temporary;
  if (std::error_code error = llvm::sys::fs::createUniqueFile(
          path + ".tmp-%%%%%%%%", descriptor, temporary, llvm::sys::fs::OF_None,
          llvm::sys::fs::owner_read | llvm::sys::fs::owner_write))
    return llvm::errorCodeToError(error);
  Error error = writeFile(descriptor, getChecksum(*content), *content);
  ::close(descriptor);
  if (!error)
    error = llvm::errorCodeToError(llvm::sys::fs::rename(temporary, path));
  if (error) {
    llvm::sys::fs::remove(temporary);
    return error;
  }
  llvm::pruneCache(folder, policy);
  return Error::success();
}
