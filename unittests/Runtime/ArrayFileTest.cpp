//===- ArrayFileTest.cpp - Arrays in .npy and .npz files ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Npy.h"
#include "TemporaryFolder.h"

#include <cstring>
#include <sys/stat.h>

using namespace remat;

namespace {
using ArrayFileTest = TemporaryFolder;

const ArrayType kType{DType::f32, {2, 3}};
const float kElements[] = {1, 2, 3, 4, 5, 6};

std::string bytesOf(const void *data, size_t size) {
  return std::string(static_cast<const char *>(data), size);
}

/// A .npy file with this dictionary.
std::string npyFile(const std::string &dictionary) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += char(dictionary.size() & 0xff);
  bytes += char(dictionary.size() >> 8);
  return bytes + dictionary + bytesOf(kElements, sizeof kElements);
}

void readAll(const std::string &path) {
  ArrayFile file(path);
  for (const std::string &key : file.keys()) {
    std::vector<char> elements(file.get(key).numBytes());
    file.read(key, elements.data());
  }
}

#define EXPECT_FAILURE(STATEMENT, MESSAGE)                                     \
  EXPECT_EXIT(STATEMENT, testing::ExitedWithCode(1), MESSAGE)

TEST_F(ArrayFileTest, readsWhatItWrites) {
  std::string longName(70000 / 2, 'n');
  {
    ArrayWriter writer(path("a.npz"));
    writer.add("x", kType, kElements);
    writer.add(longName, kType, kElements);
    writer.commit();
  }
  ArrayFile file(path("a.npz"));
  EXPECT_EQ(file.keys(), (std::vector<std::string>{"x", longName}));
  for (const std::string &key : file.keys()) {
    float found[6] = {};
    file.read(key, kType, found);
    EXPECT_EQ(std::memcmp(found, kElements, sizeof found), 0);
  }
}

/// The archive of one array `x`, whose record in the table of contents has its
/// numbers in 64 bits, as it must where they are large.
std::string withLargeNumbers(std::string bytes) {
  auto put = [&](size_t at, uint64_t number, int count) {
    for (int i = 0; i < count; ++i)
      bytes[at + i] = char(number >> (8 * i));
  };
  auto get = [&](size_t at) {
    uint32_t number;
    std::memcpy(&number, &bytes[at], sizeof number);
    return number;
  };
  size_t record = bytes.find("PK\1\2"), end = bytes.find("PK\5\6");
  constexpr size_t keyBytes = 5, fields[] = {24, 20, 42};
  std::string extra("\1\0\30\0", 4);
  for (size_t field : fields) {
    extra += bytes.substr(record + field, 4) + std::string(4, '\0');
    put(record + field, 0xffffffff, 4);
  }
  put(end + 12, get(end + 12) + extra.size(), 4);
  put(record + 30, extra.size(), 2);
  return bytes.insert(record + 46 + keyBytes, extra);
}

class LargeNumbers : public ArrayFileTest {
protected:
  void SetUp() override {
    ArrayFileTest::SetUp();
    {
      ArrayWriter writer(path("small.npz"));
      writer.add("x", kType, kElements);
      writer.commit();
    }
    large = withLargeNumbers(read("small.npz"));
    extra = large.find(std::string("\1\0\30\0", 4), large.find("PK\1\2"));
  }

  /// Where the numbers of 64 bits begin.
  size_t extra;
  std::string large;
};

TEST_F(LargeNumbers, areRead) {
  ArrayFile file(write("a.npz", large));
  EXPECT_EQ(file.keys(), std::vector<std::string>{"x"});
  for (int i = 0; i < 2; ++i) {
    float found[6] = {};
    file.read("x", kType, found);
    EXPECT_EQ(std::memcmp(found, kElements, sizeof found), 0);
  }
}

TEST_F(LargeNumbers, areComparedWithTheFile) {
  auto change = [&](size_t at, char by) {
    std::string bytes = large;
    bytes[at] ^= by;
    return write("a.npz", bytes);
  };
  // Both sizes in gigabytes, then the start.
  EXPECT_FAILURE(readAll(change(extra + 4 + 8 + 7, 1)),
                 "array 'x': truncated, it takes 72057594037928088 bytes of a "
                 "file of [0-9]+\n$");
  EXPECT_FAILURE(readAll(change(extra + 4 + 7, 1)),
                 "array 'x': damaged \\(the archive states two sizes\\)\n$");
  EXPECT_FAILURE(readAll(change(extra + 4 + 16 + 7, 1)),
                 "array 'x': damaged archive\n$");
  EXPECT_FAILURE(readAll(change(extra + 4 + 16, 1)),
                 "array 'x': damaged archive\n$");
  // Fewer numbers than there must be, none, and fields that end too late.
  EXPECT_FAILURE(readAll(change(extra + 2, 24 ^ 16)), "damaged archive\n$");
  EXPECT_FAILURE(readAll(change(extra, 2)), "damaged archive\n$");
  EXPECT_FAILURE(readAll(change(extra + 3, 1)), "damaged archive\n$");
  // An element.
  EXPECT_FAILURE(readAll(change(large.find("PK\1\2") - 1, 1)),
                 "array 'x': damaged \\(wrong checksum\\)\n$");
  // The method: 8.
  EXPECT_FAILURE(readAll(change(large.find("PK\1\2") + 10, 8)),
                 "array 'x': is compressed, and takes or begins after 4 GiB; "
                 "save it with numpy.savez\n$");
}

