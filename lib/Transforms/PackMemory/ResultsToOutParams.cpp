//===- ResultsToOutParams.cpp - Callers provide the memory of results -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A buffer that a function returns outlives every arena that the function could
// put it in. So the caller places it, in its own.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/PackMemory/Passes.h"

#include "CallOrder.h"
#include "CastMemory.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::remat {
#define GEN_PASS_DEF_RESULTSTOOUTPARAMSPASS
#include "remat/Transforms/PackMemory/Passes.h.inc"

namespace {

bool isStatic(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.hasStaticShape() && memref.getLayout().isIdentity();
}

/// Returns true if `op` only gives its whole source another shape or layout.
bool isReshape(Operation *op) {
  return isa_and_nonnull<memref::CastOp, memref::CollapseShapeOp,
                         memref::ExpandShapeOp>(op);
}

/// Returns the buffer that `value` is a view of as a whole, and appends the
/// views, the last one first.
Value getWholeBuffer(Value value, SmallVectorImpl<Operation *> &views) {
  while (isReshape(value.getDefiningOp())) {
    views.push_back(value.getDefiningOp());
    value = cast<ViewLikeOpInterface>(views.back()).getViewSource();
  }
  return value;
}

/// The decision about one result.
struct Decision {
  enum Kind { keep, dropForArgument, outParam } kind = keep;
  /// Of the argument that the result is.
  unsigned argument = 0;
  /// The views that lead from it to the result, last one first.
  SmallVector<Operation *> views;
};

/// Puts the allocation's bytes into `argument`.
void replaceAllocation(memref::AllocOp alloc, Value argument) {
  OpBuilder builder(alloc->getBlock(), alloc->getBlock()->begin());
  argument = castMemory(builder, alloc.getLoc(), argument, alloc.getType());
  for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
    if (isa<memref::DeallocOp>(user))
      user->erase();
  alloc.replaceAllUsesWith(argument);
  alloc.erase();
}

/// Rewrites one function; the decisions say how to rewrite its callers.
class FunctionRewriter {
public:
  explicit FunctionRewriter(func::FuncOp function)
      : function(function),
        ret(cast<func::ReturnOp>(function.front().getTerminator())),
        numArguments(function.getNumArguments()) {}

  SmallVector<Decision> rewrite() {
    unsigned count = ret.getNumOperands();
    SmallVector<Decision> decisions(count);
    llvm::BitVector gone(count);
    addOutParams();
    // A result that is the old value of an argument is copied before the new
    // value is.
    for (bool isUpdate : {false, true})
      for (unsigned index = 0; index < count; ++index) {
        if (getUpdated(index).has_value() != isUpdate)
          continue;
        decisions[index] = rewriteResult(index);
        if (decisions[index].kind != Decision::keep)
          gone.set(index);
      }
    ret->eraseOperands(gone);
    (void)function.eraseResults(gone);
    return decisions;
  }

private:
  /// The argument whose new value the result is.
  std::optional<unsigned> getUpdated(unsigned index) {
    auto updates = function.getResultAttrOfType<IntegerAttr>(
        index, RematDialect::getUpdatesAttrName());
    return updates ? std::optional<unsigned>(updates.getInt()) : std::nullopt;
  }

  /// The argument that callers can take for the result of which `buffer` is the
  /// memory; none if they need memory for it.
  std::optional<unsigned> getArgumentFor(unsigned index, Value buffer) {
    std::optional<unsigned> updated = getUpdated(index);
    auto argument = dyn_cast<BlockArgument>(buffer);
    if (!argument || argument.getOwner() != &function.front() ||
        !(updated ? *updated == argument.getArgNumber()
                  : canDropFor(argument.getArgNumber())))
      return std::nullopt;
    return argument.getArgNumber();
  }

  /// Adds arguments for the memory of all results that need some, together:
  /// each change of a function's type takes time and memory for all of it.
  void addOutParams() {
    MLIRContext *context = function.getContext();
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    for (OpOperand &returned : ret->getOpOperands()) {
      unsigned index = returned.getOperandNumber();
      SmallVector<Operation *> views;
      if (!isStatic(returned.get().getType()) || getUpdated(index) ||
          getArgumentFor(index, getWholeBuffer(returned.get(), views)))
        continue;
      SmallVector<NamedAttribute> ofResult(function.getResultAttrs(index));
      ofResult.emplace_back(
          StringAttr::get(context, RematDialect::getResultAttrName()),
          IntegerAttr::get(IntegerType::get(context, 64), index));
      outParamOf[index] = numArguments + types.size();
      types.push_back(returned.get().getType());
      attributes.push_back(DictionaryAttr::get(context, ofResult));
    }
    (void)function.insertArguments(
        SmallVector<unsigned>(types.size(), numArguments), types, attributes,
        SmallVector<Location>(types.size(), function.getLoc()));
  }

