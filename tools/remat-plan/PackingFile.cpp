//===- PackingFile.cpp - Buffers and offsets as CSV -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances of other packers have this format.
//===----------------------------------------------------------------------===//

#include "PackingFile.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

#include <limits>

using namespace llvm;

Expected<remat::plan::PackingFile>
remat::plan::readPackingFile(StringRef path) {
  auto fail = [&](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), path + ": " + message);
  };
  auto buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return fail(buffer.getError().message());
  line_iterator line(**buffer, /*SkipBlanks=*/true);
  if (line.is_at_eof() || line->trim() != "id,lower,upper,size")
    return fail("the first line is not 'id,lower,upper,size'");
  // Heights are sums of sizes.
  constexpr int64_t limit = std::numeric_limits<int64_t>::max() >> 1;
  PackingFile file;
  StringSet<> names;
  int64_t total = 0;
  for (++line; !line.is_at_eof(); ++line) {
    auto failHere = [&](const Twine &message) {
      return fail("line " + Twine(line.line_number()) + ": " + message);
    };
    SmallVector<StringRef> fields;
    line->trim().split(fields, ',');
    Interval interval;
    if (fields.size() != 4 || fields[1].getAsInteger(10, interval.lower) ||
        fields[2].getAsInteger(10, interval.upper) ||
        fields[3].getAsInteger(10, interval.size))
      return failHere("expected a name and three whole numbers");
    if (interval.size < 0 || interval.upper < interval.lower)
      return failHere(
          "negative size, or a lifetime that ends before it begins");
    if (!names.insert(fields[0]).second)
      return failHere("a second buffer '" + fields[0] + "'");
    if (interval.size > limit - total)
      return failHere("the sizes add up to more than 2^62 bytes");
    total += interval.size;
    file.names.push_back(fields[0].str());
    file.intervals.push_back(interval);
  }
  return file;
}

void remat::plan::printOffsets(raw_ostream &os, const PackingFile &file,
                               const Packing &packing) {
  os << "id,offset\n";
  for (auto [name, offset] : zip_equal(file.names, packing.offsets))
    os << name << ',' << offset << '\n';
}
