//===- TensorRules.cpp - LAMB and Adafactor -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that reduce over the gradient: terms of single elements are recomputed
// in every kernel that needs them, so that no kernel needs memory beside its
// sums.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"

using namespace mlir;
using namespace mlir::opt;
using Kind = Hyperparameter::Kind;

/// The root of the mean of squares, from their sum.
static Value emitRootMean(Formula &f, Value sum, Value count) {
  return f.sqrt(f.div(sum, count));
}

//===----------------------------------------------------------------------===//
// LAMB
//===----------------------------------------------------------------------===//

HyperparameterTable LAMBAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate},
      {"b1", Kind::Real, 0.9, 0.0, 1.0},
      {"b2", Kind::Real, 0.999, 0.0, 1.0},
      {"eps", Kind::Real, 1e-6},
      {"weight_decay", Kind::Real, 0.0},
      kStates,
      kRounding,
  };
  return table;
}

SmallVector<RuleState> LAMBAttr::getStates(RankedTensorType param,
                                           Operation *) const {
  return getMoments(param, {{"m"}, {"v", /*isSigned=*/false}},
                    getChoice("states"));
}

bool LAMBAttr::isElementwise(Operation *) const { return false; }

SmallVector<Value> LAMBAttr::emitScalars(OpBuilder &builder, Location loc,
                                         Value step, Value lr) const {
  Formula f{builder, loc};
  return {lr, f.biasCorrection(getReal("b1"), step),
          f.biasCorrection(getReal("b2"), step)};
}

SmallVector<Value> LAMBAttr::emitTensorUpdate(OpBuilder &builder, Location loc,
                                              Value param, Value grad,
                                              ValueRange states,
                                              ValueRange scalars,
                                              Operation *) const {
  UpdateKernels kernels(builder, loc, scalars.front().getType());
  SmallVector<Value> moments =
      kernels.map({grad}, states, [&](Formula &f, ValueRange in) {
        return SmallVector<Value>{f.firstMoment(getReal("b1"), in[1], in[0]),
                                  f.secondMoment(getReal("b2"), in[2], in[0])};
      });
  auto emitDirection = [&](Formula &f, Value m, Value v, Value b1, Value b2,
                           Value p) {
    Value root = f.sqrt(f.div(v, b2));
    Value u = f.div(f.div(m, b1),
                    f.add(root, f.number(getReal("eps"), root.getType())));
    if (getReal("weight_decay") == 0)
      return u;
    return f.add(u, f.mul(getReal("weight_decay"), p));
  };
  Value ofParam = kernels.sum(
      {param}, [](Formula &f, ValueRange in) { return f.mul(in[0], in[0]); });
  Value ofDirection =
      kernels.sum({moments[0], moments[1], scalars[1], scalars[2], param},
                  [&](Formula &f, ValueRange in) {
                    Value u =
                        emitDirection(f, in[0], in[1], in[2], in[3], in[4]);
                    return f.mul(u, u);
                  });
  // The ratio of the norms; 1 where one of them is 0.
  Formula f{builder, loc};
  Value one = f.number(1, builder.getF64Type());
  Value zero = f.number(0, builder.getF64Type());
  Value ratio = f.div(f.sqrt(ofParam), f.sqrt(ofDirection));
  for (Value square : {ofParam, ofDirection}) {
    Value isZero = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OEQ, square, zero);
    ratio = arith::SelectOp::create(builder, loc, isZero, one, ratio);
  }
  SmallVector<Value> results = kernels.map(
      {moments[0], moments[1], scalars[1], scalars[2], scalars[0], ratio},
      param, [&](Formula &f, ValueRange in) {
        Value p = in[6];
        Value u = emitDirection(f, in[0], in[1], in[2], in[3], p);
        return SmallVector<Value>{f.sub(p, f.mul(f.mul(in[4], in[5]), u))};
      });
  llvm::append_range(results, moments);
  return results;
}

//===----------------------------------------------------------------------===//
// Adafactor
//===----------------------------------------------------------------------===//

HyperparameterTable AdafactorAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate, 0.01},
      {"beta2_decay", Kind::Real, -0.8, -Hyperparameter::kInfinity, 0.0},
      // The machine epsilon of f32.
      {"eps1", Kind::Real, 1.1920928955078125e-07},
      {"eps2", Kind::Real, 1e-3},
      {"d", Kind::Real, 1.0},
      {"weight_decay", Kind::Real, 0.0},
      kRounding,
  };
  return table;
}

namespace {
/// Which loops of a parameter of rank 2 or more its states keep.
struct Factors {
  SmallVector<unsigned> row, col, batch;
  unsigned lastRow, lastCol;

  explicit Factors(int64_t rank) : lastRow(rank - 2), lastCol(rank - 1) {
    for (unsigned loop = 0; loop < lastRow; ++loop)
      batch.push_back(loop);
    row = col = batch;
    row.push_back(lastRow);
    col.push_back(lastCol);
  }
};
} // namespace

