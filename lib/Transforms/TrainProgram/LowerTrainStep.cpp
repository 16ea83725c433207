//===- LowerTrainStep.cpp - The program that trains -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `mlir-runner -e main` runs a function without arguments: this one gets the
// step's arguments from the runtime and calls it until training is done. A host
// program with a loop of its own calls functions that run one step, or evaluate
// one batch.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/StateFlow.h"
#include "remat/Analysis/StateWrites.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/TrainProgram/Passes.h"
#include "remat/Transforms/TrainProgram/TrainDescription.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::remat {
#define GEN_PASS_DEF_LOWERTRAINSTEP
#include "remat/Transforms/TrainProgram/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// main, remat_step and remat_evaluate
//===----------------------------------------------------------------------===//

namespace {
/// Builds main, or functions that run one step or one batch of the evaluation.
class MainBuilder {
public:
  /// `onDevice`: whether buffers are memory that only kernels can read.
  MainBuilder(ModuleOp module, const TrainDescription &description,
              Location loc, bool onDevice)
      : module(module), symbols(module), description(description),
        onDevice(onDevice), builder(loc, module) {}

  LogicalResult build();
  void buildStepFunction(func::FuncOp step);
  void buildEvaluationFunction();

private:
  func::CallOp callRuntime(StringRef name, ValueRange operands,
                           TypeRange results = {});
  Value emitDescription();
  void emitBuffers(function_ref<Value(Value index, Type bytes)> get);
  void emitInitialValues();
  func::CallOp emitCall(const Callee &callee, Value step);
  Value emitScalar(const CallResult &result, func::CallOp call);
  Value emitAddress(Value memref);
  /// Passes a scalar to the runtime's function `name` after `operands`: its
  /// value, or, to `<name>_at`, where it is on the device.
  func::CallOp passScalar(StringRef name, SmallVector<Value> operands,
                          const CallResult &result, func::CallOp call,
                          TypeRange results = {});
  void emitUpdates(ArrayRef<CallResult> results, func::CallOp call);
  void emitEvaluation(Value count);
  void emitOutputs(ArrayRef<Output> outputs, func::CallOp call);
  Block *beginFunction(StringRef name);
  void markFirstWrite(func::FuncOp step);

  ModuleOp module;
  SymbolTable symbols;
  const TrainDescription &description;
  bool onDevice;
  ImplicitLocOpBuilder builder;
  SmallVector<Value> buffers;
};
} // namespace

func::CallOp MainBuilder::callRuntime(StringRef name, ValueRange operands,
                                      TypeRange results) {
  return createRuntimeCall(builder, builder.getLoc(), symbols,
                           ("remat_rt_train_" + name).str(), operands, results);
}

Value MainBuilder::emitDescription() {
  return createTextOperand(builder, builder.getLoc(),
                           createTextGlobal(builder.getLoc(), symbols,
                                            "__remat_train_description",
                                            description.text));
}

/// A buffer of a scalar holds it as the single element.
static MemRefType getBufferType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref ? memref : MemRefType::get({}, type);
}

void MainBuilder::emitBuffers(
    function_ref<Value(Value index, Type bytes)> get) {
  Type bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  for (auto [index, type] : llvm::enumerate(description.types)) {
    Value number =
        arith::ConstantIntOp::create(builder, static_cast<int64_t>(index), 64);
    buffers.push_back(memref::ViewOp::create(
        builder, getBufferType(type), get(number, bytes), zero, ValueRange{}));
  }
}

/// Where the memref's data begins, as a number.
Value MainBuilder::emitAddress(Value memref) {
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, memref);
  return arith::IndexCastOp::create(builder, builder.getI64Type(), address);
}

