//===- Dataset.cpp - Batches from a data file -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All examples stay in host memory; a batch is a copy of some of them.
//===----------------------------------------------------------------------===//

#include "Dataset.h"

#include "Collectives.h"
#include "remat/Runtime/Device.h"

using namespace remat;

/// The elements of an array of the given type.
static char *load(ArrayFile &file, const std::string &name,
                  const ArrayType &type) {
  file.expect(name, type);
  auto *elements = static_cast<char *>(
      device().allocateOnHost(MemoryClass::data, type.numBytes()));
  file.read(name, type, elements);
  return elements;
}

/// The number of this rank's part along `dim`: 0 if it has the whole.
static int64_t getPart(const TrainArgument &argument, int64_t dim) {
  int64_t part = 0;
  for (const Shard &shard : argument.shards)
    if (shard.dim == dim && shard.size > 1)
      part = part * shard.size +
             collectives().getCoordinate({shard.stride, shard.size});
  return part;
}

/// Of the dimensions from `firstDim` on: a run for each index of those before
/// the last one of which there are parts.
std::vector<Dataset::Run> Dataset::findRuns(const TrainArgument &argument,
                                            size_t firstDim) {
  const std::vector<int64_t> &part = argument.type.shape;
  std::vector<int64_t> whole = argument.getWholeType().shape;
  size_t bytes = byteWidth(argument.type.dtype), wholeBytes = bytes;
  std::vector<Run> runs{{0, 0, bytes}};
  for (size_t dim = part.size(); dim-- > firstDim;) {
    size_t first = getPart(argument, dim) * part[dim];
    bool isWhole = runs.size() == 1 && runs[0].bytes == wholeBytes;
    if (isWhole) {
      // Neighbours of a dimension are one run.
      runs = {{first * wholeBytes, 0, part[dim] * wholeBytes}};
    } else {
      std::vector<Run> all;
      for (int64_t i = 0; i < part[dim]; ++i)
        for (const Run &run : runs)
          all.push_back({(first + i) * wholeBytes + run.from,
                         i * bytes + run.to, run.bytes});
      runs = std::move(all);
    }
    bytes *= part[dim];
    wholeBytes *= whole[dim];
  }
  return runs;
}

void Dataset::copyRow(const Array &array, int64_t row, char *into) {
  const char *from = array.elements + row * array.rowBytes;
  for (const Run &run : array.runs)
    device().upload(into + run.to, from + run.from, run.bytes);
}

void Dataset::read(const std::string &path, const char *source,
                   const std::vector<TrainArgument> &arguments, Role role) {
  std::string keys;
  for (const TrainArgument &argument : arguments)
    if (argument.role == role)
      keys += (keys.empty() ? "'" : "', '") + argument.name;
  if (keys.empty())
    return;
  if (path.empty())
    fail("the model takes data (arrays " + keys +
         "'), but no file is named; set " + source +
         " or the attribute of remat.train_step");
  ArrayFile file(path);
  std::string first;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TrainArgument &argument = arguments[i];
    if (argument.role != role)
      continue;
    ArrayType expected = argument.getWholeType();
    if (expected.numElements() == 0)
      fail("the model takes no elements of '" + argument.name + "'");
    const ArrayType &found = file.get(argument.name);
    if (found.shape.empty())
      fail(path + ": array '" + argument.name +
           "' is a scalar; its first dimension has to count examples, or steps "
           "if the model takes a scalar");
    if (expected.shape.empty() ||
        found.shape.size() == expected.shape.size() + 1) {
      if (found.shape[0] == 0)
        fail(path + ": array '" + argument.name + "' has a value for no step");
      size_t bytes = expected.numBytes();
      expected.shape.insert(expected.shape.begin(), found.shape[0]);
      arrays.push_back({i, bytes, argument.type.numBytes(),
                        load(file, argument.name, expected), found.shape[0],
                        /*firstRow=*/0, /*numRows=*/0,
                        findRuns(argument, /*firstDim=*/0)});
      continue;
    }
    if (batch == 0) {
      first = argument.name;
      examples = found.shape[0];
      batch = expected.shape[0];
    }
    if (expected.shape[0] != batch)
      fail("the model takes " + std::to_string(batch) + " examples of '" +
           first + "', but " + std::to_string(expected.shape[0]) + " of '" +
           argument.name + "'");
    if (found.shape[0] != examples)
      fail(path + ": array '" + argument.name + "' has " +
           std::to_string(found.shape[0]) + " examples, but '" + first +
           "' has " + std::to_string(examples));
    size_t bytes = expected.numBytes() / batch;
    int64_t numRows = argument.type.shape[0];
    expected.shape[0] = examples;
    arrays.push_back({i, bytes, argument.type.numBytes() / numRows,
                      load(file, argument.name, expected), /*steps=*/0,
                      getPart(argument, 0) * numRows, numRows,
                      findRuns(argument, /*firstDim=*/1)});
  }
  if (examples < batch)
    fail(path + ": array '" + first + "' has " + std::to_string(examples) +
         " examples, fewer than one batch of " + std::to_string(batch));
}

void Dataset::fill(const int64_t *rows, int64_t index,
                   const std::vector<char *> &buffers) const {
  for (const Array &array : arrays) {
    char *into = buffers[array.argument];
    if (array.steps)
      copyRow(array, index % array.steps, into);
    for (int64_t i = 0; i < array.numRows; ++i)
      copyRow(array, rows[array.firstRow + i], into + i * array.partBytes);
  }
}
