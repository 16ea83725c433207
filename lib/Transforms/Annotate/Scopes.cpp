//===- Scopes.cpp - Where in the user's program an operation is -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module paths and name scopes survive exports in locations only, each
// framework with its own separator.
//===----------------------------------------------------------------------===//

#include "Scopes.h"

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::remat;

ScopePath::ScopePath(StringRef name) : text(name) {
  char separator = name.contains('/') ? '/' : '.';
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = std::min(name.find(separator, begin), name.size());
    if (end != begin) {
      begins.push_back(begin);
      ends.push_back(end);
    }
    begin = end + 1;
  }
}

ScopePath ScopePath::join(const ScopePath &inner) const {
  ScopePath joined = *this;
  joined.text += '/';
  for (size_t index = 0; index < inner.size(); ++index) {
    joined.begins.push_back(joined.text.size() + inner.begins[index]);
    joined.ends.push_back(joined.text.size() + inner.ends[index]);
  }
  joined.text += inner.text;
  return joined;
}

StringRef ScopePath::getComponent(size_t index) const {
  return StringRef(text).slice(begins[index], ends[index]);
}

/// The place of the "#" in "checkpoint#2"; none without a number.
static size_t findNumber(StringRef name) {
  StringRef stem = name.rtrim("0123456789");
  bool isNumbered = stem.size() != name.size() && stem.ends_with("#");
  return isNumbered ? stem.size() - 1 : StringRef::npos;
}

/// "name" for "transpose(jvp(name))", but all of "jit(function)".
static StringRef stripTransformations(StringRef component) {
  while (component.ends_with(")") && component.contains('(') &&
         !component.starts_with("jit("))
    component = component.drop_back().split('(').second;
  return component;
}

StringRef ScopePath::getName(size_t index) const {
  StringRef name = stripTransformations(getComponent(index));
  return name.take_front(findNumber(name));
}

bool ScopePath::isNumbered(size_t index) const {
  StringRef name = stripTransformations(getComponent(index));
  return findNumber(name) != StringRef::npos;
}

StringRef ScopePath::getPrefix(size_t count) const {
  return count == 0 ? StringRef() : StringRef(text).take_front(ends[count - 1]);
}

/// Every path of `inner` in every one of `outer`, or those of the one that is
/// not empty.
static SmallVector<ScopePath, 1> nest(ArrayRef<ScopePath> outer,
                                      ArrayRef<ScopePath> inner) {
  if (outer.empty() || inner.empty())
    return llvm::to_vector_of<ScopePath, 1>(outer.empty() ? inner : outer);
  SmallVector<ScopePath, 1> nested;
  for (const ScopePath &scope : outer)
    for (const ScopePath &path : inner)
      nested.push_back(scope.join(path));
  return nested;
}

ArrayRef<ScopePath> Scopes::get(Location loc, bool isChild) {
  if (auto it = paths.find({loc, isChild}); it != paths.end())
    return it->second;
  SmallVector<ScopePath, 1> found;
  auto copy = [&](Location part, bool isChildOfName) {
    return SmallVector<ScopePath, 1>(get(part, isChildOfName));
  };
  if (auto name = dyn_cast<NameLoc>(loc)) {
    ScopePath own(name.getName());
    // JAX gives a name the stack of calls, of functions with their lines.
    bool isFrame = isChild && isa<FileLineColRange>(name.getChildLoc());
    if (!isFrame)
      found = nest(copy(name.getChildLoc(), true),
                   own.size() ? ArrayRef(own) : ArrayRef<ScopePath>());
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    found =
        nest(copy(call.getCaller(), isChild), copy(call.getCallee(), isChild));
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      llvm::append_range(found, copy(part, isChild));
  }
  return paths[{loc, isChild}] = std::move(found);
}

FailureOr<ScopePattern> ScopePattern::parse(Location loc, StringRef text) {
  ScopePattern pattern;
  pattern.text = text;
  auto add = [&](ArrayRef<StringRef> components) -> LogicalResult {
    auto &globs = pattern.alternatives.emplace_back();
    for (StringRef component : components) {
      llvm::Expected<llvm::GlobPattern> glob =
          llvm::GlobPattern::create(component);
      if (!glob)
        return emitError(loc)
               << "\"" << text << "\" is no pattern of scopes such as "
               << "layers.* or checkpoint/layer_0: "
               << llvm::toString(glob.takeError());
      globs.push_back(std::move(*glob));
    }
    return success();
  };
  SmallVector<StringRef> bySlash, byDot;
  text.split(bySlash, '/', -1, /*KeepEmpty=*/false);
  text.split(byDot, '.', -1, /*KeepEmpty=*/false);
  if (bySlash.empty())
    return emitError(loc, "a pattern of scopes may not be empty");
  if (failed(add(bySlash)) ||
      (bySlash.size() == 1 && byDot.size() > 1 && failed(add(byDot))))
    return failure();
  return pattern;
}

size_t ScopePattern::match(const ScopePath &path) const {
  for (ArrayRef<llvm::GlobPattern> globs : alternatives)
    for (size_t begin = 0; begin + globs.size() <= path.size(); ++begin)
      if (llvm::all_of(llvm::seq<size_t>(0, globs.size()), [&](size_t index) {
            return globs[index].match(path.getComponent(begin + index)) ||
                   globs[index].match(path.getName(begin + index));
          }))
        return begin + globs.size();
  return 0;
}

std::string mlir::remat::listNearest(StringRef pattern,
                                     ArrayRef<std::string> candidates) {
  size_t count = ScopePath(pattern).size();
  std::vector<std::tuple<bool, unsigned, StringRef>> nearest;
  for (StringRef text : candidates) {
    // The end of the path: each of its prefixes is a candidate of its own.
    ScopePath path(text);
    size_t skipped = path.size() > count ? path.size() - count : 0;
    StringRef end = text.drop_front(path.getPrefix(skipped).size());
    nearest.push_back(
        {path.size() < count, pattern.edit_distance(end.ltrim("/.")), text});
  }
  llvm::sort(nearest);
  nearest.erase(llvm::unique(nearest), nearest.end());
  nearest.resize(std::min<size_t>(nearest.size(), 5));
  return llvm::join(
      llvm::map_range(nearest,
                      [](const auto &entry) {
                        return ("\"" + std::get<StringRef>(entry) + "\"").str();
                      }),
      ", ");
}
