//===- TemporaryFolder.h - Files of one test -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_UNITTESTS_RUNTIME_TEMPORARYFOLDER_H
#define REMAT_UNITTESTS_RUNTIME_TEMPORARYFOLDER_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace remat {

/// A test with a folder of its own.
class TemporaryFolder : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "remat-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const {
    return (folder / name).string();
  }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::filesystem::path folder;
};

} // namespace remat

#endif // REMAT_UNITTESTS_RUNTIME_TEMPORARYFOLDER_H