/// Values of the module go where no file has one. They stay constants of the
/// program (a resource stays a handle), so that nothing prints or copies them
/// here.
void MainBuilder::emitInitialValues() {
  for (auto [index, value] : llvm::enumerate(description.initialValues)) {
    if (!value)
      continue;
    auto type = cast<MemRefType>(description.types[index]);
    memref::GlobalOp constant = createConstantGlobal(
        builder.getLoc(), symbols, "__remat_init_" + std::to_string(index),
        type, value);
    Value number =
        arith::ConstantIntOp::create(builder, static_cast<int64_t>(index), 64);
    Value isNeeded =
        callRuntime("needs", number, builder.getI1Type()).getResult(0);
    auto branch =
        scf::IfOp::create(builder, isNeeded, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value global =
        memref::GetGlobalOp::create(builder, type, constant.getSymName());
    callRuntime("fill", {number, emitAddress(global)});
  }
}

func::CallOp MainBuilder::emitCall(const Callee &callee, Value step) {
  SmallVector<Value> arguments;
  for (int buffer : callee.buffers) {
    if (buffer < 0)
      arguments.push_back(step);
    else if (isa<MemRefType>(description.types[buffer]))
      arguments.push_back(buffers[buffer]);
    else
      arguments.push_back(memref::LoadOp::create(builder, buffers[buffer]));
  }
  return func::CallOp::create(builder, callee.function, arguments);
}

/// A scalar result as f64.
Value MainBuilder::emitScalar(const CallResult &result, func::CallOp call) {
  Value value = result.buffer >= 0 ? buffers[result.buffer]
                                   : call.getResult(result.result);
  if (isa<MemRefType>(value.getType()))
    value = memref::LoadOp::create(builder, value);
  Type f64 = builder.getF64Type();
  if (value.getType() == f64)
    return value;
  if (isa<FloatType>(value.getType()))
    return arith::ExtFOp::create(builder, f64, value);
  if (value.getType().isSignlessInteger(1))
    return arith::UIToFPOp::create(builder, f64, value);
  return arith::SIToFPOp::create(builder, f64, value);
}

/// The numbers that the runtime has for types of scalars (`ScalarKind`).
static int64_t getScalarKind(Type type) {
  return llvm::TypeSwitch<Type, int64_t>(type)
      .Case([](Float32Type) { return 0; })
      .Case([](Float64Type) { return 1; })
      .Case([](Float16Type) { return 2; })
      .Case([](BFloat16Type) { return 3; })
      .Case([](IntegerType integer) {
        int64_t kind = 4; // i1, i8, i16, i32, i64
        for (unsigned width = 1; width < integer.getWidth() && width < 64;
             width = std::max(8u, 2 * width))
          ++kind;
        return kind;
      });
}

func::CallOp MainBuilder::passScalar(StringRef name,
                                     SmallVector<Value> operands,
                                     const CallResult &result,
                                     func::CallOp call, TypeRange results) {
  if (!onDevice || result.buffer < 0) {
    operands.push_back(emitScalar(result, call));
    return callRuntime(name, operands, results);
  }
  operands.push_back(emitAddress(buffers[result.buffer]));
  operands.push_back(arith::ConstantIntOp::create(
      builder, getScalarKind(getScalarType(result.type)), 64));
  return callRuntime((name + "_at").str(), operands, results);
}

/// Next values that were not written in place: scalars and random states.
void MainBuilder::emitUpdates(ArrayRef<CallResult> results, func::CallOp call) {
  func::FuncOp step = description.step.function;
  for (const CallResult &result : results) {
    auto updates = result.attributes.getAs<IntegerAttr>(
        RematDialect::getUpdatesAttrName());
    if (!updates)
      continue;
    Value old = buffers[description.step.buffers[updates.getInt()]];
    if (result.buffer >= 0) {
      memref::CopyOp::create(builder, buffers[result.buffer], old);
      continue;
    }
    Value next = call.getResult(result.result);
    if (!isa<MemRefType>(next.getType())) {
      memref::StoreOp::create(builder, next, old, ValueRange{});
      continue;
    }
    Value returned =
        step.isExternal()
            ? Value()
            : step.getBody().front().getTerminator()->getOperand(result.result);
    if (returned != (step.isExternal()
                         ? Value(old)
                         : Value(step.getArgument(updates.getInt()))))
      memref::CopyOp::create(builder, next, old);
  }
}

void MainBuilder::emitEvaluation(Value count) {
  const Callee &callee = description.evaluation;
  if (!callee.function)
    return;
  Value lower = arith::ConstantIndexOp::create(builder, 0);
  Value stride = arith::ConstantIndexOp::create(builder, 1);
  Value upper =
      arith::IndexCastOp::create(builder, builder.getIndexType(), count);
  auto loop = scf::ForOp::create(builder, lower, upper, stride);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  callRuntime("eval_next", {});
  func::CallOp call = emitCall(callee, Value());
  int64_t index = 0;
  for (const CallResult &result : callee.results) {
    if (!getScalarType(result.type))
      continue;
    Value number = arith::ConstantIntOp::create(builder, index++, 64);
    passScalar("eval_result", {number}, result, call);
  }
}

LogicalResult MainBuilder::build() {
  ArrayRef<CallResult> results = description.step.results;
  const CallResult *loss = findLoss(results);
  func::FuncOp step = description.step.function;
  if (!loss)
    return step.emitError()
           << "the step returns no floating-point scalar, so there is no loss "
              "to report; mark one with 'remat.loss'";

  builder.setInsertionPointToEnd(module.getBody());
  auto main = func::FuncOp::create(builder, builder.getLoc(), "main",
                                   builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(main.addEntryBlock());
  callRuntime("begin", emitDescription());
  emitBuffers([&](Value index, Type bytes) {
    return callRuntime("buffer", index, bytes).getResult(0);
  });
  emitInitialValues();

  Type i64 = builder.getI64Type();
  auto loop = scf::WhileOp::create(builder, TypeRange{i64}, ValueRange{});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&loop.getBefore());
    Value step = callRuntime("next", {}, i64).getResult(0);
    Value zero = arith::ConstantIntOp::create(builder, 0, 64);
    Value goesOn =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, step, zero);
    scf::ConditionOp::create(builder, goesOn, step);

    builder.createBlock(&loop.getAfter(), {}, i64, builder.getLoc());
    func::CallOp call =
        emitCall(description.step, loop.getAfterArguments().front());
    emitUpdates(results, call);
    Value count = passScalar("done", {}, *loss, call, i64).getResult(0);
    emitEvaluation(count);
    scf::YieldOp::create(builder);
  }
  callRuntime("end", {});
  func::ReturnOp::create(builder);
  return success();
}

