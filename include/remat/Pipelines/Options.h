//===- Options.h - Values of options that can be refused --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's parsers print what is wrong with a value to the standard error, which
// is right for a tool. A library has to hand it to its caller.
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_OPTIONS_H
#define REMAT_PIPELINES_OPTIONS_H

#include "mlir/Pass/PassOptions.h"

namespace mlir::remat {

/// While it lives, errors of the options below, on this thread, go to its
/// stream rather than to the standard error.
class OptionErrors {
public:
  explicit OptionErrors(raw_ostream &os);
  ~OptionErrors();
  OptionErrors(const OptionErrors &) = delete;
  OptionErrors &operator=(const OptionErrors &) = delete;

private:
  raw_ostream *previous;
};

/// Returns true, as parsers do then.
bool reportOptionError(llvm::cl::Option &option, const Twine &message);

/// Each returns true, after an error, if `text` is no such value.
bool parseValue(llvm::cl::Option &option, StringRef text, bool &value);
bool parseValue(llvm::cl::Option &option, StringRef text, int64_t &value);
bool parseValue(llvm::cl::Option &option, StringRef text, uint64_t &value);

/// An option of one of these types; LLVM's parsers of them are final.
template <typename T>
class CheckedOption : public mlir::detail::PassOptions::Option<T> {
  using Base = mlir::detail::PassOptions::Option<T>;

public:
  using Base::Base;
  using Base::operator=;

private:
  bool handleOccurrence(unsigned position, StringRef name,
                        StringRef text) override {
    T value;
    if (parseValue(*this, text, value))
      return true;
    *this = value;
    this->setPosition(position);
    return false;
  }

  /// A value that is missing is an error of `parseValue`.
  llvm::cl::ValueExpected getValueExpectedFlagDefault() const override {
    return llvm::cl::ValueOptional;
  }
};

} // namespace mlir::remat

#endif // REMAT_PIPELINES_OPTIONS_H
