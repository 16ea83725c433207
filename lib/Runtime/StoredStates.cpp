//===- StoredStates.cpp - States that are quantized -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StoredStates.h"

#include "BFloat16.h"
#include "MemRef.h"

#include "remat/Runtime/Step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

using namespace remat;

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// The values of all codes over their scale, in order.
static std::vector<double> makeTable(const StoredBlocks &blocks) {
  std::vector<double> table;
  int decades = blocks.bits == 8 ? 7 : 3;
  if (blocks.bits == 4 && !blocks.isSigned) {
    for (int code = 0; code < 16; ++code)
      table.push_back((code + 1) / 16.0);
    return table;
  }
  table = {0, 1};
  for (int i = 0; i < decades; ++i) {
    int count = 1 << (blocks.isSigned ? i : i + 1);
    double end = std::pow(10.0, i - (decades - 1));
    for (int k = 0; k < count; ++k) {
      double value = end * (0.1 + 0.9 * (k + 0.5) / count);
      table.push_back(value);
      if (blocks.isSigned)
        table.push_back(-value);
    }
  }
  std::sort(table.begin(), table.end());
  return table;
}

/// Which byte of its block has the code of an element, and from which bit on.
static std::pair<int64_t, int> placeOf(const StoredBlocks &blocks,
                                       int64_t element) {
  int64_t bytes = blocks.bytesPerBlock();
  return {element % bytes, element < bytes ? 0 : 4};
}

std::vector<double> remat::dequantize(const StoredBlocks &blocks,
                                      const uint8_t *codes,
                                      const float *scales) {
  std::vector<double> table = makeTable(blocks), numbers(blocks.count);
  for (int64_t i = 0; i < blocks.count; ++i) {
    int64_t block = i / blocks.size;
    auto [byte, shift] = placeOf(blocks, i % blocks.size);
    int code = codes[block * blocks.bytesPerBlock() + byte] >> shift;
    numbers[i] = table[code & ((1 << blocks.bits) - 1)] * scales[block];
  }
  return numbers;
}

void remat::quantize(const StoredBlocks &blocks,
                     const std::vector<double> &numbers, uint8_t *codes,
                     float *scales) {
  std::vector<double> table = makeTable(blocks), middles;
  for (size_t i = 0; i + 1 < table.size(); ++i)
    middles.push_back((table[i] + table[i + 1]) / 2);
  std::memset(codes, 0, blocks.numBlocks() * blocks.bytesPerBlock());
  std::fill(scales, scales + blocks.numBlocks(), 0.0f);
  for (int64_t i = 0; i < blocks.count; ++i) {
    float &scale = scales[i / blocks.size];
    auto size = float(std::fabs(numbers[i]));
    // A NaN stays.
    if (!(size <= scale) && !std::isnan(scale))
      scale = size;
  }
  for (int64_t i = 0; i < blocks.count; ++i) {
    int64_t block = i / blocks.size;
    double ratio = double(float(numbers[i]) / scales[block]);
    if (!(std::fabs(ratio) <= 1))
      ratio = 0;
    auto code = std::upper_bound(middles.begin(), middles.end(), ratio) -
                middles.begin();
    auto [byte, shift] = placeOf(blocks, i % blocks.size);
    codes[block * blocks.bytesPerBlock() + byte] |= uint8_t(code << shift);
  }
}

REMAT_EXPORT void remat_rt_dequantize(const RematBlocks *blocks,
                                      const uint8_t *codes, const float *scales,
                                      float *numbers) {
  std::vector<double> exact =
      dequantize({blocks->bits, blocks->size, blocks->isSigned, blocks->count},
                 codes, scales);
  std::copy(exact.begin(), exact.end(), numbers);
}

REMAT_EXPORT void remat_rt_quantize(const RematBlocks *blocks,
                                    const float *numbers, uint8_t *codes,
                                    float *scales) {
  quantize({blocks->bits, blocks->size, blocks->isSigned, blocks->count},
           {numbers, numbers + blocks->count}, codes, scales);
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

std::string remat::describeStored(const TrainDescription &description) {
  std::string text;
  for (const TrainArgument &argument : description.arguments)
    if (argument.stored)
      text += argument.name + "\t" + argument.stored->str() + "\n";
  return text;
}

StateReader::StateReader(const ArrayFile &file) : file(file) {
  if (!file.contains(storedKey))
    return;
  const ArrayType &type = file.get(storedKey);
  if (type.dtype != DType::u8 || type.shape.size() != 1)
    fail(file.path() + ": array '" + storedKey + "' must be text in bytes");
  std::string text(type.shape[0], '\0');
  file.read(storedKey, text.data());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t tab = line.find('\t');
    std::optional<StoredBlocks> blocks;
    if (tab != std::string::npos)
      blocks = StoredBlocks::parse(line.substr(tab + 1));
    if (!blocks)
      fail(file.path() + ": array '" + storedKey +
           "' must have a line of name, bits, elements of a block, sign and "
           "number of elements for each array of codes");
    stored.emplace(line.substr(0, tab), *blocks);
  }
}

