//===- Options.cpp - Values of options that can be refused ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Pipelines/Options.h"

#include "llvm/ADT/StringSwitch.h"

#include <utility>

using namespace mlir;
using namespace mlir::remat;

static thread_local raw_ostream *errors = nullptr;

OptionErrors::OptionErrors(raw_ostream &os)
    : previous(std::exchange(errors, &os)) {}

OptionErrors::~OptionErrors() { errors = previous; }

bool remat::reportOptionError(llvm::cl::Option &option, const Twine &message) {
  if (!errors)
    return option.error(message);
  *errors << option.ArgStr << ": " << message << "\n";
  return true;
}

bool remat::parseValue(llvm::cl::Option &option, StringRef text, bool &value) {
  auto known = llvm::StringSwitch<std::optional<bool>>(text)
                   .Cases({"", "1", "true", "True", "TRUE"}, true)
                   .Cases({"0", "false", "False", "FALSE"}, false)
                   .Default(std::nullopt);
  value = known.value_or(false);
  return !known && reportOptionError(
                       option, "expects true or false, but got '" + text + "'");
}

template <typename T>
static bool parseNumber(llvm::cl::Option &option, StringRef text, T &value) {
  return text.getAsInteger(0, value) &&
         reportOptionError(option,
                           "expects a number" +
                               (std::is_signed_v<T> ? Twine() : " from 0 on") +
                               ", but got '" + text + "'");
}

bool remat::parseValue(llvm::cl::Option &option, StringRef text,
                       int64_t &value) {
  return parseNumber(option, text, value);
}

bool remat::parseValue(llvm::cl::Option &option, StringRef text,
                       uint64_t &value) {
  return parseNumber(option, text, value);
}