TEST_F(ArrayFileTest, shortensNamesInMessages) {
  {
    ArrayWriter writer(path("a.npz"));
    writer.add(std::string(5000, 'n'), kType, kElements);
    writer.commit();
  }
  EXPECT_FAILURE(ArrayFile(path("a.npz")).get("x"),
                 "no array 'x'; it has 'n{80}\\.\\.\\.'\n$");
}

TEST_F(ArrayFileTest, readsAnArray) {
  std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  float found[6] = {};
  ArrayFile(write("a.npy", npyFile(good))).read("", kType, found);
  EXPECT_EQ(std::memcmp(found, kElements, sizeof found), 0);
}

TEST_F(ArrayFileTest, refusesHeadersThatAreNoDictionary) {
  for (const char *bad : {
           "",
           "{",
           "{}",
           "{'shape': (2, 3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }",
           "{'descr': '<f4', 'fortran_order': maybe, 'shape': (2, 3), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } junk",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'shape': "
           "(2, 3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': "
           "(99999999999999999999, 3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, "
           "4294967296, 3)}",
       })
    EXPECT_FAILURE(readAll(write("a.npy", npyFile(bad))),
                   "malformed .npy header");
  std::string dims;
  for (int i = 0; i < 65; ++i)
    dims += "1, ";
  EXPECT_FAILURE(
      readAll(write("a.npy", npyFile("{'descr': '<f4', 'fortran_order': "
                                     "False, 'shape': (" +
                                     dims + "2, 3)}"))),
      "malformed .npy header");
}

TEST_F(ArrayFileTest, refusesTypesThatItDoesNotKnow) {
  auto withType = [](const std::string &descr) {
    return npyFile("{'descr': " + descr +
                   ", 'fortran_order': False, 'shape': (2, 3)}");
  };
  EXPECT_FAILURE(readAll(write("a.npy", withType("'>f4'"))), "big-endian");
  EXPECT_FAILURE(readAll(write("a.npy", withType("'xf4'"))),
                 "'xf4' is not supported");
  EXPECT_FAILURE(readAll(write("a.npy", withType("''"))),
                 "'' is not supported");
  EXPECT_FAILURE(readAll(write("a.npy", withType("'<U3'"))),
                 "'<U3' is not supported");
  EXPECT_FAILURE(readAll(write("a.npy", withType("[('a', '<f4')]"))),
                 "has fields");
}

TEST_F(ArrayFileTest, comparesSizesWithTheFile) {
  auto withShape = [](const std::string &shape) {
    return npyFile(
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}");
  };
  EXPECT_FAILURE(readAll(write("a.npy", withShape("(2, 4)"))),
                 "truncated, 8 bytes are missing");
  EXPECT_FAILURE(readAll(write("a.npy", withShape("(1000000, 1000000)"))),
                 "truncated");
  EXPECT_FAILURE(readAll(write("a.npy", withShape("(2, 2)"))),
                 "has 8 bytes behind its elements");
  std::string cut = npyFile("{'descr': '<f4'");
  cut[8] = cut[9] = '\xff';
  EXPECT_FAILURE(readAll(write("a.npy", cut)), "truncated in its header");
}

TEST_F(ArrayFileTest, readsBooleansAsZeroAndOne) {
  std::string file =
      npyFile("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}");
  file.resize(file.size() - sizeof kElements);
  char found[3];
  ArrayFile(write("a.npy", file + std::string("\0\1\xff", 3)))
      .read("", {DType::i1, {3}}, found);
  EXPECT_EQ(std::memcmp(found, "\0\1\1", 3), 0);
}

TEST_F(ArrayFileTest, refusesWhatIsNoFile) {
  EXPECT_FAILURE(ArrayFile file(folder.string()), "is a directory");
  EXPECT_FAILURE(ArrayFile("/dev/zero"), "is not a regular file");
  mkfifo(path("pipe").c_str(), 0600);
  EXPECT_FAILURE(ArrayFile(path("pipe")), "is not a regular file");
}
} // namespace
