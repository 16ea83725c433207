//===- Toolkit.cpp - NVIDIA's assembler and archiver of device code -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's libraries for the same (nvPTXCompiler, nvFatbin) would be faster by
// a few milliseconds, but are not in every toolkit, and would have to be linked
// or loaded; programs can be replaced by a user, and in tests.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CUDA/Toolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mlir::remat;

namespace {

/// A file that is gone when its object is, or when the compiler is interrupted.
class TemporaryFile {
public:
  static Expected<TemporaryFile> create(StringRef suffix) {
    SmallString<128> path;
    if (std::error_code error =
            sys::fs::createTemporaryFile("remat", suffix, path))
      return createStringError(error, "cannot make a temporary file: " +
                                          error.message());
    return TemporaryFile(path);
  }
  static Expected<TemporaryFile> create(StringRef suffix, StringRef contents) {
    Expected<TemporaryFile> file = create(suffix);
    if (!file)
      return file;
    std::error_code error;
    raw_fd_ostream stream(file->path, error);
    stream << contents;
    stream.close();
    if (stream.has_error()) {
      error = stream.error();
      stream.clear_error();
    }
    if (error)
      return createStringError(error, "cannot write " + file->path + ": " +
                                          error.message());
    return file;
  }

  TemporaryFile(TemporaryFile &&other)
      : path(std::exchange(other.path, std::string())) {}
  TemporaryFile &operator=(TemporaryFile &&) = delete;
  ~TemporaryFile() {
    if (path.empty())
      return;
    sys::fs::remove(path);
    sys::DontRemoveFileOnSignal(path);
  }

  StringRef getPath() const { return path; }

