//===- Signature.cpp - Roles of arguments and results ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Import.h"

#include "remat/Analysis/Activity.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::remat;
using opt::OptDialect;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef remat::getNameOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getNameOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getNameOf(part); !name.empty())
        return name;
  return {};
}

/// `params['layer_0']['kernel']` -> `layer_0.kernel`; its tree is `params`.
/// Names without a path stay, with an empty tree.
static std::pair<std::string, StringRef> splitTreePath(StringRef path) {
  size_t end = path.find_first_of("[.");
  if (end == StringRef::npos || end == 0)
    return {path.str(), ""};
  std::string name;
  bool isStart = true;
  for (char c : path.drop_front(end)) {
    if (c == '\'' || c == '"' || c == ']')
      continue;
    if (c != '[' && c != '.') {
      name += c;
    } else if (!isStart) {
      name += '.';
    }
    isStart = false;
  }
  return {name, path.take_front(end)};
}

/// Returns true if `pattern` is `name`. [, ] and { } are part of names, so only
/// * and ? have a meaning.
static bool matchesName(StringRef pattern, StringRef name) {
  std::string escaped;
  for (char c : pattern) {
    if (StringRef("[]{}\\!^").contains(c))
      escaped += '\\';
    escaped += c;
  }
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(escaped);
  if (!glob) {
    llvm::consumeError(glob.takeError());
    return pattern == name;
  }
  return glob->match(name);
}

bool remat::matchesAny(ArrayRef<std::string> patterns, StringRef name) {
  return llvm::any_of(
      patterns, [&](StringRef pattern) { return matchesName(pattern, name); });
}

