//===- ParallelToRuntime.cpp - Parallel loops on the runtime's threads ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop's body becomes a function that runs some of its iterations, which the
// runtime calls on all threads.
//===----------------------------------------------------------------------===//

#include "../KernelBody.h"
#include "../TypeCasts.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTPARALLELTORUNTIME
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool streams(scf::ParallelOp loop) {
  return loop
      ->walk([](vector::StoreOp store) {
        return store.getNontemporal() ? WalkResult::interrupt()
                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {

/// How often a loop iterates; less than 0 if its bounds are in no order.
Value countIterations(ImplicitLocOpBuilder &b, Value lower, Value upper,
                      Value step) {
  Value length = arith::SubIOp::create(b, upper, lower);
  return arith::CeilDivSIOp::create(b, length, step);
}

/// The values that a loop's function captures: a struct in memory.
class Context {
public:
  Context(ArrayRef<Value> values, ArrayRef<Type> types)
      : values(values), types(types) {}

  Value pack(ImplicitLocOpBuilder &b, func::FuncOp function) const {
    // Where it takes place on the stack once, also in a loop.
    OpBuilder::InsertPoint here = b.saveInsertionPoint();
    b.setInsertionPointToStart(&function.getBody().front());
    Value one = LLVM::ConstantOp::create(b, b.getI64Type(), 1);
    Value memory = LLVM::AllocaOp::create(b, pointer(b), getType(b), one);
    b.restoreInsertionPoint(here);
    for (auto [index, value] : llvm::enumerate(values))
      LLVM::StoreOp::create(b, castTo(b, b.getLoc(), value, types[index]),
                            at(b, memory, index));
    return memory;
  }

  /// In the loop's function, where `memory` is what it gets.
  void unpack(ImplicitLocOpBuilder &b, Value memory, IRMapping &map) const {
    for (auto [index, value] : llvm::enumerate(values)) {
      Value loaded =
          LLVM::LoadOp::create(b, types[index], at(b, memory, index));
      map.map(value, castTo(b, b.getLoc(), loaded, value.getType()));
    }
  }

private:
  static Type pointer(ImplicitLocOpBuilder &b) {
    return LLVM::LLVMPointerType::get(b.getContext());
  }
  Type getType(ImplicitLocOpBuilder &b) const {
    return LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  }
  Value at(ImplicitLocOpBuilder &b, Value memory, size_t index) const {
    return LLVM::GEPOp::create(
        b, pointer(b), getType(b), memory,
        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(index)});
  }

  ArrayRef<Value> values;
  ArrayRef<Type> types;
};

class Conversion {
public:
  explicit Conversion(MLIRContext *context) : converter(context) {}

  /// Leaves a loop whose body uses a value of a type that LLVM does not have.
  void convert(scf::ParallelOp loop) {
    auto function = loop->getParentOfType<func::FuncOp>();
    Captures captures = collectCaptures(loop->getRegions());
    // The iterations themselves say where the outermost one ends.
    for (OperandRange bounds : {loop.getLowerBound(), loop.getStep(),
                                loop.getUpperBound().drop_front()})
      for (Value bound : bounds)
        captures.insert(bound);
    SmallVector<Type> types;
    for (Value value : captures.values)
      types.push_back(converter.convertType(value.getType()));
    if (!function || llvm::is_contained(types, Type()))
      return;
    Context context(captures.values.getArrayRef(), types);
    SymbolTable &symbols =
        tables.getSymbolTable(SymbolTable::getNearestSymbolTable(function));
    func::FuncOp part = createPart(loop, function, captures, context);
    symbols.insert(part, std::next(Block::iterator(function)));

    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value total = arith::ConstantIndexOp::create(b, 1);
    for (auto [lower, upper, step] : llvm::zip_equal(
             loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
      Value count = countIterations(b, lower, upper, step);
      total = arith::MulIOp::create(b, total,
                                    arith::MaxSIOp::create(b, count, zero));
    }
    Value memory = context.pack(b, function);
    Value address =
        func::ConstantOp::create(b, part.getFunctionType(),
                                 FlatSymbolRefAttr::get(part.getSymNameAttr()));
    address = castTo(b, b.getLoc(), address, memory.getType());
    createRuntimeCall(b, loop.getLoc(), symbols, "remat_parallel_for",
                      {total, address, memory}, {}, /*hasMemRefs=*/false);
    loop.erase();
  }

private:
  /// A function of the context and of the iterations that it runs.
  static func::FuncOp createPart(scf::ParallelOp loop, func::FuncOp function,
                                 const Captures &captures,
                                 const Context &context) {
    ImplicitLocOpBuilder b(loop.getLoc(), loop->getContext());
    Type index = b.getIndexType();
    auto type = b.getFunctionType(
        {LLVM::LLVMPointerType::get(b.getContext()), index, index}, {});
    auto part =
        func::FuncOp::create(b, (function.getName() + "_part").str(), type);
    part.setPrivate();
    if (Attribute attributes = function->getAttr("passthrough"))
      part->setAttr("passthrough", attributes);

    b.setInsertionPointToStart(part.addEntryBlock());
    IRMapping map;
    for (Operation *constant : captures.constants)
      b.clone(*constant, map);
    context.unpack(b, part.getArgument(0), map);
    emitIterations(b, loop, part.getArgument(1), part.getArgument(2), map);
    // Stores that bypass the cache wait in buffers of the processor, and what
    // says that the loop has ended does not wait for them.
    if (streams(loop))
      LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst);
    func::ReturnOp::create(b);
    return part;
  }

  /// Iterations from `begin` to `end` of all loops of `loop`, which count as
  /// one.
  static void emitIterations(ImplicitLocOpBuilder &b, scf::ParallelOp loop,
                             Value begin, Value end, IRMapping &map) {
    Value one = arith::ConstantIndexOp::create(b, 1);
    auto iterations = scf::ForOp::create(b, begin, end, one);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(iterations.getBody());
    Value rest = iterations.getInductionVar();
    for (unsigned dim = loop.getNumLoops(); dim-- > 0;) {
      Value lower = map.lookup(loop.getLowerBound()[dim]);
      Value step = map.lookup(loop.getStep()[dim]), number = rest;
      if (dim > 0) {
        Value upper = map.lookup(loop.getUpperBound()[dim]);
        Value count = countIterations(b, lower, upper, step);
        number = arith::RemUIOp::create(b, rest, count);
        rest = arith::DivUIOp::create(b, rest, count);
      }
      Value offset = arith::MulIOp::create(b, number, step);
      map.map(loop.getInductionVars()[dim],
              arith::AddIOp::create(b, lower, offset));
    }
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, map);
  }

  SymbolTableCollection tables;
  LLVMTypeConverter converter;
};

struct ConvertParallelToRuntime
    : mlir::remat::impl::ConvertParallelToRuntimeBase<
          ConvertParallelToRuntime> {
  void runOnOperation() override {
    // Threads share the outermost loops, unless they carry something out:
    // those become branches later, as those in others do.
    SmallVector<scf::ParallelOp> loops;
    getOperation()->walk([&](scf::ParallelOp loop) {
      if (loop.getInitVals().empty() &&
          !loop->getParentOfType<scf::ParallelOp>())
        loops.push_back(loop);
    });
    if (loops.empty())
      return markAllAnalysesPreserved();
    Conversion conversion(&getContext());
    for (scf::ParallelOp loop : loops)
      conversion.convert(loop);
  }
};
} // namespace