  Expected<std::string> read() const {
    ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
        MemoryBuffer::getFile(path, /*IsText=*/false,
                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return createStringError(buffer.getError(),
                               "cannot read " + path + ": " +
                                   buffer.getError().message());
    return (*buffer)->getBuffer().str();
  }

private:
  explicit TemporaryFile(StringRef path) : path(path) {
    sys::RemoveFileOnSignal(path);
  }

  std::string path;
};

} // namespace

static std::string joinPath(StringRef folder, const Twine &path) {
  SmallString<128> result(folder);
  sys::path::append(result, path);
  return std::string(result);
}

/// Runs `program`. Returns what it printed, as an error if it failed.
static Expected<std::string> run(StringRef program,
                                 ArrayRef<std::string> arguments) {
  Expected<TemporaryFile> output = TemporaryFile::create("log");
  if (!output)
    return output.takeError();
  SmallVector<StringRef> argv{program};
  llvm::append_range(argv, arguments);
  StringRef path = output->getPath();
  std::string reason;
  int status = sys::ExecuteAndWait(
      program, argv, /*Env=*/std::nullopt, {StringRef(), path, path},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &reason);
  Expected<std::string> log = output->read();
  if (!log || status == 0)
    return log;
  std::string message = reason.empty() ? StringRef(*log).trim().str() : reason;
  if (message.empty())
    message = "it failed with exit status " + std::to_string(status);
  return createStringError(sys::path::filename(program) + ": " + message);
}

/// Where `find` looks, the first first.
static SmallVector<std::string> getCandidates() {
  SmallVector<std::string> roots;
  for (StringRef variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (auto value = sys::Process::GetEnv(variable); value && !value->empty())
      roots.push_back(*value);
  if (auto ptxas = sys::findProgramByName("ptxas")) {
    // The one in PATH may be a link into the toolkit.
    SmallString<128> real;
    sys::fs::real_path(*ptxas, real);
    roots.push_back(sys::path::parent_path(sys::path::parent_path(real)).str());
  }
  if (auto environment = sys::Process::GetEnv("VIRTUAL_ENV")) {
    std::error_code error;
    std::string folder = joinPath(*environment, "lib");
    SmallVector<std::string> pythons;
    for (sys::fs::directory_iterator entry(folder, error), end;
         !error && entry != end; entry.increment(error))
      if (sys::path::filename(entry->path()).starts_with("python"))
        pythons.push_back(entry->path());
    llvm::sort(pythons);
    for (StringRef python : pythons)
      roots.push_back(joinPath(python, "site-packages/nvidia/cu13"));
  }
  roots.push_back("/usr/local/cuda");
  return roots;
}

/// The bitcode file in a toolkit of NVIDIA's layout or Debian's, or nothing.
static std::string findLibdevice(StringRef root) {
  for (StringRef folder : {"nvvm", "lib/nvidia-cuda-toolkit"})
    if (std::string file =
            joinPath(root, folder + "/libdevice/libdevice.10.bc");
        sys::fs::exists(file))
      return file;
  return {};
}

Expected<Toolkit> Toolkit::find(StringRef root) {
  SmallVector<std::string> candidates;
  if (root.empty())
    candidates = getCandidates();
  else
    candidates.push_back(root.str());
  Toolkit toolkit;
  for (const std::string &candidate : candidates) {
    std::string ptxas = joinPath(candidate, "bin/ptxas");
    std::string fatbinary = joinPath(candidate, "bin/fatbinary");
    if (toolkit.root.empty() && sys::fs::can_execute(ptxas) &&
        sys::fs::can_execute(fatbinary)) {
      toolkit.root = candidate;
      toolkit.ptxas = ptxas;
      toolkit.fatbinary = fatbinary;
    }
    // Scripts in PATH that call a toolkit's programs have no libdevice beside
    // them, nor has nvidia-cuda-nvcc without nvidia-nvvm.
    if (toolkit.libdevice.empty())
      toolkit.libdevice = findLibdevice(candidate);
  }
  if (!toolkit.root.empty())
    return toolkit;
  std::string where = root.empty()
                          ? "CUDA_ROOT, CUDA_HOME, CUDA_PATH, PATH, the Python "
                            "packages of VIRTUAL_ENV or /usr/local/cuda"
                          : "'" + root.str() + "'";
  return createStringError("found no bin/ptxas and bin/fatbinary in " + where +
                           "; install CUDA 13, or run `" + kInstallToolkit +
                           "` in a virtual environment, and activate it");
}

Expected<std::string> Toolkit::getVersion() const {
  Expected<std::string> log = run(ptxas, {"--version"});
  if (!log)
    return log;
  // "Cuda compilation tools, release 13.0, V13.0.88"
  auto [before, version] = StringRef(*log).split(", V");
  return version.take_while([](char c) { return isDigit(c) || c == '.'; })
      .str();
}

Expected<Cubin> Toolkit::assemble(StringRef ptx, StringRef chip,
                                  StringRef name) const {
  Expected<TemporaryFile> input = TemporaryFile::create("ptx", ptx);
  if (!input)
    return input.takeError();
  Expected<TemporaryFile> output = TemporaryFile::create("cubin");
  if (!output)
    return output.takeError();
  // Products and sums are `.rn`, which ptxas never fuses. `-fmad=false` is for
  // inline assembly.
  Expected<std::string> log =
      run(ptxas, {"-v", "-O3", "-fmad=false", ("-arch=" + chip).str(),
                  input->getPath().str(), "-o", output->getPath().str()});
  if (!log) {
    std::string message = llvm::toString(log.takeError());
    for (size_t at; (at = message.find(input->getPath())) != message.npos;)
      message.replace(at, input->getPath().size(), name);
    return createStringError(message);
  }
  Expected<std::string> contents = output->read();
  if (!contents)
    return contents.takeError();
  return Cubin{*contents, *log};
}

Expected<std::string> Toolkit::combine(ArrayRef<FatbinMember> members) const {
  Expected<TemporaryFile> output = TemporaryFile::create("fatbin");
  if (!output)
    return output.takeError();
  SmallVector<std::string> arguments{"-64",
                                     ("--create=" + output->getPath()).str()};
  SmallVector<TemporaryFile> files;
  for (const FatbinMember &member : members) {
    bool isCubin = member.kind == FatbinMember::Kind::Cubin;
    Expected<TemporaryFile> file =
        TemporaryFile::create(isCubin ? "cubin" : "ptx", member.contents);
    if (!file)
      return file.takeError();
    StringRef number = member.chip;
    number.consume_front("sm_");
    arguments.push_back(("--image3=kind=" + Twine(isCubin ? "elf" : "ptx") +
                         ",sm=" + number + ",file=" + file->getPath())
                            .str());
    files.push_back(std::move(*file));
  }
  Expected<std::string> log = run(fatbinary, arguments);
  if (!log)
    return log.takeError();
  return output->read();
}