void MainBuilder::emitOutputs(ArrayRef<Output> outputs, func::CallOp call) {
  for (const Output &output : outputs) {
    if (output.result < 0)
      continue;
    Value value = call.getResult(output.result);
    if (isa<MemRefType>(value.getType()))
      memref::CopyOp::create(builder, value, buffers[output.buffer]);
    else
      memref::StoreOp::create(builder, value, buffers[output.buffer],
                              ValueRange{});
  }
}

/// `@name(%buffers: i64, %step: i64)`, with a view of each buffer.
Block *MainBuilder::beginFunction(StringRef name) {
  builder.setInsertionPointToEnd(module.getBody());
  Type i64 = builder.getI64Type();
  auto function = func::FuncOp::create(builder, builder.getLoc(), name,
                                       builder.getFunctionType({i64, i64}, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  buffers.clear();
  emitBuffers([&](Value index, Type bytes) {
    return createRuntimeCall(builder, builder.getLoc(), symbols,
                             "remat_rt_step_buffer",
                             {body->getArgument(0), index}, bytes)
        .getResult(0);
  });
  return body;
}

/// Returns true if `op` may fail by an assertion: of its own, or of a function
/// that it calls, which has one or calls others.
static bool mayFail(Operation *op) {
  auto find = [](Operation *inner) {
    return isa<cf::AssertOp, func::CallOp>(inner) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
  };
  return op
      ->walk([&](Operation *inner) {
        if (isa<cf::AssertOp>(inner))
          return WalkResult::interrupt();
        auto call = dyn_cast<func::CallOp>(inner);
        if (!call)
          return WalkResult::advance();
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
            call, call.getCalleeAttr());
        return callee ? callee.getBody().walk(find) : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Tells the runtime that states begin to change, if the step may fail from
/// there on.
void MainBuilder::markFirstWrite(func::FuncOp step) {
  Operation *first = findFirstStateWrite(step);
  bool mayFailAfter = false;
  for (Operation *op = first; op && !mayFailAfter; op = op->getNextNode())
    mayFailAfter = mayFail(op);
  if (!mayFailAfter)
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(first);
  createRuntimeCall(builder, first->getLoc(), symbols, "remat_rt_begin_writes",
                    {});
}

void MainBuilder::buildStepFunction(func::FuncOp step) {
  markFirstWrite(step);
  Block *body = beginFunction(kStepEntryName);
  func::CallOp call = emitCall(description.step, body->getArgument(1));
  emitUpdates(description.step.results, call);
  emitOutputs(description.outputs, call);
  func::ReturnOp::create(builder);
}

void MainBuilder::buildEvaluationFunction() {
  Block *body = beginFunction(kEvaluationEntryName);
  func::CallOp call = emitCall(description.evaluation, body->getArgument(1));
  emitOutputs(description.evaluationOutputs, call);
  func::ReturnOp::create(builder);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// A random state that never changes would repeat itself at every step.
static void warnOfConstantStates(func::FuncOp step,
                                 ArrayRef<CallResult> results) {
  for (BlockArgument argument : step.getArguments()) {
    bool isUpdated = llvm::any_of(results, [&](const CallResult &result) {
      auto updates = result.attributes.getAs<IntegerAttr>(
          RematDialect::getUpdatesAttrName());
      return updates && updates.getInt() == argument.getArgNumber();
    });
    if (isRandomState(argument.getType()) && !isUpdated)
      emitWarning(argument.getLoc())
          << "random state " << argument.getArgNumber()
          << " draws the same numbers at every step; return its next value";
  }
}

static LogicalResult lowerTrainStep(ModuleOp module, TrainStepOp train,
                                    bool onDevice, bool asFunction) {
  auto step = module.lookupSymbol<func::FuncOp>(train.getStep());
  if (!step)
    return train.emitOpError() << "needs the function " << train.getStepAttr()
                               << "; run -remat-insert-steps first";
  SmallVector<StringRef> names{"main"};
  if (asFunction)
    names = {kStepEntryName, kEvaluationEntryName};
  for (StringRef name : names)
    if (module.lookupSymbol(name))
      return train.emitOpError() << "becomes a function @" << name
                                 << ", but the module has one already";
  TrainDescription description(train);
  if (failed(description.addOptions()) || failed(description.addStep(step)) ||
      failed(description.addEvaluation()))
    return failure();
  warnOfConstantStates(step, description.step.results);
  if (asFunction) {
    if (failed(description.addOutputs()))
      return failure();
    MainBuilder builder(module, description, train.getLoc(), onDevice);
    builder.buildStepFunction(step);
    if (train.getEval())
      builder.buildEvaluationFunction();
    return success();
  }
  return MainBuilder(module, description, train.getLoc(), onDevice).build();
}

namespace {
struct LowerTrainStepPass
    : public remat::impl::LowerTrainStepBase<LowerTrainStepPass> {
  using LowerTrainStepBase::LowerTrainStepBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<TrainStepOp> trains(module.getOps<TrainStepOp>());
    if (trains.size() > 1) {
      trains[1].emitOpError()
          << "is the second of this module, but there is only one @main";
      return signalPassFailure();
    }
    for (TrainStepOp train : trains) {
      if (failed(lowerTrainStep(module, train, onDevice, asFunction)))
        return signalPassFailure();
      train.erase();
    }
    Mesh::erase(module);
    for (auto optimizer :
         llvm::make_early_inc_range(module.getOps<opt::OptimizerOp>()))
      if (SymbolTable::symbolKnownUseEmpty(optimizer, module))
        optimizer.erase();
  }
};
} // namespace
