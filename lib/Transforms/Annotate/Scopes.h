//===- Scopes.h - Where in the user's program an operation is ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_ANNOTATE_SCOPES_H
#define REMAT_LIB_TRANSFORMS_ANNOTATE_SCOPES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/GlobPattern.h"

#include <string>

namespace mlir::remat {

/// A name such as "layers.0.norm1" or "jit(loss)/Model/layer_0/mul" and its
/// components: separated by slashes if it has any, else by dots.
class ScopePath {
public:
  explicit ScopePath(StringRef text);
  /// `inner` in the scope of this one.
  ScopePath join(const ScopePath &inner) const;

  size_t size() const { return ends.size(); }
  StringRef getComponent(size_t index) const;
  /// The component without JAX's transformations and without the number of an
  /// application: "checkpoint" for "vmap(checkpoint#2)".
  StringRef getName(size_t index) const;
  bool isNumbered(size_t index) const;
  /// The first `count` components, as they were written.
  StringRef getPrefix(size_t count) const;
  StringRef getText() const { return text; }

private:
  std::string text;
  SmallVector<size_t> begins, ends;
};

/// Gives every location its paths, computed once.
class Scopes {
public:
  /// The paths of `loc`: of a name, itself, in the scope of what is nested in
  /// it; of a call site, the callee's in the caller's; of fused locations,
  /// each one's. None for what only says file and line, nor for the functions
  /// of a stack of calls that is nested in a name.
  ArrayRef<ScopePath> get(Location loc) { return get(loc, /*isChild=*/false); }

private:
  ArrayRef<ScopePath> get(Location loc, bool isChild);

  DenseMap<std::pair<Attribute, unsigned>, SmallVector<ScopePath, 1>> paths;
};

/// Some components in a row, such as `layers.*` or `checkpoint/layer_[0-3]`,
/// each a glob pattern, of a component as it is written or of its name.
class ScopePattern {
public:
  /// Fails at `loc` if `text` is no pattern.
  static FailureOr<ScopePattern> parse(Location loc, StringRef text);

  /// The number of components of `path` up to the end of the first place where
  /// they match; 0 if there is none.
  size_t match(const ScopePath &path) const;
  StringRef getText() const { return text; }

private:
  std::string text;
  /// Ways to divide the text into components: a dot may belong to a component
  /// ("Embed_0.attend").
  SmallVector<SmallVector<llvm::GlobPattern>, 2> alternatives;
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_ANNOTATE_SCOPES_H
