//===- Dataset.cpp - Batches from a data file -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All examples stay in host memory; a batch is a copy of some of them.
//===----------------------------------------------------------------------===//

#include "Dataset.h"

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
    ArrayType expected = argument.type;
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
      arrays.push_back({i, bytes, load(file, argument.name, expected),
                        static_cast<int64_t>(found.shape[0])});
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
    expected.shape[0] = examples;
    arrays.push_back({i, argument.type.numBytes() / batch,
                      load(file, argument.name, expected), 0});
  }
  if (examples < batch)
    fail(path + ": array '" + first + "' has " + std::to_string(examples) +
         " examples, fewer than one batch of " + std::to_string(batch));
}

void Dataset::fill(const int64_t *rows, int64_t index,
                   const std::vector<char *> &buffers) const {
  for (const Array &array : arrays) {
    if (array.steps) {
      device().upload(buffers[array.argument],
                      array.elements + index % array.steps * array.rowBytes,
                      array.rowBytes);
      continue;
    }
    for (int64_t i = 0; i < batch; ++i)
      device().upload(buffers[array.argument] + i * array.rowBytes,
                      array.elements + rows[i] * array.rowBytes,
                      array.rowBytes);
  }
}
