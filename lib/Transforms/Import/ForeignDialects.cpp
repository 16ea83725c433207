//===- ForeignDialects.cpp - Dialects of exporters ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An export that stopped half-way holds operations that this project does not
// know. "Dialect not found" is no help: each is answered with the flag or the
// pass that removes it.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Import/ForeignDialects.h"

#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace {
struct Advice {
  StringLiteral dialect, text;
};
} // namespace

static constexpr StringLiteral torchAdvice =
    "export with fx.export_and_import(..., output_type=\"linalg-on-tensors\"), "
    "or run torch-mlir-opt "
    "-torch-backend-to-linalg-on-tensors-backend-pipeline";
static constexpr StringLiteral stablehloAdvice =
    "run iree-compile --iree-input-type=stablehlo --compile-to=input, or "
    "stablehlo-opt --chlo-legalize-to-stablehlo --stablehlo-legalize-to-linalg";
static constexpr StringLiteral ireeAdvice =
    "stop iree-compile at --compile-to=input, where models are linalg on "
    "tensors";

/// The order is the order of `ForeignDialect`'s instances.
static constexpr Advice advices[] = {
    {"torch", torchAdvice},
    {"torch_c", torchAdvice},
    {"tm_tensor",
     "torch-mlir has no upstream form of it: write the model without it "
     "(cumsum as a product with torch.tril, scatter and sort as one-hot "
     "products, attention under sdpa_kernel(SDPBackend.MATH)), or add the "
     "operator to decomposition_table"},
    {"stablehlo", stablehloAdvice},
    {"chlo", stablehloAdvice},
    {"vhlo", "run stablehlo-translate --deserialize, then stablehlo-opt "
             "--stablehlo-legalize-to-linalg"},
    {"mhlo", stablehloAdvice},
    {"iree_linalg_ext",
     "IREE's input conversion makes it of scatters, sorts and scans; use "
     "stablehlo-opt --stablehlo-legalize-to-linalg, or write the model with "
     "one-hot products and segment sums"},
    {"iree_tensor_ext", ireeAdvice},
    {"iree_input", ireeAdvice},
    {"util",
     "rename util.func to func.func and util.return to func.return "
     "(sed 's/util\\.func public/func.func/; s/util\\.return/return/'); "
     "globals are arguments in a model that is exported as a function"},
    {"flow", ireeAdvice},
    {"stream", ireeAdvice},
    {"hal", ireeAdvice},
    {"tosa",
     "run -pass-pipeline='builtin.module(func.func(tosa-to-linalg-named,"
     "tosa-to-linalg,tosa-to-arith,tosa-to-tensor))'"},
};

StringRef remat::getForeignDialectAdvice(StringRef dialect) {
  for (const Advice &advice : advices)
    if (advice.dialect == dialect)
      return advice.text;
  return {};
}

namespace {
/// Takes any type and attribute, to come to the first operation: that is what
/// the message is about.
template <size_t index> class ForeignDialect : public Dialect {
public:
  explicit ForeignDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                TypeID::get<ForeignDialect<index>>()) {
    allowUnknownTypes();
    allowUnknownOperations();
  }
  static constexpr StringLiteral getDialectNamespace() {
    return advices[index].dialect;
  }

  Type parseType(DialectAsmParser &parser) const override {
    return OpaqueType::get(StringAttr::get(getContext(), getDialectNamespace()),
                           parser.getFullSymbolSpec());
  }
  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    return OpaqueAttr::get(StringAttr::get(getContext(), getDialectNamespace()),
                           parser.getFullSymbolSpec(),
                           NoneType::get(getContext()));
  }
  std::optional<ParseOpHook> getParseOperationHook(StringRef) const override {
    return refuse;
  }

private:
  // A hook is a reference, so it cannot capture anything.
  static ParseResult refuse(OpAsmParser &parser, OperationState &state) {
    return parser.emitError(parser.getNameLoc())
           << "belongs to an exporter; " << advices[index].text;
  }
};
} // namespace

template <size_t... indices>
static void insertAll(DialectRegistry &registry,
                      std::index_sequence<indices...>) {
  // Upstream's own are registered by whoever uses this.
  (void)std::initializer_list<int>{
      (advices[indices].dialect == "tosa"
           ? 0
           : (registry.insert<ForeignDialect<indices>>(), 0))...};
}

void remat::registerForeignDialects(DialectRegistry &registry) {
  insertAll(registry, std::make_index_sequence<std::size(advices)>());
}
