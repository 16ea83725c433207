//===- Import.cpp - Exported models ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only pass that knows what front ends do to a model; all others find
// parameters, state, data and loss where the project's own models have them.
//===----------------------------------------------------------------------===//

#include "Import.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Import/ForeignDialects.h"
#include "remat/Transforms/Import/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mlir::remat {
#define GEN_PASS_DEF_IMPORT
#include "remat/Transforms/Import/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Operations that only an exporter knows.
static LogicalResult checkDialects(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    StringRef advice =
        getForeignDialectAdvice(op->getName().getDialectNamespace());
    if (advice.empty())
      return WalkResult::advance();
    op->emitError() << "'" << op->getName() << "' belongs to an exporter; "
                    << advice;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static FailureOr<func::FuncOp> chooseFunction(ModuleOp module, StringRef option,
                                              const ExportSpec *spec) {
  StringRef name = !option.empty() ? option
                   : spec          ? StringRef(spec->function)
                                   : StringRef();
  func::FuncOp function;
  if (!name.empty()) {
    function = module.lookupSymbol<func::FuncOp>(name);
    if (!function)
      return emitError(module.getLoc()) << "there is no func.func @" << name;
  } else {
    for (auto candidate : module.getOps<func::FuncOp>()) {
      if (!candidate.isPublic() || candidate.isExternal())
        continue;
      if (function)
        return emitError(candidate.getLoc())
               << "@" << candidate.getName() << " and @" << function.getName()
               << " are both public; say which is the loss with function=";
      function = candidate;
    }
    if (!function)
      return emitError(module.getLoc())
             << "there is no public function with a body";
  }
  if (function.isExternal())
    return emitError(function.getLoc()) << "has no body";
  if (!function.getBody().hasOneBlock())
    return emitError(function.getLoc())
           << "has several blocks; run -lift-cf-to-scf first";
  return function;
}

static LogicalResult checkCounts(func::FuncOp function,
                                 const ExportSpec &spec) {
  auto check = [&](StringRef what, size_t said, size_t found) -> LogicalResult {
    if (said == 0 || said == found)
      return success();
    return emitError(function.getLoc())
           << "@" << function.getName() << " has " << found << " " << what
           << ", but " << spec.path << " lists " << said;
  };
  if (failed(check("arguments", spec.arguments.size(),
                   function.getNumArguments())))
    return failure();
  return check("results", spec.results.size(), function.getNumResults());
}

/// JAX's unsigned integers stay so in the signature, and are cast where the
/// body begins. Operations have the signs, types have none.
static LogicalResult dropSigns(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<ShapedType>(argument.getType());
    Type element = type ? type.getElementType() : argument.getType();
    if (!element.isSignedInteger() && !element.isUnsignedInteger())
      continue;
    Type signless = IntegerType::get(function.getContext(),
                                     element.getIntOrFloatBitWidth());
    if (type)
      signless = type.clone(signless);
    SmallVector<UnrealizedConversionCastOp> casts;
    for (Operation *user : argument.getUsers()) {
      auto cast = dyn_cast<UnrealizedConversionCastOp>(user);
      if (!cast || cast->getNumResults() != 1 ||
          cast.getResult(0).getType() != signless)
        return emitError(argument.getLoc())
               << "argument " << argument.getArgNumber() << " has type "
               << argument.getType() << ", and '" << user->getName()
               << "' reads it with its sign; cast it to " << signless
               << " first";
      casts.push_back(cast);
    }
    argument.setType(signless);
    for (UnrealizedConversionCastOp cast : casts) {
      cast.getResult(0).replaceAllUsesWith(argument);
      cast.erase();
    }
  }
  function.setType(FunctionType::get(function.getContext(),
                                     function.getBody().getArgumentTypes(),
                                     function.getResultTypes()));
  return success();
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  std::string role, name, type, from, why;
};
} // namespace

static StringRef nameOf(Role role) {
  StringRef names[] = {"parameter", "state", "data"};
  return names[static_cast<int>(role)];
}

