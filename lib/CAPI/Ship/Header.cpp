//===- Header.cpp - The header of a shipped object ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Texts.h"

#include "remat-c/Version.h"

#include "mlir/CAPI/Support.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::remat;

static StringRef getCType(::remat::DType type) {
  using ::remat::DType;
  switch (type) {
  case DType::i1:
  case DType::u8:
    return "uint8_t";
  case DType::i8:
    return "int8_t";
  case DType::i16:
    return "int16_t";
  case DType::i32:
    return "int32_t";
  case DType::i64:
    return "int64_t";
  case DType::f16:
  case DType::bf16:
    return "uint16_t";
  case DType::f32:
    return "float";
  case DType::f64:
    return "double";
  }
  llvm_unreachable("a type that is not listed");
}

namespace {
class HeaderPrinter {
public:
  HeaderPrinter(const ShipLayout &layout, raw_ostream &os)
      : layout(layout), os(os), name(layout.name), macro(layout.macro) {}

  void print(StringRef origin, StringRef target) {
    os << "/* " << name << ".h - A training step";
    if (!origin.empty())
      os << " of " << inComment(origin);
    os << ", for " << target << ".\n * Written by remat "
       << unwrap(rematGetVersion())
       << "; the manual is docs/ship.md there.\n *\n"
       << " * Everything is in memory of the caller's, and nothing else is "
          "changed. States\n * may be trained side by side, each by one thread "
          "at a time. */\n#ifndef "
       << macro << "_H\n#define " << macro << "_H\n\n"
       << "#include <stddef.h>\n#include <stdint.h>\n\n#ifdef "
          "__cplusplus\nextern \"C\" {\n#endif\n\n";
    printSizes();
    printCodes();
    printState();
    printStruct("batch", "What a step reads: arrays, row by row.",
                layout.batch);
    printStruct("results",
                "What a step returns: scalars, and arrays of the caller's.",
                layout.results);
    if (layout.hasEvaluation) {
      printStruct("eval_batch", "What an evaluation reads.", layout.evalBatch);
      printStruct("eval_results", "What an evaluation returns.",
                  layout.evalResults);
    }
    printFunctions();
    os << "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << macro << "_H */\n";
  }

private:
  /// A text that ends no comment.
  static std::string inComment(StringRef text) {
    std::string result;
    for (char c : text) {
      bool endsComment = c == '/' && !result.empty() && result.back() == '*';
      result += endsComment || c == '\n' ? ' ' : c;
    }
    return result;
  }

  void define(StringRef what, int64_t value) {
    os << "#define " << macro << "_" << what << " " << value << "\n";
  }

  void printSizes() {
    os << "/* Bytes of the state and of the arena, and what both are aligned "
          "to. A step needs\n * the arena while it runs; it may be anything "
          "between steps, and several states\n * may share one. */\n";
    define("STATE_BYTES", layout.stateBytes);
    define("ARENA_BYTES", layout.arenaBytes);
    define("ALIGNMENT", ::remat::kShipAlignment);
    os << "/* And of the arena for each thread but the first, see " << name
       << "_set_parallel_for. */\n";
    define("THREAD_BYTES", layout.threadBytes);
    os << "/* State, arena, batch and results. */\n";
    define("PEAK_BYTES", layout.getPeakBytes());
  }

  void printCodes() {
    os << "\n/* What functions return. */\nenum {\n";
    int number = 0;
    auto print = [&](StringRef code, StringRef text) {
      os << "  " << macro << "_" << code << " = " << number++ << ", /* " << text
         << " */\n";
    };
#define X(NAME, TEXT) print(#NAME, TEXT);
    REMAT_SHIP_CODES(X)
#undef X
    os << "};\n";
  }

  void printShape(const ::remat::ArrayType &type) {
    for (int64_t size : type.shape)
      os << "[" << size << "]";
  }

