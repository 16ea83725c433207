//===- Npy.cpp - The header of a .npy file --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's array format, as numpy/lib/format.py documents it (versions 1 to 3).
// No packaged C++ library has it, and it is a dictionary of three entries.
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include <cctype>
#include <cstring>

using namespace remat;

namespace {
struct TypeCode {
  DType dtype;
  const char *name;
  size_t width;
  /// NumPy's `descr` without the byte order.
  const char *descr;
};
} // namespace

static constexpr TypeCode typeCodes[] = {
    {DType::i1, "i1", 1, "b1"},
    {DType::i8, "i8", 1, "i1"},
    {DType::i16, "i16", 2, "i2"},
    {DType::i32, "i32", 4, "i4"},
    {DType::i64, "i64", 8, "i8"},
    {DType::u8, "u8", 1, "u1"},
    {DType::f16, "f16", 2, "f2"},
    {DType::f32, "f32", 4, "f4"},
    {DType::f64, "f64", 8, "f8"},
    // NumPy has no bf16; ml_dtypes stores it as two opaque bytes.
    {DType::bf16, "bf16", 2, "V2"},
    // MLIR's integers have no sign: the bits are what they are. What is written
    // is the first row of a type.
    {DType::i16, "i16", 2, "u2"},
    {DType::i32, "i32", 4, "u4"},
    {DType::i64, "i64", 8, "u8"},
};

static const TypeCode &codeOf(DType type) {
  for (const TypeCode &code : typeCodes)
    if (code.dtype == type)
      return code;
  fail("unknown element type");
}

const char *remat::nameOf(DType type) { return codeOf(type).name; }
size_t remat::byteWidth(DType type) { return codeOf(type).width; }

int64_t ArrayType::numElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string ArrayType::str() const {
  std::string text = std::string(nameOf(dtype)) + " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + std::to_string(shape[i]);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static constexpr char magic[] = "\x93NUMPY";
static constexpr size_t magicBytes = 6;

/// Where the dictionary starts.
static size_t dictionaryStart(const std::string &header) {
  return header[magicBytes] == 1 ? 10 : 12;
}

size_t npy::headerBytes(const std::string &prefix, const std::string &where) {
  if (prefix.compare(0, magicBytes, magic) != 0)
    fail(where + ": not a .npy array (wrong magic bytes)");
  auto byte = [&](size_t i) {
    return size_t(static_cast<unsigned char>(prefix[i]));
  };
  size_t version = byte(magicBytes);
  if (version < 1 || version > 3)
    fail(where + ": .npy version " + std::to_string(version) +
         " is unknown (1 to 3 are known)");
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1)
    length |= byte(10) << 16 | byte(11) << 24;
  return dictionaryStart(prefix) + length;
}

namespace {
/// Reads the Python dictionary literal of a header.
class HeaderParser {
public:
  HeaderParser(const std::string &text, const std::string &where)
      : at(text.c_str()), end(at + text.size()), where(where) {}

  ArrayType parse() {
    ArrayType type;
    bool hasDescr = false, hasShape = false, hasOrder = false;
    expect('{');
    while (!accept('}')) {
      std::string key = quoted();
      expect(':');
      if (key == "descr" && !hasDescr) {
        type.dtype = dtype();
        hasDescr = true;
      } else if (key == "fortran_order" && !hasOrder) {
        if (word() == "True")
          fail(where + ": array is in Fortran order; save "
                       "numpy.ascontiguousarray(array)");
        hasOrder = true;
      } else if (key == "shape" && !hasShape) {
        type.shape = tuple();
        hasShape = true;
      } else {
        malformed();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (!hasDescr || !hasShape || !hasOrder || at != end)
      malformed();
    return type;
  }

private:
  [[noreturn]] void malformed() { fail(where + ": malformed .npy header"); }

  void skipSpace() {
    while (std::isspace(static_cast<unsigned char>(*at)))
      ++at;
  }
  bool accept(char c) {
    skipSpace();
    if (*at != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      malformed();
  }

  std::string quoted() {
    skipSpace();
    char quote = *at;
    const char *closing =
        quote == '\'' || quote == '"' ? std::strchr(at + 1, quote) : nullptr;
    if (!closing)
      malformed();
    std::string text(at + 1, closing);
    at = closing + 1;
    return text;
  }

  std::string word() {
    skipSpace();
    std::string text;
    while (std::isalpha(static_cast<unsigned char>(*at)))
      text += *at++;
    if (text != "True" && text != "False")
      malformed();
    return text;
  }

  std::vector<int64_t> tuple() {
    // Small enough that a product of sizes and a width cannot overflow.
    constexpr int64_t maxBytes = int64_t(1) << 56;
    constexpr size_t maxRank = 64; // As in NumPy.
    std::vector<int64_t> sizes;
    int64_t bytes = 8;
    expect('(');
    while (!accept(')')) {
      skipSpace();
      if (!std::isdigit(static_cast<unsigned char>(*at)))
        malformed();
      int64_t size = 0;
      while (std::isdigit(static_cast<unsigned char>(*at))) {
        size = size * 10 + (*at++ - '0');
        if (size > maxBytes)
          malformed();
      }
      if (size != 0 && bytes > maxBytes / size)
        malformed();
      bytes *= size != 0 ? size : 1;
      sizes.push_back(size);
      if (sizes.size() > maxRank)
        malformed();
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  DType dtype() {
    skipSpace();
    if (*at == '[')
      fail(where + ": array has fields; save each of them as an array");
    std::string descr = quoted();
    constexpr size_t longest = 16; // Of those that are known, and then some.
    if (descr.size() > longest)
      malformed();
    if (descr[0] == '>')
      fail(where + ": array is big-endian ('" + descr +
           "'); save it in native "
           "byte order");
    bool isNative = descr[0] == '<' || descr[0] == '|' || descr[0] == '=';
    for (const TypeCode &code : typeCodes)
      if (isNative && descr.substr(1) == code.descr)
        return code.dtype;
    fail(where + ": element type '" + descr +
         "' is not supported (bool, integers of 8 to 64 bits, float16 to "
         "float64, bfloat16 are)");
  }

  const char *at, *end;
  const std::string &where;
};
} // namespace

ArrayType npy::parseHeader(const std::string &header,
                           const std::string &where) {
  return HeaderParser(header.substr(dictionaryStart(header)), where).parse();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string npy::header(const ArrayType &type) {
  const TypeCode &code = codeOf(type.dtype);
  bool hasByteOrder = code.width > 1 && type.dtype != DType::bf16;
  std::string dictionary = std::string("{'descr': '") +
                           (hasByteOrder ? "<" : "|") + code.descr +
                           "', 'fortran_order': False, 'shape': (";
  for (int64_t size : type.shape)
    dictionary += std::to_string(size) + (type.shape.size() == 1 ? "," : ", ");
  if (type.shape.size() > 1)
    dictionary.resize(dictionary.size() - 2);
  dictionary += "), }";
  // Elements start at a multiple of 64 bytes.
  constexpr size_t prefix = magicBytes + 4, alignment = 64;
  size_t total = prefix + dictionary.size() + 1;
  dictionary.append((alignment - total % alignment) % alignment, ' ');
  dictionary += '\n';
  std::string bytes(magic, magicBytes);
  bytes += {1, 0, char(dictionary.size() & 0xff), char(dictionary.size() >> 8)};
  return bytes + dictionary;
}