/// The types of numbers that states may have.
static bool isNumber(DType type) {
  return type == DType::f64 || type == DType::f32 || type == DType::bf16;
}

static double loadNumber(DType type, const char *data, int64_t i) {
  if (type == DType::f64)
    return reinterpret_cast<const double *>(data)[i];
  if (type == DType::f32)
    return reinterpret_cast<const float *>(data)[i];
  return fromBF16(reinterpret_cast<const uint16_t *>(data)[i]);
}

static void storeNumber(double number, DType type, char *data, int64_t i) {
  if (type == DType::f64)
    reinterpret_cast<double *>(data)[i] = number;
  else if (type == DType::f32)
    reinterpret_cast<float *>(data)[i] = float(number);
  else
    reinterpret_cast<uint16_t *>(data)[i] = toBF16(float(number));
}

/// The numbers of a state of `count` elements; none if the file has no such.
std::optional<std::vector<double>>
StateReader::readNumbers(const std::string &name, int64_t count) const {
  std::vector<double> numbers;
  if (auto found = stored.find(name); found != stored.end()) {
    const StoredBlocks &blocks = found->second;
    ArrayType codes{DType::i8, {blocks.numBlocks(), blocks.bytesPerBlock()}};
    ArrayType scales{DType::f32, {blocks.numBlocks()}};
    if (blocks.count != count)
      return std::nullopt;
    // Sizes are compared with the arrays before there is memory for them.
    file.expect(name, codes);
    file.expect(name + ".scale", scales);
    std::vector<uint8_t> codesRead(codes.numBytes());
    std::vector<float> scalesRead(scales.numElements());
    file.read(name, codes, codesRead.data());
    file.read(name + ".scale", scales, scalesRead.data());
    return dequantize(blocks, codesRead.data(), scalesRead.data());
  }
  const ArrayType &type = file.get(name);
  if (type.numElements() != count || !isNumber(type.dtype))
    return std::nullopt;
  std::vector<char> bytes(type.numBytes());
  file.read(name, bytes.data());
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(loadNumber(type.dtype, bytes.data(), i));
  return numbers;
}

/// As in `f32` or `int8`.
std::string StateReader::describeSource(const std::string &name) const {
  auto found = stored.find(name);
  return found == stored.end() ? nameOf(file.get(name).dtype)
                               : found->second.kind();
}

bool StateReader::convert(const TrainArgument &argument, char *data) {
  const std::string &name = argument.name;
  if (argument.role != Role::optimizer)
    return false;
  if (auto found = scales.find(name); found != scales.end()) {
    std::memcpy(data, found->second.data(), argument.type.numBytes());
    return true;
  }
  if (!file.contains(name)) {
    // A state that only rounding has; it begins with nothing lost.
    constexpr const char *lost = ".compensation";
    bool isLost = name.size() > std::strlen(lost) &&
                  name.compare(name.size() - std::strlen(lost),
                               std::string::npos, lost) == 0;
    if (!isLost)
      return false;
    std::memset(data, 0, argument.type.numBytes());
    ++converted["nothing to zeros"];
    return true;
  }
  if (argument.stored)
    return convertToCodes(argument, data);
  auto found = stored.find(name);
  if (!isNumber(argument.type.dtype) ||
      (found == stored.end() && file.get(name) == argument.type))
    return false;
  auto numbers = readNumbers(name, argument.type.numElements());
  if (!numbers)
    return false;
  for (size_t i = 0; i < numbers->size(); ++i)
    storeNumber((*numbers)[i], argument.type.dtype, data, int64_t(i));
  ++converted[describeSource(name) + " to " + nameOf(argument.type.dtype)];
  return true;
}

bool StateReader::convertToCodes(const TrainArgument &argument, char *data) {
  const StoredBlocks &blocks = *argument.stored;
  auto found = stored.find(argument.name);
  if (found != stored.end() && found->second == blocks)
    return false;
  auto numbers = readNumbers(argument.name, blocks.count);
  if (!numbers)
    return false;
  std::vector<float> &own = scales[argument.name + ".scale"];
  own.resize(blocks.numBlocks());
  quantize(blocks, *numbers, reinterpret_cast<uint8_t *>(data), own.data());
  ++converted[describeSource(argument.name) + " to " + blocks.kind()];
  return true;
}

std::string StateReader::describe() const {
  std::string text;
  for (const auto &[what, count] : converted)
    text +=
        (text.empty() ? "" : ", ") + std::to_string(count) + " from " + what;
  return text;
}