  void printState() {
    os << "\n/* Runs task(data, i) for each i of 0 .. count - 1, in any order "
          "and on any\n * threads, and returns when all have ended. */\n"
       << "typedef void (*" << name
       << "_parallel_for)(void *pool, int64_t count, void (*task)(void *data, "
          "int64_t i),\n    void *data);\n\n"
       << "/* How a state begins. */\ntypedef struct " << name
       << "_state {\n  uint64_t magic;\n  uint32_t version, flags;\n"
       << "  uint64_t model;\n"
       << "  int64_t step; /* of the next step, from 0: schedules depend on it "
          "*/\n"
       << "  int64_t seed; /* see " << name << "_set_seed */\n"
       << "  const char *message; /* after " << macro
       << "_FAILED; no 0 ends it */\n  int64_t message_bytes;\n  " << name
       << "_parallel_for parallel_for;\n  void *pool;\n  int64_t threads;\n";
    if (!layout.rates.empty()) {
      os << "  double learning_rate[" << layout.rates.size() << "]; /* "
         << (layout.hasSchedules ? "a NaN: as the model says"
                                 : "a NaN: to be set")
         << "; of ";
      llvm::interleaveComma(layout.rates, os, [&](const std::string &rate) {
        os << inComment(rate);
      });
      os << " */\n";
    }
    os << "} " << name << "_state;\n\n"
       << "/* Where parameters and states are, in bytes from its start. */\n";
    for (const ShipField &field : layout.state) {
      const ::remat::TrainArgument &argument = layout.get(field);
      os << "#define " << macro << "_OFFSET_" << field.name << " " << field.at
         << " /* " << nameOf(argument.role) << " " << inComment(argument.name)
         << ": " << nameOf(argument.type.dtype);
      printShape(argument.type);
      os << " */\n";
    }
  }

  void printStruct(StringRef what, StringRef text, ArrayRef<ShipField> fields) {
    os << "\n/* " << text << " */\ntypedef struct " << name << "_" << what
       << " {\n";
    if (fields.empty())
      os << "  const void *unused;\n";
    for (const ShipField &field : fields) {
      const ::remat::TrainArgument &argument = layout.get(field);
      bool isRead = argument.role == ::remat::Role::data ||
                    argument.role == ::remat::Role::evalData;
      os << "  " << (isRead ? "const " : "") << getCType(argument.type.dtype)
         << (field.isPointer ? " *" : " ") << field.name << "; /* "
         << nameOf(argument.type.dtype);
      printShape(argument.type);
      os << " */\n";
    }
    os << "} " << name << "_" << what << ";\n";
  }

  void printFunctions() {
    std::string state = name + "_state *state";
    os << "\n/* Makes a state of " << macro
       << "_STATE_BYTES bytes. It has no values before " << name
       << "_load. */\nint32_t " << name << "_init(" << state << ");\n\n"
       << "/* Reads a file as it is written by " << name
       << "_save, by `step.save` in Python, or beside this\n * header. `read` "
          "returns 0 if it has got all bytes. After "
       << macro
       << "_TRUNCATED, the state\n * has to be loaded again. */\nint32_t "
       << name << "_load(" << state
       << ", int (*read)(void *stream, void *data, size_t bytes), void "
          "*stream);\n"
       << "int32_t " << name << "_save(const " << state
       << ", int (*write)(void *stream, const void *data, size_t bytes),\n"
          "    void *stream);\n\n"
       << "/* Trains on a batch, or changes nothing but the state's message if "
          "it fails; unless an\n * assertion about the state itself fails, "
          "after which the code is "
       << macro << "_DAMAGED. */\n"
       << "int32_t " << name << "_step(" << state << ", void *arena, const "
       << name << "_batch *batch, " << name << "_results *results);\n";
    if (layout.hasEvaluation)
      os << "/* Evaluates a batch, and changes neither parameters nor "
            "states. */\n"
         << "int32_t " << name << "_eval(" << state << ", void *arena, const "
         << name << "_eval_batch *batch,\n    " << name
         << "_eval_results *results);\n";
    os << "\n/* Begins random streams anew. */\nint32_t " << name
       << "_set_seed(" << state << ", int64_t seed);\n\n"
       << "/* Makes steps of this state use `threads` threads at most: `count` "
          "of calls is not more.\n * Results do not depend on it. The arena "
          "has (threads - 1) * "
       << macro << "_THREAD_BYTES more\n * bytes then. */\nint32_t " << name
       << "_set_parallel_for(" << state << ", " << name
       << "_parallel_for parallel_for,\n    void *pool, int64_t threads);\n\n"
       << "/* A number that depends on every bit that " << name
       << "_save writes after the header of the file. */\nuint64_t " << name
       << "_digest(const " << state << ");\n\n";
  }

  const ShipLayout &layout;
  raw_ostream &os;
  const std::string &name, &macro;
};
} // namespace

std::string mlir::remat::printHeader(const ShipLayout &layout, StringRef origin,
                                     StringRef target) {
  std::string text;
  llvm::raw_string_ostream os(text);
  HeaderPrinter(layout, os).print(origin, target);
  return text;
}
