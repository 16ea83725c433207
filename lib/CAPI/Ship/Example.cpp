//===- Example.cpp - A program for a shipped object -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What users begin with, and the test that an object computes on their machine
// what it did where it was made.
//===----------------------------------------------------------------------===//

#include "Texts.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::remat;

/// Replaces @ by the name of functions, and $ before an underscore by that of
/// macros.
static std::string fill(StringRef text, const ShipLayout &layout) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '@')
      result += layout.name;
    else if (text.substr(i).starts_with("$_"))
      result += layout.macro;
    else
      result += text[i];
  return result;
}

std::string mlir::remat::printExample(const ShipLayout &layout,
                                      ArrayRef<ShipTensor> test,
                                      ArrayRef<double> rates) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::StringMap<int64_t> offsets;
  int64_t end = 0;
  for (const ShipTensor &tensor : test) {
    offsets[tensor.name] = end;
    end += tensor.type.numBytes();
  }
  os << R"(/* Trains three steps from @.safetensors on the batch in @_test.safetensors, and compares them
 * with what is there. */
#include "@.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_file(void *file, void *data, size_t bytes) {
  return fread(data, 1, bytes, file) != bytes;
}

int main(void) {
  @_state *state = aligned_alloc($_ALIGNMENT, $_STATE_BYTES);
  void *arena = aligned_alloc($_ALIGNMENT, $_ARENA_BYTES);
  unsigned char length[8], *test = malloc()"
     << end << R"();
  uint64_t header = 0, digest;
  FILE *values = fopen("@.safetensors", "rb"), *file = fopen("@_test.safetensors", "rb");
  if (!state || !arena || !test || !values || !file || read_file(file, length, 8)) {
    fprintf(stderr, "no memory, or no files\n");
    return 2;
  }
  for (int i = 0; i < 8; ++i)
    header |= (uint64_t)length[i] << 8 * i;
  if (fseek(file, (long)(8 + header), SEEK_SET) || read_file(file, test, )"
     << end << R"() || @_init(state) ||
      @_load(state, read_file, values)) {
    fprintf(stderr, "the files are of another model\n");
    return 2;
  }

  @_batch batch;
  @_results results;
)";
  if (layout.batch.empty())
    os << "  batch.unused = NULL;\n";
  for (const ShipField &field : layout.batch)
    os << "  batch." << field.name << " = (const void *)(test + "
       << offsets.lookup((kTestBatch + layout.get(field).name).str()) << ");\n";
  for (const ShipField &field : layout.results)
    if (field.isPointer)
      os << "  if (!(results." << field.name << " = malloc("
         << std::max<size_t>(1, layout.get(field).type.numBytes())
         << ")))\n    return 2;\n";
  for (auto [index, rate] : llvm::enumerate(rates))
    os << "  state->learning_rate[" << index
       << "] = " << llvm::format("%.17g", rate) << ";\n";
  const ShipField *loss = nullptr;
  for (auto [field, output] :
       llvm::zip_equal(layout.results, layout.description.outputs))
    if (output.second == "loss")
      loss = &field;
  os << "  int wrong = 0;\n  for (int i = 0; i < " << kTestSteps
     << "; ++i) {\n"
        "    int32_t code = @_step(state, arena, &batch, &results);\n"
        "    if (code) {\n"
        "      fprintf(stderr, \"step %d: code %d\\n\", i, (int)code);\n"
        "      return 2;\n    }\n";
  using ::remat::DType;
  DType type = layout.get(*loss).type.dtype;
  bool isWide = type == DType::f32 || type == DType::f64;
  os << "    printf(\"step %d: loss " << (isWide ? "%.9g" : "0x%04x")
     << "\\n\", i, " << (isWide ? "(double)" : "(unsigned)") << "results."
     << loss->name << ");\n    wrong |= memcmp(&results." << loss->name
     << ", test + " << offsets.lookup(kTestLosses) << " + i * "
     << byteWidth(type) << ", " << byteWidth(type)
     << ");\n  }\n  memcpy(&digest, test + " << offsets.lookup(kTestDigest)
     << R"(, 8);
  wrong |= @_digest(state) != digest;
  printf("%s\n", wrong ? "other numbers than in the test" : "the same bits as in the test");
  return wrong != 0;
}
)";
  return fill(text, layout);
}

std::string mlir::remat::printMakefile(const ShipLayout &layout,
                                       StringRef library, StringRef compiler) {
  bool isShared = library.ends_with(".so");
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "# Builds the example: make && ./example\n"
        "CC = "
     << compiler << "\nCFLAGS = -std=c11 -O2 -Wall -Wextra\n\n"
     << "example: example.c @.h " << library << "\n\t$(CC) $(CFLAGS) -o "
     << "example example.c "
     << (isShared ? "-L. -l@ -Wl,-rpath,'$$ORIGIN'" : library) << " -lm\n";
  return fill(text, layout);
}

std::string mlir::remat::printCMakeLists(const ShipLayout &layout,
                                         StringRef library) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "# As a folder of another project (add_subdirectory), this is the "
        "library @.\n"
        "cmake_minimum_required(VERSION 3.16)\nproject(@ LANGUAGES C)\n"
        "add_library(@ INTERFACE)\n"
        "target_include_directories(@ INTERFACE "
        "${CMAKE_CURRENT_SOURCE_DIR})\n"
        "target_link_libraries(@ INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/"
     << library
     << " m)\n"
        "if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)\n"
        "  add_executable(example example.c)\n"
        "  set_target_properties(example PROPERTIES C_STANDARD 11)\n"
        "  target_link_libraries(example PRIVATE @)\nendif()\n";
  return fill(text, layout);
}