/// "'a', 'b' and 3 more".
static std::string listNames(ArrayRef<std::string> names) {
  constexpr size_t shown = 8;
  std::string text;
  for (auto [index, name] : llvm::enumerate(names.take_front(shown)))
    text += (index ? ", '" : "'") + name + "'";
  if (names.size() > shown)
    text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool isFloatTensor(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

bool remat::isChosenParameter(const ImportRules &rules, StringRef name,
                              Type type) {
  return llvm::is_contained(rules.params, name) ||
         (isFloatTensor(type) && matchesAny(rules.params, name));
}

static bool isFloatScalar(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return isFloatTensor(type) &&
         (!shaped || (shaped.hasRank() && shaped.getRank() == 0));
}

/// The results that an argument reaches.
static SmallVector<unsigned> getReachedResults(func::FuncOp function,
                                               unsigned argument) {
  DenseSet<Value> dependents =
      findDependents(function.front(), {function.getArgument(argument)});
  SmallVector<unsigned> reached;
  for (OpOperand &operand :
       function.getBody().front().getTerminator()->getOpOperands())
    if (dependents.contains(operand.get()))
      reached.push_back(operand.getOperandNumber());
  return reached;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Names and paths; without a description, the location's.
static void nameArguments(func::FuncOp function, const ExportSpec *spec,
                          MutableArrayRef<Decision> decisions,
                          SmallVectorImpl<StringRef> &trees) {
  llvm::StringSet<> names;
  for (auto [index, decision] : llvm::enumerate(decisions)) {
    trees.emplace_back();
    if (spec && index < spec->arguments.size()) {
      decision.name = spec->arguments[index].name;
    } else {
      StringRef path = getNameOf(function.getArgument(index).getLoc());
      std::tie(decision.name, trees.back()) = splitTreePath(path);
    }
    for (StringRef key :
         {OptDialect::getParamAttrName(), RematDialect::getStateAttrName(),
          RematDialect::getDataAttrName()})
      if (auto name = function.getArgAttrOfType<StringAttr>(index, key))
        decision.name = name.str();
    // The description's names are all different where that matters.
    bool isSettled = spec && index < spec->arguments.size();
    bool isNew = names.insert(decision.name).second;
    if (decision.name.empty() || (!isNew && !isSettled)) {
      decision.name = "arg" + std::to_string(index);
      names.insert(decision.name);
    }
  }
}

/// Applies the marks of the function itself.
static bool applyMarks(func::FuncOp function, unsigned index,
                       Decision &decision) {
  auto has = [&](StringRef key) {
    return static_cast<bool>(function.getArgAttr(index, key));
  };
  bool isMarked = true;
  if (has(OptDialect::getParamAttrName()))
    decision.role = Role::parameter;
  else if (has(RematDialect::getStateAttrName()))
    decision.role = Role::state;
  else
    isMarked = has(RematDialect::getDataAttrName());
  if (isMarked)
    decision.why = has(RematDialect::getInitAttrName()) ? "a global variable"
                                                        : "marked in the file";
  return isMarked;
}

static LogicalResult decideArguments(func::FuncOp function,
                                     const ExportSpec *spec,
                                     const ImportRules &rules,
                                     bool constantsAreWeights,
                                     MutableArrayRef<Decision> decisions) {
  SmallVector<StringRef> trees;
  nameArguments(function, spec, decisions, trees);
  bool hasParamsTree = llvm::is_contained(trees, "params");
  for (auto [index, decision] : llvm::enumerate(decisions)) {
    Type type = function.getArgumentTypes()[index];
    Location loc = function.getArgument(index).getLoc();
    if (matchesAny(rules.data, decision.name)) {
      decision.why = "data=";
    } else if (isChosenParameter(rules, decision.name, type)) {
      decision.role = Role::parameter;
      decision.why = "params=";
    } else if (spec && index < spec->arguments.size()) {
      const SpecEntry &entry = spec->arguments[index];
      if (failed(
              checkEntry(*spec, entry, type, loc, "argument " + Twine(index))))
        return failure();
      decision.role = entry.role == "parameter" ? Role::parameter
                      : entry.role == "buffer"  ? Role::state
                                                : Role::data;
      decision.why = spec->quote(entry);
    } else if (applyMarks(function, index, decision)) {
    } else if (!isFloatTensor(type)) {
      decision.why = "no floating-point numbers";
    } else if (!trees[index].empty() &&
               (!hasParamsTree || trees[index] == "params")) {
      decision.role = Role::parameter;
      decision.why = "in the tree " + trees[index].str();
    } else {
      decision.why = constantsAreWeights
                         ? "the weights are constants"
                         : "nothing says that it is a parameter";
    }
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (decision.role == Role::parameter && !(tensor && isFloatTensor(type)))
      return emitError(loc)
             << "argument " << index << " ('" << decision.name
             << "') is a parameter (" << decision.why << "), but has type "
             << type << "; parameters are tensors of floating-point numbers";
  }
  return success();
}

/// Every pattern of an option has to be the name of something.
static LogicalResult checkPatterns(func::FuncOp function, StringRef option,
                                   ArrayRef<std::string> patterns,
                                   ArrayRef<ModelConstant> constants,
                                   ArrayRef<Decision> arguments) {
  SmallVector<std::string> names;
  for (const Decision &argument : arguments)
    names.push_back(argument.name);
  for (const ModelConstant &constant : constants)
    names.push_back(constant.decision.name);
  for (const std::string &pattern : patterns)
    if (llvm::none_of(
            names, [&](StringRef name) { return matchesName(pattern, name); }))
      return emitError(function.getLoc())
             << option << "=" << pattern
             << ": no argument and no constant is called so; there are "
             << listNames(names);
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static FailureOr<unsigned> findLoss(func::FuncOp function,
                                    const ExportSpec *spec) {
  std::optional<unsigned> loss;
  unsigned count = function.getNumResults();
  for (unsigned i : llvm::seq(count))
    if (function.getResultAttr(i, RematDialect::getLossAttrName()))
      loss = i;
  for (unsigned i = 0; spec && i < spec->results.size(); ++i)
    if (spec->results[i].role == "loss")
      loss = i;
  for (unsigned i = 0; !loss && i < count; ++i)
    if (isFloatScalar(function.getResultTypes()[i]))
      loss = i;
  Operation *terminator = function.getBody().front().getTerminator();
  if (!loss)
    return emitError(terminator->getLoc())
           << "no result of @" << function.getName()
           << " is a floating-point scalar such as tensor<f32>, so there is no "
              "loss; export one";
  Type type = function.getResultTypes()[*loss];
  if (!isFloatScalar(type))
    return emitError(terminator->getLoc())
           << "result " << *loss << " is the loss, but has type " << type
           << "; a loss is a floating-point scalar such as tensor<f32> (take "
              "the mean in the model)";
  return *loss;
}

/// `name:result`, where the name is an argument's.
static LogicalResult applyStateOptions(func::FuncOp function,
                                       const ImportRules &rules,
                                       SignatureDecision &decision) {
  for (StringRef option : rules.state) {
    StringRef name, number;
    std::tie(name, number) = option.rsplit(':');
    unsigned result;
    if (number.getAsInteger(10, result) || result >= function.getNumResults())
      return emitError(function.getLoc())
             << "state=" << option << ": expects name:result, where result is "
             << "less than " << function.getNumResults();
    auto *it = llvm::find_if(decision.arguments, [&](const Decision &argument) {
      return argument.name == name;
    });
    if (it == decision.arguments.end()) {
      SmallVector<std::string> names;
      for (const Decision &argument : decision.arguments)
        names.push_back(argument.name);
      return emitError(function.getLoc())
             << "state=" << option << ": no argument is called '" << name
             << "'; there are " << listNames(names);
    }
    it->role = Role::state;
    it->why = "state=";
    decision.updates[result] = name.str();
    decision.resultReasons[result] = "state=";
  }
  return success();
}

static LogicalResult applyResultSpec(func::FuncOp function,
                                     const ExportSpec &spec,
                                     ArrayRef<ModelConstant> constants,
                                     SignatureDecision &decision) {
  llvm::StringSet<> states;
  for (const Decision &argument : decision.arguments)
    states.insert(argument.name);
  for (const ModelConstant &constant : constants)
    if (constant.decision.role == Role::state)
      states.insert(constant.decision.name);
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, entry] : llvm::enumerate(spec.results)) {
    if (failed(checkEntry(spec, entry, function.getResultTypes()[index],
                          terminator->getLoc(), "result " + Twine(index))))
      return failure();
    decision.resultNames[index] = entry.name;
    decision.resultReasons[index] = spec.quote(entry);
    // A buffer may be a constant that cannot be told from others: an output.
    if (entry.role == "buffer_update" && states.contains(entry.name) &&
        decision.updates[index].empty())
      decision.updates[index] = entry.name;
  }
  return success();
}

/// An argument that reaches one result only, of its type, is a state of which
/// that result is the next value: running statistics.
static void inferStates(func::FuncOp function, SignatureDecision &decision) {
  SmallVector<SmallVector<unsigned>> sources(function.getNumResults());
  for (auto [index, argument] : llvm::enumerate(decision.arguments)) {
    Type type = function.getArgumentTypes()[index];
    if (argument.role != Role::data || argument.why == "data=" ||
        argument.why == "marked in the file" || !isa<RankedTensorType>(type))
      continue;
    SmallVector<unsigned> reached = getReachedResults(function, index);
    if (reached.size() == 1 && reached[0] != decision.loss &&
        function.getResultTypes()[reached[0]] == type)
      sources[reached[0]].push_back(index);
  }
  for (auto [result, arguments] : llvm::enumerate(sources)) {
    if (arguments.size() != 1 || !decision.updates[result].empty())
      continue;
    Decision &argument = decision.arguments[arguments[0]];
    argument.role = Role::state;
    argument.why = "reaches only the result " + std::to_string(result);
    decision.updates[result] = argument.name;
    decision.resultReasons[result] = "only " + argument.name + " leads here";
  }
}

/// The next value of a state has the state's type.
static LogicalResult checkUpdates(func::FuncOp function,
                                  const SignatureDecision &decision,
                                  ArrayRef<ModelConstant> constants) {
  llvm::StringMap<Type> types;
  for (auto [index, argument] : llvm::enumerate(decision.arguments)) {
    Type &type = types[argument.name];
    if (!type || argument.role == Role::state)
      type = function.getArgumentTypes()[index];
  }
  for (const ModelConstant &constant : constants)
    if (constant.decision.role == Role::state)
      types[constant.decision.name] = constant.value.getType();
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::StringSet<> updated;
  for (auto [index, name] : llvm::enumerate(decision.updates)) {
    if (name.empty())
      continue;
    Type type = function.getResultTypes()[index];
    if (types.lookup(name) != type)
      return emitError(terminator->getLoc())
             << "result " << index << " is the new value of '" << name
             << "', but has type " << type << " instead of "
             << types.lookup(name);
    if (!updated.insert(name).second)
      return emitError(terminator->getLoc())
             << "two results are the new value of '" << name << "'";
  }
  return success();
}

FailureOr<SignatureDecision>
remat::decideSignature(func::FuncOp function, const ExportSpec *spec,
                       const ImportRules &rules,
                       MutableArrayRef<ModelConstant> constants) {
  SignatureDecision decision;
  unsigned numResults = function.getNumResults();
  decision.arguments.resize(function.getNumArguments());
  decision.updates.resize(numResults);
  decision.resultNames.resize(numResults);
  decision.resultReasons.resize(numResults);
  bool constantsAreWeights =
      llvm::any_of(constants, [](const ModelConstant &constant) {
        return constant.decision.role == Role::parameter;
      });
  if (failed(decideArguments(function, spec, rules, constantsAreWeights,
                             decision.arguments)) ||
      failed(checkPatterns(function, "params", rules.params, constants,
                           decision.arguments)) ||
      failed(checkPatterns(function, "data", rules.data, constants,
                           decision.arguments)))
    return failure();
  FailureOr<unsigned> loss = findLoss(function, spec);
  if (failed(loss))
    return failure();
  decision.loss = *loss;
  decision.resultNames[*loss] = "loss";
  decision.resultReasons[*loss] =
      function.getResultAttr(*loss, RematDialect::getLossAttrName())
          ? "marked in the file"
          : "the first floating-point scalar";

  for (unsigned i : llvm::seq(numResults))
    if (auto name = function.getResultAttrOfType<StringAttr>(
            i, RematDialect::getStateAttrName())) {
      decision.updates[i] = name.str();
      decision.resultReasons[i] = "its last value";
    }
  if (failed(applyStateOptions(function, rules, decision)) ||
      (spec && failed(applyResultSpec(function, *spec, constants, decision))))
    return failure();
  if (!spec)
    inferStates(function, decision);
  if (failed(checkUpdates(function, decision, constants)))
    return failure();

  SmallVector<Value> parameters;
  SmallVector<std::string> floats;
  for (auto [index, argument] : llvm::enumerate(decision.arguments)) {
    if (argument.role == Role::parameter)
      parameters.push_back(function.getArgument(index));
    if (isFloatTensor(function.getArgumentTypes()[index]))
      floats.push_back(argument.name);
  }
  bool haveCalleesParameters = false;
  for (const ModelConstant &constant : constants)
    if (constant.decision.role == Role::parameter)
      for (arith::ConstantOp op : constant.uses) {
        if (op->getParentOfType<func::FuncOp>() == function)
          parameters.push_back(op.getResult());
        else
          haveCalleesParameters = true;
      }
  // Any call may depend on what some callee holds.
  if (haveCalleesParameters)
    function.walk([&](func::CallOp call) {
      llvm::append_range(parameters, call.getResults());
    });
  if (parameters.empty()) {
    InFlightDiagnostic diag = emitError(function.getLoc())
                              << "nothing in @" << function.getName()
                              << " is a parameter: ";
    if (floats.empty())
      return diag << "no argument and no constant of it are tensors of "
                     "floating-point numbers that could be trained";
    return diag << "say which with params=NAME,... or spec=FILE.json; its "
                   "floating-point arguments are "
                << listNames(floats);
  }
  Operation *terminator = function.getBody().front().getTerminator();
  if (!findDependents(function.front(), parameters)
           .contains(terminator->getOperand(decision.loss)))
    return emitError(terminator->getLoc())
           << "the loss (result " << decision.loss
           << ") depends on no parameter, so there is nothing to train";
  return decision;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// States that the model only reads stay what they are: a step asks for the
/// next value of each.
static void returnUnchanged(func::FuncOp function,
                            const SignatureDecision &decision) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, argument] : llvm::enumerate(decision.arguments)) {
    if (argument.role != Role::state ||
        llvm::is_contained(decision.updates, argument.name))
      continue;
    Value state = function.getArgument(index);
    auto name = StringAttr::get(function.getContext(), argument.name);
    NamedAttribute next(RematDialect::getStateAttrName(), name);
    (void)function.insertResult(
        function.getNumResults(), state.getType(),
        DictionaryAttr::get(function.getContext(), next));
    terminator->insertOperands(terminator->getNumOperands(), state);
  }
}

