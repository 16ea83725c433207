//===- AtomicFile.cpp - Files that are replaced as a whole ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The temporary file's owner holds a lock on it, by which others tell it from
// one that a killed run left.
//===----------------------------------------------------------------------===//

#include "AtomicFile.h"

#include "Failure.h"
#include "MemRef.h"
#include "remat/Runtime/Runtime.h"
#include "remat/Runtime/Step.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace remat;
namespace fs = std::filesystem;

/// Between a file's name and the random part of a temporary one's.
static constexpr char infix[] = ".tmp";
static constexpr size_t randomCharacters = 10;

static std::string folderOf(const std::string &path) {
  fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// Returns the target of `path` if it is a symbolic link, which may dangle.
static std::string followLinks(const std::string &path) {
  constexpr int most = 40; // As many as the system follows.
  fs::path result = path;
  std::error_code error;
  for (int i = 0; i < most && fs::is_symlink(result, error); ++i)
    result = result.parent_path() / fs::read_symlink(result, error);
  return result;
}

static std::string drawName() {
  static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::string name;
  for (size_t i = 0; i < randomCharacters; ++i)
    name += letters[device() % (sizeof(letters) - 1)];
  return name;
}

/// Returns true if `name` is what `create` calls a temporary file of `target`.
static bool isTemporaryOf(const std::string &name, const std::string &target) {
  std::string start = fs::path(target).filename().string() + infix;
  if (name.size() != start.size() + randomCharacters ||
      name.compare(0, start.size(), start) != 0)
    return false;
  for (size_t i = start.size(); i < name.size(); ++i)
    if (!std::isalnum(static_cast<unsigned char>(name[i])))
      return false;
  return true;
}

/// Removes the temporary files of `target` that no process has locked.
static void removeStale(const std::string &target) {
  std::error_code error;
  for (fs::directory_iterator it(folderOf(target), error), end;
       !error && it != end; it.increment(error)) {
    if (!isTemporaryOf(it->path().filename().string(), target))
      continue;
    int descriptor =
        open(it->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
      continue;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      unlink(it->path().c_str());
    close(descriptor);
  }
}

/// Makes the temporary file; false with a reason in `errno`.
bool AtomicFile::create() {
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    temporary = target + infix + drawName();
    int descriptor =
        open(temporary.c_str(),
             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST)
      continue;
    if (descriptor < 0)
      return false;
    // Not every file system has locks; there, nothing is taken for stale.
    flock(descriptor, LOCK_EX | LOCK_NB);
    struct stat status;
    if (fstat(descriptor, &status) == 0 && status.st_nlink == 0) {
      close(descriptor); // Another process removed it before it was locked.
      continue;
    }
    if (stat(target.c_str(), &status) == 0)
      fchmod(descriptor, status.st_mode & 07777);
    file = fdopen(descriptor, "wb+");
    return file != nullptr;
  }
  return false;
}

AtomicFile::AtomicFile(const std::string &path)
    : name(path), target(followLinks(path)) {
  struct stat status;
  if (stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    remat::fail(name + ": cannot be written: not a regular file");
  removeStale(target);
  if (!create()) {
    temporary.clear();
    fail();
  }
}

void AtomicFile::discard() {
  if (!temporary.empty())
    unlink(temporary.c_str());
  temporary.clear();
  if (file)
    fclose(file);
  file = nullptr;
}

void AtomicFile::fail() {
  std::string reason = errno ? std::strerror(errno) : "unknown error";
  discard();
  remat::fail(name + ": cannot be written: " + reason);
}

void AtomicFile::commit() {
  if (fflush(file) != 0 || ferror(file) || fsync(fileno(file)) != 0 ||
      rename(temporary.c_str(), target.c_str()) != 0)
    fail();
  temporary.clear();
  discard();
  // The new name is on the disk once the folder is.
  int folder = open(folderOf(target).c_str(), O_RDONLY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
}

//===----------------------------------------------------------------------===//
// For a host program
//===----------------------------------------------------------------------===//

namespace {
/// A failure, which must not end the host program.
struct Failed {
  std::string message;
};
} // namespace

REMAT_EXPORT char *remat_rt_replace_file(const char *path,
                                         bool (*write)(const char *temporary,
                                                       void *userData),
                                         void *userData) {
  failureHandler = [](const std::string &message) { throw Failed{message}; };
  char *problem = nullptr;
  try {
    AtomicFile file(path);
    if (write(file.getTemporary().c_str(), userData))
      file.commit();
  } catch (const Failed &failed) {
    problem = strdup(failed.message.c_str());
  }
  failureHandler = nullptr;
  return problem;
}
