//===- Dialects.cpp - What programs can choose from -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat-c/Dialects.h"

#include "remat/Dialect/Opt/IR/Descriptions.h"
#include "remat/Dialect/Remat/IR/Policies.h"

#include "mlir/CAPI/Support.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using opt::Hyperparameter;

static StringRef getName(Hyperparameter::Kind kind) {
  switch (kind) {
  case Hyperparameter::Kind::Real:
    return "real";
  case Hyperparameter::Kind::Flag:
    return "flag";
  case Hyperparameter::Kind::Count:
    return "count";
  case Hyperparameter::Kind::LearningRate:
    return "learning_rate";
  case Hyperparameter::Kind::Choice:
    return "choice";
  }
  llvm_unreachable("all kinds are above");
}

static StringRef getName(remat::PolicyDescription::Parameters parameters) {
  switch (parameters) {
  case remat::PolicyDescription::Parameters::None:
    return "none";
  case remat::PolicyDescription::Parameters::Names:
    return "names";
  case remat::PolicyDescription::Parameters::Other:
    return "other";
  }
  llvm_unreachable("all are above");
}

static llvm::json::Value getDefault(const Hyperparameter &parameter) {
  switch (parameter.kind) {
  case Hyperparameter::Kind::Flag:
    return parameter.defaultValue != 0;
  case Hyperparameter::Kind::Count:
    return static_cast<int64_t>(parameter.defaultValue);
  case Hyperparameter::Kind::Real:
  case Hyperparameter::Kind::LearningRate:
    return parameter.defaultValue;
  case Hyperparameter::Kind::Choice:
    return parameter.choices[static_cast<size_t>(parameter.defaultValue)];
  }
  llvm_unreachable("all kinds are above");
}

static llvm::json::Value convert(opt::HyperparameterTable table) {
  llvm::json::Array list;
  for (const Hyperparameter &parameter : table) {
    llvm::json::Object object{{"name", parameter.name},
                              {"kind", getName(parameter.kind)}};
    if (!parameter.isRequired())
      object["default"] = getDefault(parameter);
    if (parameter.kind == Hyperparameter::Kind::Choice)
      object["choices"] = llvm::json::Array(parameter.choices);
    list.push_back(std::move(object));
  }
  return list;
}

void rematDescribeDialects(MlirStringCallback result, void *userData) {
  llvm::json::Array policies, rules, schedules;
  for (const remat::PolicyDescription &policy : remat::describePolicies())
    policies.push_back(
        llvm::json::Object{{"mnemonic", policy.mnemonic},
                           {"parameters", getName(policy.parameters)}});
  for (const opt::TableDescription &found : opt::describeTables())
    (found.isRule ? rules : schedules)
        .push_back(
            llvm::json::Object{{"class", found.className},
                               {"mnemonic", found.mnemonic},
                               {"hyperparameters", convert(found.table)}});
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Object{{"policies", std::move(policies)},
                         {"rules", std::move(rules)},
                         {"schedules", std::move(schedules)}});
  result(wrap(StringRef(text)), userData);
}
