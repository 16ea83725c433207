//===- Target.cpp - The targets that are known ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Pipelines/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <map>

using namespace mlir;
using namespace mlir::remat;

Target::~Target() = default;

/// By name, so that messages list them in one order.
static std::map<std::string, std::unique_ptr<Target>> &getTargets() {
  static std::map<std::string, std::unique_ptr<Target>> targets;
  return targets;
}

void remat::registerTarget(std::unique_ptr<Target> target) {
  std::string name = target->getName().str();
  getTargets()[name] = std::move(target);
}

const Target *remat::lookupTarget(StringRef name) {
  auto found = getTargets().find(name.str());
  return found == getTargets().end() ? nullptr : found->second.get();
}

static std::string describeUnknown(StringRef name) {
  return ("unknown target '" + name + "'; choose " +
          llvm::join(llvm::make_first_range(getTargets()), " or "))
      .str();
}

bool TargetParser::parse(llvm::cl::Option &option, StringRef name,
                         StringRef value, std::string &target) {
  if (!lookupTarget(value))
    return reportOptionError(option, describeUnknown(value));
  target = value.str();
  return false;
}

const Target &TargetOptions::getTarget() const {
  if (const Target *found = lookupTarget(target))
    return *found;
  // The command line has been checked; this is a program that calls us.
  llvm::reportFatalUsageError(Twine(describeUnknown(target.getValue())));
}
