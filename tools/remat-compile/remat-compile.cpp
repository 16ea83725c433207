//===- remat-compile.cpp - From a model to an object and a header ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options on the command line for `rematExport`, which does all of it.
//===----------------------------------------------------------------------===//

#include "remat-c/Export.h"
#include "remat-c/Version.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

static cl::OptionCategory category("Options");

static cl::opt<std::string> input(cl::Positional, cl::desc("<model>"),
                                  cl::init("-"), cl::cat(category));
static cl::opt<std::string>
    folder("o", cl::desc("Folder that the files are written to"),
           cl::value_desc("folder"), cl::Required, cl::cat(category));
static cl::opt<std::string>
    name("name",
         cl::desc("The beginning of all names (default: that of the file)"),
         cl::value_desc("identifier"), cl::cat(category));
static cl::opt<RematExportKind>
    kind(cl::desc("What the code is in:"),
         cl::values(clEnumValN(RematExportObject, "object",
                               "an object file (default)"),
                    clEnumValN(RematExportArchive, "archive", "an archive"),
                    clEnumValN(RematExportShared, "shared",
                               "a shared library, which `cc` links")),
         cl::init(RematExportObject), cl::cat(category));
static cl::opt<std::string>
    triple("triple",
           cl::desc("System, such as x86_64-linux-gnu (default: this "
                    "machine's)"),
           cl::cat(category));
static cl::opt<std::string> processor(
    "cpu",
    cl::desc("Processor, such as haswell (default: this machine's, or "
             "what all of the triple's kind can do)"),
    cl::cat(category));
static cl::opt<std::string>
    features("attr", cl::desc("Features of the processor, such as +avx2,-fma"),
             cl::cat(category));
static cl::opt<std::string> trainOptions(
    "remat-train",
    cl::desc("Options of the pipeline, such as policy=... or budget=500MiB"),
    cl::value_desc("options"), cl::cat(category));
static cl::opt<std::string>
    passes("passes", cl::desc("A pipeline on the model that runs first"),
           cl::cat(category));
static cl::opt<std::string>
    function("function",
             cl::desc("The loss (default: the only public function)"),
             cl::cat(category));
static cl::opt<std::string> optimizer(
    "optimizer",
    cl::desc("The update rule, such as '#opt.adamw<lr = 3.0e-4>', of a model "
             "without a remat.train_step"),
    cl::cat(category));
static cl::opt<std::string>
    attributes("train-attributes",
               cl::desc("Attributes of the remat.train_step that is added"),
               cl::cat(category));

static MlirStringRef toRef(llvm::StringRef text) {
  return {text.data(), text.size()};
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialized(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    MlirStringRef version = rematGetVersion();
    os << "remat " << llvm::StringRef(version.data, version.length) << "\n";
  });
  cl::ParseCommandLineOptions(
      argc, argv,
      "A training step as an object file and a header, see docs/ship.md\n");
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!file) {
    llvm::errs() << "error: " << input << ": " << file.getError().message()
                 << "\n";
    return 1;
  }
  RematStepOptions options = rematStepOptionsGetDefault();
  options.text = toRef((*file)->getBuffer());
  options.fileName = toRef(input);
  options.passes = toRef(passes);
  options.function = toRef(function);
  options.optimizer = toRef(optimizer);
  options.trainAttributes = toRef(attributes);
  options.trainOptions = toRef(trainOptions);
  if (name.empty())
    name = llvm::sys::path::stem(input).str();
  RematExportOptions request = rematExportOptionsGetDefault();
  request.folder = toRef(folder);
  request.name = toRef(name);
  request.kind = kind;
  request.triple = toRef(triple);
  request.processor = toRef(processor);
  request.features = toRef(features);
  auto print = [](const RematDiagnostic *diagnostic, void *) {
    if (diagnostic->severity == MlirDiagnosticError ||
        diagnostic->severity == MlirDiagnosticWarning)
      llvm::errs() << llvm::StringRef(diagnostic->text.data,
                                      diagnostic->text.length)
                   << "\n";
  };
  return mlirLogicalResultIsFailure(
      rematExport(&options, &request, print, nullptr));
}