template <typename T> static std::string print(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

static SmallVector<Row> getRows(func::FuncOp function,
                                const SignatureDecision &signature,
                                ArrayRef<ModelConstant> constants) {
  SmallVector<Row> rows;
  for (auto [index, argument] : llvm::enumerate(signature.arguments))
    rows.push_back({nameOf(argument.role).str(), argument.name,
                    print(function.getArgumentTypes()[index]),
                    "argument " + std::to_string(index), argument.why});
  for (const ModelConstant &constant : constants) {
    const Decision &decision = constant.decision;
    rows.push_back(
        {decision.role == Role::data ? "constant" : nameOf(decision.role).str(),
         decision.name, print(constant.value.getType()),
         constant.resource.empty() ? "constant" : "resource", decision.why});
  }
  for (unsigned i : llvm::seq(function.getNumResults()))
    rows.push_back({i == signature.loss             ? "loss"
                    : !signature.updates[i].empty() ? "new state"
                                                    : "output",
                    signature.updates[i].empty() ? signature.resultNames[i]
                                                 : signature.updates[i],
                    print(function.getResultTypes()[i]),
                    "result " + std::to_string(i), signature.resultReasons[i]});
  return rows;
}

static void printReport(func::FuncOp function, ArrayRef<Row> rows,
                        raw_ostream &os) {
  size_t name = 4, type = 4, from = 4;
  for (const Row &row : rows) {
    name = std::max(name, row.name.size());
    type = std::max(type, row.type.size());
    from = std::max(from, row.from.size());
  }
  os << "import of @" << function.getName() << "\n";
  for (const Row &row : rows) {
    std::string line;
    llvm::raw_string_ostream(line)
        << "  " << llvm::left_justify(row.role, 10)
        << llvm::left_justify(row.name, name + 2)
        << llvm::left_justify(row.type, type + 2)
        << llvm::left_justify(row.from, from + 2) << row.why;
    os << StringRef(line).rtrim() << "\n";
  }
}

//===----------------------------------------------------------------------===//
// Train step
//===----------------------------------------------------------------------===//

namespace {
struct ImportPass : public remat::impl::ImportBase<ImportPass> {
  using ImportBase::ImportBase;

  void runOnOperation() override {
    if (failed(import(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult import(ModuleOp module);
  LogicalResult checkTrainStep(ModuleOp module);
  void addTrainStep(func::FuncOp function);
  LogicalResult writeReport(func::FuncOp function, ArrayRef<Row> rows);

  Attribute rule;
};
} // namespace

LogicalResult ImportPass::checkTrainStep(ModuleOp module) {
  if (!mode.empty() && mode != "eager" && mode != "deferred")
    return emitError(module.getLoc(), "unknown mode=")
           << mode.getValue() << "; choose eager or deferred";
  if (optimizer.empty()) {
    if (!mode.empty())
      return emitError(module.getLoc(), "mode= is about the train step that "
                                        "optimizer= adds; give both");
    return success();
  }
  rule = parseAttribute(optimizer, module.getContext());
  if (!isa_and_nonnull<opt::UpdateRuleAttrInterface>(rule))
    return emitError(module.getLoc(), "optimizer=")
           << optimizer.getValue()
           << " is no update rule; write one as #opt.adamw<lr=1.0e-3>";
  for (TrainStepOp step : module.getOps<TrainStepOp>())
    return step.emitError("optimizer= adds a train step, but the module has "
                          "this one already");
  for (StringRef name : {"step", "optimizer"})
    if (Operation *op = module.lookupSymbol(name))
      return op->emitError() << "optimizer= adds a train step with the name @"
                             << name << ", which is taken; rename this";
  return success();
}

void ImportPass::addTrainStep(func::FuncOp function) {
  OpBuilder builder(function);
  Location loc = function.getLoc();
  OperationState optimizerOp(loc, opt::OptimizerOp::getOperationName());
  optimizerOp.addAttribute("sym_name", builder.getStringAttr("optimizer"));
  optimizerOp.addAttribute("rule", rule);
  builder.create(optimizerOp);
  OperationState stepOp(loc, TrainStepOp::getOperationName());
  MLIRContext *context = builder.getContext();
  stepOp.addAttribute("step", FlatSymbolRefAttr::get(context, "step"));
  stepOp.addAttribute("loss", FlatSymbolRefAttr::get(function));
  stepOp.addAttribute("optimizer",
                      FlatSymbolRefAttr::get(context, "optimizer"));
  if (!mode.empty())
    stepOp.addAttribute(mode, builder.getUnitAttr());
  builder.create(stepOp);
}

LogicalResult ImportPass::writeReport(func::FuncOp function,
                                      ArrayRef<Row> rows) {
  if (report == "-") {
    printReport(function, rows, llvm::errs());
    return success();
  }
  std::string message;
  auto file = openOutputFile(report, &message);
  if (!file)
    return emitError(function.getLoc(), "import report: ") << message;
  printReport(function, rows, file->os());
  file->keep();
  return success();
}

LogicalResult ImportPass::import(ModuleOp module) {
  if (failed(checkDialects(module)) || failed(checkTrainStep(module)))
    return failure();
  std::optional<ExportSpec> read;
  if (!spec.empty()) {
    FailureOr<ExportSpec> result = ExportSpec::read(spec, module.getLoc());
    if (failed(result))
      return failure();
    read = *result;
  }
  const ExportSpec *description = read ? &*read : nullptr;
  FailureOr<func::FuncOp> function =
      chooseFunction(module, this->function, description);
  if (failed(function) ||
      (description && failed(checkCounts(*function, *description))))
    return failure();
  if (failed(dropSigns(*function)) || failed(threadGlobals(module)))
    return failure();

  SmallVector<std::string> paramNames(params.begin(), params.end()),
      dataNames(data.begin(), data.end()),
      stateNames(state.begin(), state.end());
  for (const std::string &name : paramNames)
    if (llvm::is_contained(dataNames, name))
      return emitError(function->getLoc())
             << "params= and data= both name '" << name << "'; it is one";
  ImportRules rules{paramNames, dataNames, stateNames, minRank, minElements};
  FailureOr<SmallVector<ModelConstant>> constants =
      decideConstants(*function, description, rules);
  if (failed(constants))
    return failure();
  FailureOr<SignatureDecision> signature =
      decideSignature(*function, description, rules, *constants);
  if (failed(signature))
    return failure();

  SmallVector<Row> rows = getRows(*function, *signature, *constants);
  applySignature(*function, *signature);
  hoistConstants(*function, *constants);
  raiseExpandedFunctions(*function);
  if (rule)
    addTrainStep(*function);
  return report.empty() ? success() : writeReport(*function, rows);
}
