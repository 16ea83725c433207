//===- AnnotateShards.cpp - A model for several ranks ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who trains an exported model cannot write a grid and shardings into it, and
// one model is trained on other numbers of ranks from day to day.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Nearest.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Shards.h"
#include "remat/Transforms/Annotate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/JSON.h"

namespace mlir::remat {
#define GEN_PASS_DEF_ANNOTATESHARDS
#include "remat/Transforms/Annotate/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// The axis along which data are split unless something else is said of them.
static constexpr StringLiteral kDataAxis = "data";

namespace {
struct Axis {
  StringRef name;
  int64_t ranks, parts;
};

/// How arguments of such a name are split.
struct Rule {
  std::string pattern;
  ArrayAttr shard;
  bool isUsed = false;

  bool matches(StringRef name) const {
    if (name == pattern)
      return true;
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
    if (glob)
      return glob->match(name);
    llvm::consumeError(glob.takeError());
    return false;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<Axis>> parseMesh(ModuleOp module, StringRef text) {
  SmallVector<Axis> axes;
  for (StringRef entry : llvm::split(text, ',')) {
    SmallVector<StringRef> fields;
    entry.trim().split(fields, ':');
    Axis axis{fields[0], 0, 0};
    bool isKnown = fields.size() > 1 && fields.size() <= 3 &&
                   !axis.name.empty() &&
                   !fields[1].getAsInteger(10, axis.ranks) && axis.ranks > 0;
    axis.parts = axis.ranks;
    if (fields.size() == 3)
      isKnown = isKnown && !fields[2].getAsInteger(10, axis.parts);
    if (!isKnown)
      return module.emitError()
             << "'mesh' must list axes with their ranks, and perhaps parts, as "
                "in data:2,model:4:8, but got '"
             << text << "'";
    axes.push_back(axis);
  }
  return axes;
}

static FailureOr<SmallVector<Rule>> parseShards(ModuleOp module,
                                                StringRef text) {
  SmallVector<Rule> rules;
  if (text.empty())
    return rules;
  auto refuse = [&] {
    return module.emitError()
           << "'shards' must be a JSON array of pairs of a name and an axis or "
              "null for each dimension, as in [[\"x\",[\"data\",null]]], but "
              "got '"
           << text << "'";
  };
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return refuse();
  }
  llvm::json::Array *list = value->getAsArray();
  if (!list)
    return refuse();
  Builder builder(module.getContext());
  for (const llvm::json::Value &item : *list) {
    const llvm::json::Array *pair = item.getAsArray();
    if (!pair || pair->size() != 2 || !(*pair)[0].getAsString() ||
        !(*pair)[1].getAsArray())
      return refuse();
    SmallVector<Attribute> dims;
    for (const llvm::json::Value &axis : *(*pair)[1].getAsArray()) {
      std::optional<StringRef> name = axis.getAsString();
      if (!name && !axis.getAsNull())
        return refuse();
      dims.push_back(name ? builder.getStrArrayAttr({*name})
                          : builder.getArrayAttr({}));
    }
    rules.push_back(
        {(*pair)[0].getAsString()->str(), builder.getArrayAttr(dims)});
  }
  return rules;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static LogicalResult addGrid(ModuleOp module, ArrayRef<Axis> axes) {
  constexpr StringLiteral kAxesAttrName = "remat.axes";
  for (auto grid : module.getOps<shard::GridOp>())
    if (grid->hasAttr(kAxesAttrName))
      return grid.emitOpError(
          "is the grid of the module, but 'mesh' asks for one as well; leave "
          "one of them out");
  OpBuilder builder(module.getContext());
  SmallVector<int64_t> shape, parts;
  SmallVector<StringRef> names;
  for (const Axis &axis : axes) {
    shape.push_back(axis.ranks);
    parts.push_back(axis.parts);
    names.push_back(axis.name);
  }
  auto grid = shard::GridOp::create(builder, module.getLoc(), "mesh", shape);
  grid->setAttr(kAxesAttrName, builder.getStrArrayAttr(names));
  grid->setAttr("remat.parts", builder.getI64ArrayAttr(parts));
  SymbolTable(module).insert(grid, module.getBody()->begin());
  return success();
}

/// Returns the argument's name, and whether it is data; no name if it is
/// neither data nor a parameter or state.
static std::pair<std::string, bool>
describe(FunctionOpInterface function, unsigned argument, unsigned &numData) {
  if (std::string name = opt::getParameterName(function, argument);
      !name.empty())
    return {name, false};
  if (auto state = function.getArgAttrOfType<StringAttr>(
          argument, RematDialect::getStateAttrName()))
    return {state.str(), false};
  if (!isa<RankedTensorType>(function.getArgumentTypes()[argument]))
    return {"", false};
  unsigned position = numData++;
  auto key = function.getArgAttrOfType<StringAttr>(
      argument, RematDialect::getDataAttrName());
  return {key ? key.str() : "arr_" + std::to_string(position), true};
}

namespace {
class AnnotateShardsPass
    : public remat::impl::AnnotateShardsBase<AnnotateShardsPass> {
public:
  using AnnotateShardsBase::AnnotateShardsBase;

  void runOnOperation() override {
    FailureOr<SmallVector<Axis>> axes = parseMesh(getOperation(), mesh);
    if (failed(axes))
      return signalPassFailure();
    FailureOr<SmallVector<Rule>> rules = parseShards(getOperation(), shards);
    if (failed(rules) || failed(addGrid(getOperation(), *axes)))
      return signalPassFailure();
    bool hasDataAxis = llvm::is_contained(
        llvm::map_range(*axes, [](const Axis &axis) { return axis.name; }),
        kDataAxis);
    SmallVector<std::string> names;
    for (auto train : getOperation().getOps<TrainStepOp>())
      for (FlatSymbolRefAttr symbol :
           {train.getLossAttr(), train.getEvalAttr()})
        if (symbol)
          if (auto function =
                  getOperation().lookupSymbol<func::FuncOp>(symbol.getValue()))
            annotate(function, *rules, hasDataAxis, names);
    for (const Rule &rule : *rules)
      if (!rule.isUsed) {
        SmallVector<StringRef> known(names.begin(), names.end());
        getOperation().emitError()
            << "'shards' has '" << rule.pattern
            << "', but no argument is called so; there are "
            << listNearestFirst(rule.pattern, known);
        return signalPassFailure();
      }
  }

private:
  void annotate(func::FuncOp function, MutableArrayRef<Rule> rules,
                bool hasDataAxis, SmallVectorImpl<std::string> &names) {
    Builder builder(&getContext());
    unsigned numData = 0;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto [name, isData] = describe(function, i, numData);
      if (name.empty())
        continue;
      if (!llvm::is_contained(names, name))
        names.push_back(name);
      Rule *rule = llvm::find_if(rules, [&, &name = name](const Rule &rule) {
        return rule.matches(name);
      });
      if (rule != rules.end()) {
        rule->isUsed = true;
        function.setArgAttr(i, kShardAttrName, rule->shard);
        continue;
      }
      auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
      if (isData && hasDataAxis && type.getRank() > 0 &&
          !function.getArgAttr(i, kShardAttrName))
        function.setArgAttr(
            i, kShardAttrName,
            builder.getArrayAttr({builder.getStrArrayAttr({kDataAxis})}));
    }
  }
};
} // namespace