SmallVector<RuleState> AdafactorAttr::getStates(RankedTensorType param,
                                                Operation *) const {
  if (param.getRank() < 2)
    return getElementwiseStates(param, {"v"});
  Factors factors(param.getRank());
  auto getState = [&](StringRef name, ArrayRef<unsigned> loops) {
    SmallVector<int64_t> shape;
    for (unsigned loop : loops)
      shape.push_back(param.getDimSize(loop));
    return RuleState{
        name.str(),
        RankedTensorType::get(shape, getComputeType(param.getElementType()))};
  };
  return {getState("row", factors.row), getState("col", factors.col)};
}

bool AdafactorAttr::isElementwise(Operation *) const { return false; }

SmallVector<Value> AdafactorAttr::emitScalars(OpBuilder &builder, Location loc,
                                              Value step, Value lr) const {
  Formula f{builder, loc};
  Type f64 = builder.getF64Type();
  Value t = f.count(step);
  Value weight = math::PowFOp::create(builder, loc, t,
                                      f.number(getReal("beta2_decay"), f64));
  Value rate = f.min(lr, f.div(f.number(1, f64), f.sqrt(t)));
  return {rate, weight, f.kept(getReal("weight_decay"), lr)};
}

SmallVector<Value>
AdafactorAttr::emitTensorUpdate(OpBuilder &builder, Location loc, Value param,
                                Value grad, ValueRange states,
                                ValueRange scalars, Operation *) const {
  UpdateKernels kernels(builder, loc, scalars.front().getType());
  Formula f{builder, loc};
  Value weight = scalars[1];
  auto square = [](Formula &f, ValueRange in) { return f.mul(in[0], in[0]); };
  // old + weight * (new - old)
  auto emitMean = [](Formula &f, Value old, Value mean, Value weight) {
    return f.add(old, f.mul(weight, f.sub(mean, old)));
  };

  // The states, and what the second moment of an element is made of.
  SmallVector<Value> moments;
  SmallVector<KernelInput> inputs = {grad};
  if (states.size() == 1) {
    moments =
        kernels.map({grad, weight}, states, [&](Formula &f, ValueRange in) {
          Value mean = f.mul(in[0], in[0]);
          return SmallVector<Value>{emitMean(f, in[2], mean, in[1])};
        });
    inputs.push_back(moments[0]);
  } else {
    int64_t rank = cast<RankedTensorType>(param.getType()).getRank();
    Factors factors(rank);
    auto updateMoment = [&](Value state, ArrayRef<unsigned> kept,
                            unsigned summed) {
      Value sum = kernels.sum({grad}, square, kept);
      Value count = kernels.count(grad, ArrayRef(summed));
      return kernels
          .map({sum, count, weight}, state,
               [&](Formula &f, ValueRange in) {
                 return SmallVector<Value>{
                     emitMean(f, in[3], f.div(in[0], in[1]), in[2])};
               })
          .front();
    };
    moments = {updateMoment(states[0], factors.row, factors.lastCol),
               updateMoment(states[1], factors.col, factors.lastRow)};
    Value sumOfRow = kernels.sum(
        {moments[0]}, [](Formula &, ValueRange in) { return in[0]; },
        factors.batch);
    llvm::append_values(
        inputs, KernelInput(moments[0], factors.row),
        KernelInput(moments[1], factors.col),
        factors.batch.empty() ? KernelInput(sumOfRow)
                              : KernelInput(sumOfRow, factors.batch),
        KernelInput(kernels.count(grad, ArrayRef(factors.lastRow))));
  }
  auto emitDirection = [&](Formula &f, ValueRange in) {
    Value v = in[1];
    if (states.size() == 2)
      v = f.div(f.mul(in[1], in[2]),
                f.max(f.div(in[3], in[4]), getReal("eps1")));
    return f.div(in[0], f.sqrt(f.max(v, getReal("eps1") * getReal("eps1"))));
  };

  Value count = kernels.count(param);
  Value ofDirection = kernels.sum(inputs, [&](Formula &f, ValueRange in) {
    Value u = emitDirection(f, in);
    return f.mul(u, u);
  });
  Value ofParam = kernels.sum({param}, square);
  Value limit =
      f.max(f.mul(1 / getReal("d"), emitRootMean(f, ofDirection, count)), 1);
  Value size =
      f.div(f.max(emitRootMean(f, ofParam, count), getReal("eps2")), limit);
  unsigned numInputs = inputs.size();
  llvm::append_values(inputs, KernelInput(size), KernelInput(scalars[0]),
                      KernelInput(scalars[2]));
  SmallVector<Value> results =
      kernels.map(inputs, param, [&](Formula &f, ValueRange in) {
        Value u = emitDirection(f, in);
        Value size = in[numInputs], rate = in[numInputs + 1];
        Value p = f.mul(in[numInputs + 2], in[numInputs + 3]);
        return SmallVector<Value>{f.sub(p, f.mul(f.mul(size, rate), u))};
      });
  llvm::append_range(results, moments);
  return results;
}