void remat::applySignature(func::FuncOp function,
                           const SignatureDecision &decision) {
  Builder builder(function.getContext());
  StringRef keys[] = {OptDialect::getParamAttrName(),
                      RematDialect::getStateAttrName(),
                      RematDialect::getDataAttrName()};
  SmallVector<DictionaryAttr> attributes;
  for (auto [index, argument] : llvm::enumerate(decision.arguments)) {
    NamedAttrList list(function.getArgAttrDict(index));
    for (StringRef key : keys)
      list.erase(key);
    list.set(keys[static_cast<int>(argument.role)],
             builder.getStringAttr(argument.name));
    attributes.push_back(list.getDictionary(function.getContext()));
  }
  function.setAllArgAttrs(attributes);
  for (unsigned i : llvm::seq(function.getNumResults()))
    function.removeResultAttr(
        i, builder.getStringAttr(RematDialect::getLossAttrName()));
  function.setResultAttr(decision.loss, RematDialect::getLossAttrName(),
                         builder.getUnitAttr());
  for (auto [index, name] : llvm::enumerate(decision.updates)) {
    StringRef result = decision.resultNames[index];
    if (!name.empty())
      function.setResultAttr(index, RematDialect::getStateAttrName(),
                             builder.getStringAttr(name));
    else if (index != decision.loss && !result.empty())
      function.setResultAttr(index, RematDialect::getMetricAttrName(),
                             builder.getStringAttr(result));
  }
  returnUnchanged(function, decision);
}
