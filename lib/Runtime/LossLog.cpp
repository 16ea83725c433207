//===- LossLog.cpp - Losses in a file -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LossLog.h"

#include "remat/Runtime/Runtime.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace remat;

[[noreturn]] static void failToWrite(const std::string &path) {
  fail(path + ": cannot be written: " + std::strerror(errno));
}

/// How many bytes at the start of a log are complete lines of the first `step`
/// steps.
static off_t countKeptBytes(FILE *log, int64_t step) {
  char *line = nullptr;
  size_t capacity = 0;
  off_t kept = 0;
  for (ssize_t length; (length = getline(&line, &capacity, log)) > 0;
       kept += length)
    if (line[length - 1] != '\n' || std::strtoll(line, nullptr, 10) > step)
      break;
  std::free(line);
  return kept;
}

void LossLog::open(const std::string &path, int64_t step) {
  name = path;
  struct stat status;
  bool goesOn =
      step > 0 && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  file = std::fopen(path.c_str(), goesOn ? "r+" : "w");
  if (!file)
    failToWrite(path);
  if (!goesOn)
    return;
  // In place: a copy of what is kept would be lost with a kill in between.
  off_t kept = countKeptBytes(file, step);
  if (ftruncate(fileno(file), kept) != 0 || fseeko(file, kept, SEEK_SET) != 0)
    failToWrite(path);
}

void LossLog::add(int64_t step, double loss) {
  if (!file)
    return;
  std::fprintf(file, "%lld\t%.17g\n", static_cast<long long>(step), loss);
  if (std::fflush(file) != 0)
    failToWrite(name);
}

void LossLog::close() {
  if (file && std::fclose(file) != 0)
    failToWrite(name);
  file = nullptr;
}