  Decision rewriteResult(unsigned index) {
    Decision decision;
    Value value = ret.getOperand(index);
    if (!isa<MemRefType>(value.getType()))
      return decision;
    std::optional<unsigned> updated = getUpdated(index);
    Value buffer = getWholeBuffer(value, decision.views);
    if (std::optional<unsigned> argument = getArgumentFor(index, buffer)) {
      decision.kind = Decision::dropForArgument;
      decision.argument = *argument;
      return decision;
    }
    if (updated) {
      decision.views.clear();
      decision.kind = Decision::dropForArgument;
      decision.argument = *updated;
      copy(value, function.getArgument(decision.argument),
           "is not computed in place");
      return decision;
    }
    auto it = outParamOf.find(index);
    if (it == outParamOf.end())
      return decision;
    decision.kind = Decision::outParam;
    Value outParam = function.getArgument(it->second);
    auto alloc = buffer.getDefiningOp<memref::AllocOp>();
    if (alloc && isStatic(alloc.getType()) &&
        alloc->getBlock() == &function.front())
      replaceAllocation(alloc, outParam);
    else
      copy(value, outParam, "is not a buffer of its own");
    return decision;
  }

  /// Returns true if callers may use the argument for the result. Those of a
  /// public function cannot know that they are the same: they expect memory for
  /// each result. An argument that is memory of another result is returned
  /// twice.
  bool canDropFor(unsigned argument) {
    return function.isPrivate() && argument < numArguments;
  }

  void copy(Value from, Value to, StringRef why) {
    emitRemark(from.getLoc()) << "result of @" << function.getName() << " "
                              << why << " and is copied: " << from.getType();
    OpBuilder builder(ret);
    memref::CopyOp::create(builder, from.getLoc(), from, to);
  }

  func::FuncOp function;
  func::ReturnOp ret;
  /// Without the memory of results.
  unsigned numArguments;
  DenseMap<unsigned, unsigned> outParamOf;
};

/// Makes `call` pass memory for the results that its callee no longer returns.
void rewriteCall(func::CallOp call, ArrayRef<Decision> decisions) {
  OpBuilder builder(call);
  SmallVector<Value> operands(call.getOperands());
  SmallVector<Type> types;
  SmallVector<Value> replacements(call.getNumResults());
  for (auto [index, decision] : llvm::enumerate(decisions)) {
    Type type = call.getResult(index).getType();
    if (decision.kind == Decision::keep) {
      types.push_back(type);
    } else if (decision.kind == Decision::outParam) {
      replacements[index] = memref::AllocOp::create(builder, call.getLoc(),
                                                    cast<MemRefType>(type));
      operands.push_back(replacements[index]);
    } else {
      Value value = call.getOperand(decision.argument);
      for (Operation *view : llvm::reverse(decision.views)) {
        IRMapping mapping;
        mapping.map(view->getOperand(0), value);
        value = builder.clone(*view, mapping)->getResult(0);
      }
      replacements[index] = value;
    }
  }
  auto rewritten = func::CallOp::create(builder, call.getLoc(),
                                        call.getCallee(), types, operands);
  rewritten->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  unsigned next = 0;
  for (auto [result, replacement] : llvm::zip(call.getResults(), replacements))
    result.replaceAllUsesWith(replacement ? replacement
                                          : rewritten.getResult(next++));
  call.erase();
}

struct ResultsToOutParamsPass
    : public impl::ResultsToOutParamsPassBase<ResultsToOutParamsPass> {
  void runOnOperation() override {
    CallOrder order;
    if (failed(order.compute(getOperation())))
      return signalPassFailure();
    for (func::FuncOp function : order.getFunctions()) {
      SmallVector<Decision> decisions = FunctionRewriter(function).rewrite();
      for (func::CallOp call : order.getCalls(function))
        rewriteCall(call, decisions);
    }
  }
};

} // namespace
} // namespace mlir::remat
