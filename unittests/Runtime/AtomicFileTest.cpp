//===- AtomicFileTest.cpp - Files that are replaced as a whole ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AtomicFile.h"
#include "TemporaryFolder.h"

#include "remat/Runtime/Step.h"

#include <csignal>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace remat;
namespace fs = std::filesystem;

namespace {
using AtomicFileTest = TemporaryFolder;
using Names = std::vector<std::string>;

void replace(const std::string &path, const char *text) {
  AtomicFile file(path);
  std::fputs(text, file.stream());
  file.commit();
}

TEST_F(AtomicFileTest, replacesWhatWasThereOnCommit) {
  write("a", "old");
  {
    AtomicFile file(path("a"));
    std::fputs("new", file.stream());
    EXPECT_EQ(read("a"), "old");
    EXPECT_EQ(list().size(), 2u);
    file.commit();
  }
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(list(), Names{"a"});
}

TEST_F(AtomicFileTest, leavesNothingWithoutCommit) {
  write("a", "old");
  {
    AtomicFile file(path("a"));
  }
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(list(), Names{"a"});
}

TEST_F(AtomicFileTest, keepsSymbolicLinks) {
  fs::create_directory(folder / "store");
  write("store/real", "old");
  fs::create_symlink("store/real", path("link"));
  fs::create_symlink("link", path("chain"));
  fs::create_symlink("store/nothing", path("dangling"));
  replace(path("chain"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_symlink(path("chain")));
  EXPECT_EQ(read("store/real"), "new");
  replace(path("dangling"), "first");
  EXPECT_EQ(read("store/nothing"), "first");
  EXPECT_EQ(list(), (Names{"chain", "dangling", "link", "store"}));
}

TEST_F(AtomicFileTest, keepsPermissions) {
  write("a", "old");
  chmod(path("a").c_str(), 0640);
  replace(path("a"), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, removesWhatKilledRunsLeft) {
  write("a.tmpabcdefghij", "half");
  write("a.tmp", "not ours");
  write("a.tmpabcdefghij2", "not ours");
  write("b.tmpabcdefghij", "of another file");
  replace(path("a"), "new");
  EXPECT_EQ(list(),
            (Names{"a", "a.tmp", "a.tmpabcdefghij2", "b.tmpabcdefghij"}));
}

TEST_F(AtomicFileTest, leavesTemporaryFilesOfLivingRuns) {
  AtomicFile first(path("a"));
  std::fputs("first", first.stream());
  replace(path("a"), "second");
  first.commit();
  EXPECT_EQ(read("a"), "first");
}

TEST_F(AtomicFileTest, followsNoLinkThatLiesInItsWay) {
  write("victim", "precious");
  fs::create_symlink("victim", path("a.tmpabcdefghij"));
  replace(path("a"), "new");
  EXPECT_EQ(read("victim"), "precious");
  EXPECT_TRUE(fs::is_symlink(path("a.tmpabcdefghij")));
}

TEST_F(AtomicFileTest, refusesWhatIsNoFile) {
  EXPECT_EXIT(AtomicFile("/dev/null"), testing::ExitedWithCode(1),
              "/dev/null: cannot be written: not a regular file");
  EXPECT_EXIT(AtomicFile file(folder.string()), testing::ExitedWithCode(1),
              "not a regular file");
  EXPECT_EXIT(AtomicFile(path("no/such/folder")), testing::ExitedWithCode(1),
              "cannot be written: No such file or directory");
}

TEST_F(AtomicFileTest, removesItsFileWhenTheDiskIsFull) {
  auto fill = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    replace(path("a"), std::string(100000, 'x').c_str());
  };
  write("a", "old");
  EXPECT_EXIT(fill(), testing::ExitedWithCode(1),
              "cannot be written: File too large");
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(list(), Names{"a"});
}

/// Replaces `path` by `text` as a host program does; returns what is wrong.
std::string replaceByName(const std::string &path, const char *text) {
  auto write = [](const char *temporary, void *text) {
    if (!text)
      return false;
    FILE *file = std::fopen(temporary, "wb");
    std::fputs(static_cast<const char *>(text), file);
    return std::fclose(file) == 0;
  };
  char *problem =
      remat_rt_replace_file(path.c_str(), write, const_cast<char *>(text));
  std::string message = problem ? problem : "";
  std::free(problem);
  return message;
}

TEST_F(AtomicFileTest, isWrittenByNameForAHostProgram) {
  write("real", "old");
  fs::create_symlink("real", path("link"));
  EXPECT_EQ(replaceByName(path("link"), "new"), "");
  EXPECT_EQ(read("real"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  // A file that the host program does not write stays as it is.
  EXPECT_EQ(replaceByName(path("real"), nullptr), "");
  EXPECT_EQ(read("real"), "new");
  EXPECT_EQ(list(), (Names{"link", "real"}));
}

TEST_F(AtomicFileTest, endsNoHostProgram) {
  EXPECT_EQ(replaceByName("/dev/null", "text"),
            "/dev/null: cannot be written: not a regular file");
  EXPECT_EQ(replaceByName(path("no/folder"), "text"),
            path("no/folder") +
                ": cannot be written: No such file or directory");
  EXPECT_EQ(list(), Names{});
}
} // namespace
