//===- Mesh.cpp - The ranks of a program ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Split/Mesh.h"

#include "remat/Dialect/Nearest.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Shards.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::remat;

static constexpr StringLiteral kAxesAttrName = "remat.axes";
static constexpr StringLiteral kPartsAttrName = "remat.parts";

int64_t Mesh::countRanks() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : axes)
    ranks *= axis.ranks;
  return ranks;
}

/// Returns the number of parts of each axis, from `remat.parts`.
static FailureOr<SmallVector<int64_t>> getParts(shard::GridOp grid) {
  SmallVector<int64_t> parts(grid.getShape());
  Attribute attribute = grid->getAttr(kPartsAttrName);
  if (!attribute)
    return parts;
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (!list || list.size() != parts.size() ||
      !llvm::all_of(list, llvm::IsaPred<IntegerAttr>))
    return grid.emitOpError()
           << "'remat.parts' must have a number for each of the "
           << parts.size() << " axes, but is " << attribute;
  for (auto [axis, number] : llvm::enumerate(list)) {
    int64_t ranks = parts[axis];
    parts[axis] = cast<IntegerAttr>(number).getInt();
    if (parts[axis] <= 0 || parts[axis] % ranks != 0)
      return grid.emitOpError()
             << "axis " << axis << " has " << ranks << " ranks and "
             << parts[axis]
             << " parts; the parts must be a multiple of the ranks";
  }
  return parts;
}

FailureOr<std::optional<Mesh>> Mesh::get(ModuleOp module) {
  shard::GridOp found;
  for (auto grid : module.getOps<shard::GridOp>()) {
    if (!grid->hasAttr(kAxesAttrName))
      continue;
    if (found) {
      InFlightDiagnostic diagnostic =
          grid.emitOpError("is the second grid with 'remat.axes'; a program "
                           "runs on one");
      diagnostic.attachNote(found.getLoc()) << "the first one";
      return diagnostic;
    }
    found = grid;
  }
  if (!found)
    return std::optional<Mesh>();
  ArrayRef<int64_t> shape = found.getShape();
  auto names = found->getAttrOfType<ArrayAttr>(kAxesAttrName);
  if (!names || names.size() != shape.size() ||
      !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return found.emitOpError()
           << "'remat.axes' must have a name for each of the " << shape.size()
           << " axes, but is " << found->getAttr(kAxesAttrName);
  if (llvm::any_of(shape, [](int64_t ranks) { return ranks <= 0; }))
    return found.emitOpError(
        "has an axis of unknown size; a program is compiled for a number of "
        "ranks, so write it, as in (shape = 2x4)");
  FailureOr<SmallVector<int64_t>> parts = getParts(found);
  if (failed(parts))
    return failure();
  Mesh mesh;
  int64_t stride = 1;
  for (unsigned i = shape.size(); i-- > 0; stride *= shape[i]) {
    StringRef name = cast<StringAttr>(names[i]).getValue();
    if (llvm::any_of(mesh.axes,
                     [&](const MeshAxis &axis) { return axis.name == name; }))
      return found.emitOpError() << "has two axes called '" << name << "'";
    mesh.axes.insert(mesh.axes.begin(), {name, shape[i], stride, (*parts)[i]});
  }
  return std::optional(std::move(mesh));
}

void Mesh::erase(ModuleOp module) {
  for (auto grid : llvm::make_early_inc_range(module.getOps<shard::GridOp>()))
    if (grid->hasAttr(kAxesAttrName))
      grid.erase();
}

static FailureOr<int> findAxis(FunctionOpInterface function, unsigned argument,
                               const Mesh &mesh, StringRef name) {
  SmallVector<StringRef> names;
  for (auto [index, axis] : llvm::enumerate(mesh.axes)) {
    if (axis.name == name)
      return int(index);
    names.push_back(axis.name);
  }
  InFlightDiagnostic diagnostic =
      emitError(function.getArgument(argument).getLoc())
      << "'remat.shard' of argument " << argument << " has axis '" << name
      << "', but the grid's axes are ";
  llvm::interleave(
      names, [&](StringRef axis) { diagnostic << "'" << axis << "'"; },
      [&] { diagnostic << ", "; });
  return diagnostic;
}

FailureOr<Sharding> remat::getSharding(FunctionOpInterface function,
                                       unsigned argument, const Mesh &mesh) {
  Type type = function.getArgumentTypes()[argument];
  auto shaped = dyn_cast<ShapedType>(type);
  Sharding sharding(shaped && shaped.hasRank() ? shaped.getRank() : 0, -1);
  auto shard = dyn_cast_or_null<ArrayAttr>(
      function.getArgAttr(argument, kShardAttrName));
  if (!shard)
    return sharding;
  auto emit = [&] {
    return emitError(function.isExternal()
                         ? function.getLoc()
                         : function.getArgument(argument).getLoc())
           << "'remat.shard' of argument " << argument << " ";
  };
  if (shard.size() > sharding.size())
    return emit() << "is for " << shard.size()
                  << " dimensions, but the argument is a " << type;
  for (auto [dim, axes] : llvm::enumerate(shard)) {
    auto list = cast<ArrayAttr>(axes);
    if (list.size() > 1)
      return emit() << "splits dimension " << dim
                    << " along several axes; a grid with one axis for their "
                       "product says the same";
    if (list.empty())
      continue;
    FailureOr<int> axis = findAxis(function, argument, mesh,
                                   cast<StringAttr>(list[0]).getValue());
    if (failed(axis))
      return failure();
    if (llvm::is_contained(sharding, *axis))
      return emit() << "splits two dimensions along axis '"
                    << mesh.axes[*axis].name << "'";
    int64_t parts = mesh.axes[*axis].parts;
    if (shaped.isDynamicDim(dim))
      return emit() << "splits dimension " << dim << " of a " << type
                    << ", whose size is not known";
    if (shaped.getDimSize(dim) % parts != 0)
      return emit() << "splits dimension " << dim << " of " << type
                    << " in the " << parts << " parts of axis '"
                    << mesh.axes[*axis].name << "', which do not divide it";
    sharding[dim] = *axis;
  }
  return sharding;
}

Sharding remat::getLocalSharding(FunctionOpInterface function,
                                 unsigned argument, const Mesh &mesh) {
  Sharding sharding;
  auto local = dyn_cast_or_null<ArrayAttr>(
      function.getArgAttr(argument, kLocalAttrName));
  for (Attribute dim : local ? local.getValue() : ArrayRef<Attribute>()) {
    auto names = cast<ArrayAttr>(dim);
    sharding.push_back(-1);
    for (auto [index, axis] : llvm::enumerate(mesh.axes))
      if (!names.empty() && axis.name == cast<StringAttr>(names[0]).getValue())
        sharding.back() = index;
  }
  return sharding;
}

bool remat::hasShards(FunctionOpInterface function) {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (function.getArgAttr(i, kShardAttrName))
      return true;
  return false;
}
