//===- MatrixRules.cpp - APOLLO, Muon and Adam-mini -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that know the rows and columns of a parameter.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace mlir::opt;
using Kind = Hyperparameter::Kind;

static bool isMatrix(RankedTensorType type) { return type.getRank() == 2; }

/// Fails unless the sizes of a parameter are known.
static LogicalResult verifySizes(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef what, RankedTensorType param) {
  if (param.hasStaticShape())
    return success();
  return emitError() << what << " needs to know the sizes of a parameter, but "
                     << "got " << param
                     << "; give it a group with another rule";
}

static Value emitSquare(Formula &f, ValueRange in) {
  return f.mul(in[0], in[0]);
}

//===----------------------------------------------------------------------===//
// APOLLO
//===----------------------------------------------------------------------===//

static constexpr StringRef kScalings[] = {"channel", "tensor"};

HyperparameterTable APOLLOAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate},
      {"rank", Kind::Count, 256, 1},
      {"scale", Kind::Real, 1.0},
      {"scaling", Kind::Choice, 0, 0, 0, kScalings},
      {"refresh", Kind::Count, 200, 1},
      {"growth", Kind::Real, 1.01, 1.0},
      {"b1", Kind::Real, 0.9, 0.0, 1.0},
      {"b2", Kind::Real, 0.999, 0.0, 1.0},
      {"eps", Kind::Real, 1e-6},
      {"weight_decay", Kind::Real, 0.0},
      kFloatStates,
      kRounding,
  };
  return table;
}

/// Returns the dimension of a matrix that is projected; nullopt if none is.
static std::optional<unsigned> findProjected(RankedTensorType param,
                                             int64_t rank) {
  if (!isMatrix(param))
    return std::nullopt;
  unsigned dim = param.getDimSize(0) >= param.getDimSize(1) ? 1 : 0;
  if (rank >= param.getDimSize(dim))
    return std::nullopt;
  return dim;
}

LogicalResult
APOLLOAttr::verifyParameter(function_ref<InFlightDiagnostic()> emitError,
                            RankedTensorType param, Operation *) const {
  return verifySizes(emitError, "#opt.apollo", param);
}

bool APOLLOAttr::drawsNumbers(RankedTensorType param) const {
  return findProjected(param, getCount("rank")).has_value();
}

SmallVector<RuleState> APOLLOAttr::getStates(RankedTensorType param,
                                             Operation *) const {
  SmallVector<int64_t> shape(param.getShape());
  if (std::optional<unsigned> dim = findProjected(param, getCount("rank")))
    shape[*dim] = getCount("rank");
  SmallVector<RuleState> states =
      getMoments(RankedTensorType::get(shape, param.getElementType()),
                 {{"m"}, {"v", /*isSigned=*/false}}, getChoice("states"));
  if (isMatrix(param))
    states.push_back({"norm", RankedTensorType::get(
                                  {}, getComputeType(param.getElementType()))});
  return states;
}

bool APOLLOAttr::isElementwise(Operation *) const { return false; }

SmallVector<Value> APOLLOAttr::emitScalars(OpBuilder &builder, Location loc,
                                           Value step, Value lr) const {
  Formula f{builder, loc};
  Value rate = f.div(f.mul(lr, f.sqrt(f.biasCorrection(getReal("b2"), step))),
                     f.biasCorrection(getReal("b1"), step));
  Value refresh =
      arith::ConstantIntOp::create(builder, loc, getCount("refresh"), 64);
  Value epoch = arith::DivSIOp::create(builder, loc, step, refresh);
  return {rate, f.kept(getReal("weight_decay"), lr), epoch};
}

namespace {
/// Factors of a matrix.
struct Scaling {
  /// Numbers for each index of `loops`, or one for all.
  Value factors;
  SmallVector<unsigned> loops;

  KernelInput getInput() const {
    return loops.empty() ? KernelInput(factors) : KernelInput(factors, loops);
  }
};
} // namespace

/// norm(m / (sqrt(v) + eps)) / (norm(r) + 1e-8), for each index of the loop
/// that is not projected, or for all; r is `reduced` times `unit`.
static Scaling emitScaling(UpdateKernels &kernels, Formula f, Value reduced,
                           double unit, ValueRange moments, double eps,
                           std::optional<unsigned> kept) {
  SmallVector<unsigned> loops;
  if (kept)
    loops.push_back(*kept);
  Value ofDirection = kernels.sum(
      {moments[0], moments[1]},
      [&](Formula &f, ValueRange in) {
        Value root = f.sqrt(in[1]);
        Value u = f.div(in[0], f.add(root, f.number(eps, root.getType())));
        return f.mul(u, u);
      },
      loops);
  Value ofReduced = kernels.sum(
      {reduced},
      [&](Formula &f, ValueRange in) {
        Value r = f.mul(unit, in[0]);
        return f.mul(r, r);
      },
      loops);
  auto emitRatio = [](Formula &f, Value above, Value below) {
    Value root = f.sqrt(below);
    return f.div(f.sqrt(above), f.add(root, f.number(1e-8, root.getType())));
  };
  if (!kept)
    return {emitRatio(f, ofDirection, ofReduced), {}};
  return {kernels
              .map({ofReduced}, ofDirection,
                   [&](Formula &f, ValueRange in) {
                     return SmallVector<Value>{emitRatio(f, in[1], in[0])};
                   })
              .front(),
          loops};
}

/// Returns by how much a direction of the norm `norm` (f64) is divided, so that
/// it grows by `growth` at most, and its norm then. There is no limit at first.
static std::pair<Value, Value> emitLimit(Formula f, Value norm, Value previous,
                                         double growth) {
  Type f64 = norm.getType();
  previous = convertFloat(f.builder, f.loc, previous, f64);
  Value ratio = f.div(norm, f.add(previous, f.number(1e-8, f64)));
  Value limit = f.div(f.max(ratio, growth), f.number(growth, f64));
  Value isFirst = arith::CmpFOp::create(
      f.builder, f.loc, arith::CmpFPredicate::OEQ, previous, f.number(0, f64));
  limit = arith::SelectOp::create(f.builder, f.loc, isFirst, f.number(1, f64),
                                  limit);
  return {limit, f.div(norm, limit)};
}

SmallVector<Value> APOLLOAttr::emitTensorUpdate(OpBuilder &builder,
                                                Location loc, Value param,
                                                Value grad, ValueRange states,
                                                ValueRange scalars,
                                                Operation *user) const {
  UpdateKernels kernels(builder, loc, scalars.front().getType());
  Formula f{builder, loc};
  auto type = cast<RankedTensorType>(param.getType());
  int64_t rank = getCount("rank");
  double eps = getReal("eps");
  Value rate = scalars[0], kept = scalars[1], epoch = scalars[2];
  auto decay = [&](Formula &f, Value p, Value kept) {
    return getReal("weight_decay") == 0 ? p : f.mul(p, kept);
  };

  // Signs are exact in any type: products of them and of what a gradient has in
  // bf16 are those of a library.
  Value reduced = grad;
  double unit = 1;
  std::optional<unsigned> projected = findProjected(type, rank);
  if (projected) {
    unit = 1 / std::sqrt(static_cast<double>(rank));
    Value signs = kernels.drawSigns(rank, type.getDimSize(*projected),
                                    getElementTypeOrSelf(grad),
                                    cast<EagerStepOp>(user).getKey(), epoch);
    reduced = *projected == 0
                  ? kernels.multiply(signs, grad)
                  : kernels.multiply(grad, signs, /*transposesA=*/false,
                                     /*transposesB=*/true);
  } else if (isMatrix(type)) {
    emitWarning(loc) << "the rank " << rank << " of #opt.apollo is no smaller "
                     << "than the smaller side of '"
                     << cast<EagerStepOp>(user).getParameter() << "' ("
                     << type.getDimSize(0) << "x" << type.getDimSize(1)
                     << "): its moments are those of all of the gradient";
  }
  SmallVector<Value> results;
  SmallVector<Value> moments = kernels.map(
      {reduced}, states.take_front(2), [&](Formula &f, ValueRange in) {
        Value r = f.mul(unit, in[0]);
        return SmallVector<Value>{f.firstMoment(getReal("b1"), in[1], r),
                                  f.secondMoment(getReal("b2"), in[2], r)};
      });
  if (!isMatrix(type)) {
    results = kernels.map(
        {moments[0], moments[1], rate, kept}, param,
        [&](Formula &f, ValueRange in) {
          Value root = f.sqrt(in[1]);
          Value u = f.div(in[0], f.add(root, f.number(eps, root.getType())));
          return SmallVector<Value>{
              decay(f, f.sub(in[4], f.mul(in[2], u)), in[3])};
        });
    llvm::append_range(results, moments);
    return results;
  }

  std::optional<unsigned> channel;
  if (getChoice("scaling") == "channel")
    channel = type.getDimSize(0) >= type.getDimSize(1) ? 0 : 1;
  Scaling scaling =
      emitScaling(kernels, f, reduced, unit, moments, eps, channel);
  Value square =
      kernels.sum({grad, scaling.getInput()}, [](Formula &f, ValueRange in) {
        Value scaled = f.mul(in[0], in[1]);
        return f.mul(scaled, scaled);
      });
  Value previous =
      tensor::ExtractOp::create(builder, loc, states[2], ValueRange{});
  auto [limit, norm] =
      emitLimit(f, f.sqrt(square), previous, getReal("growth"));
  Value factor = f.div(f.mul(std::sqrt(getReal("scale")),
                             convertFloat(builder, loc, rate, limit.getType())),
                       limit);
  results = kernels.map({grad, scaling.getInput(), factor, kept}, param,
                        [&](Formula &f, ValueRange in) {
                          Value scaled = f.mul(in[0], in[1]);
                          return SmallVector<Value>{decay(
                              f, f.sub(in[4], f.mul(in[2], scaled)), in[3])};
                        });
  llvm::append_range(results, moments);
  llvm::append_range(
      results, kernels.map({norm}, states[2], [](Formula &, ValueRange in) {
        return SmallVector<Value>{in[0]};
      }));
  return results;
}

//===----------------------------------------------------------------------===//
// Muon
//===----------------------------------------------------------------------===//

static constexpr StringRef kAdjustments[] = {"original", "match_rms_adamw"};

HyperparameterTable MuonAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate, 1e-3},
      {"momentum", Kind::Real, 0.95},
      {"nesterov", Kind::Flag, 1.0},
      {"steps", Kind::Count, 5, 1, 100},
      {"adjust", Kind::Choice, 0, 0, 0, kAdjustments},
      {"eps", Kind::Real, 1e-7},
      {"weight_decay", Kind::Real, 0.1},
      kStates,
      kRounding,
  };
  return table;
}

LogicalResult
MuonAttr::verifyParameter(function_ref<InFlightDiagnostic()> emitError,
                          RankedTensorType param, Operation *) const {
  if (!isMatrix(param))
    return emitError() << "#opt.muon updates matrices, but got " << param
                       << "; give it a group with another rule, such as "
                          "'rule = #opt.adamw<lr = 3.0e-4>'";
  return verifySizes(emitError, "#opt.muon", param);
}

SmallVector<RuleState> MuonAttr::getStates(RankedTensorType param,
                                           Operation *) const {
  return getMoments(param, {{"momentum"}}, getChoice("states"));
}

bool MuonAttr::isElementwise(Operation *) const { return false; }

SmallVector<Value> MuonAttr::emitScalars(OpBuilder &builder, Location loc,
                                         Value, Value lr) const {
  return {lr, Formula{builder, loc}.kept(getReal("weight_decay"), lr)};
}

/// The nearest orthogonal matrix, about, by Newton and Schulz's iteration.
static Value orthogonalize(UpdateKernels &kernels, Formula f, Value x,
                           int64_t steps, double eps) {
  // Keller Jordan's coefficients: singular values end between 0.7 and 1.2.
  constexpr double kLinear = 3.4445, kCubic = -4.775, kQuintic = 2.0315;
  auto type = cast<RankedTensorType>(x.getType());
  bool isTall = type.getDimSize(0) > type.getDimSize(1);
  Value norm = f.max(f.sqrt(kernels.sum({x}, emitSquare)), eps);
  x = kernels
          .map({norm}, x,
               [](Formula &f, ValueRange in) {
                 return SmallVector<Value>{f.div(in[1], in[0])};
               })
          .front();
  for (int64_t i = 0; i < steps; ++i) {
    Value gram = kernels.multiply(x, x, isTall, !isTall);
    Value terms = kernels
                      .map({gram}, kernels.multiply(gram, gram),
                           [&](Formula &f, ValueRange in) {
                             return SmallVector<Value>{f.add(
                                 f.mul(kCubic, in[0]), f.mul(kQuintic, in[1]))};
                           })
                      .front();
    Value next =
        isTall ? kernels.multiply(x, terms) : kernels.multiply(terms, x);
    x = kernels
            .map({x}, next,
                 [&](Formula &f, ValueRange in) {
                   return SmallVector<Value>{
                       f.add(f.mul(kLinear, in[0]), in[1])};
                 })
            .front();
  }
  return x;
}

SmallVector<Value> MuonAttr::emitTensorUpdate(OpBuilder &builder, Location loc,
                                              Value param, Value grad,
                                              ValueRange states,
                                              ValueRange scalars,
                                              Operation *) const {
  UpdateKernels kernels(builder, loc, scalars.front().getType());
  Formula f{builder, loc};
  ArrayRef<int64_t> shape = cast<RankedTensorType>(param.getType()).getShape();
  Value direction =
      tensor::EmptyOp::create(builder, loc, shape, scalars.front().getType());
  SmallVector<Value> news = kernels.map(
      {grad}, {states[0], direction}, [&](Formula &f, ValueRange in) {
        double momentum = getReal("momentum");
        Value buffer = f.firstMoment(momentum, in[1], in[0]);
        Value next = getFlag("nesterov")
                         ? f.add(in[0], f.mul(momentum, f.sub(buffer, in[0])))
                         : buffer;
        return SmallVector<Value>{buffer, next};
      });
  Value x =
      orthogonalize(kernels, f, news[1], getCount("steps"), getReal("eps"));
  double rows = shape[0], columns = shape[1];
  double ratio = getChoice("adjust") == "original"
                     ? std::sqrt(std::max(1.0, rows / columns))
                     : 0.2 * std::sqrt(std::max(rows, columns));
  SmallVector<Value> results = kernels.map(
      {x, scalars[0], scalars[1]}, param, [&](Formula &f, ValueRange in) {
        Value p = getReal("weight_decay") == 0 ? in[3] : f.mul(in[3], in[2]);
        return SmallVector<Value>{f.sub(p, f.mul(f.mul(ratio, in[1]), in[0]))};
      });
  results.push_back(news[0]);
  return results;
}

//===----------------------------------------------------------------------===//
// Adam-mini
//===----------------------------------------------------------------------===//

HyperparameterTable AdamMiniAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate},
      {"dim", Kind::Count, 0, -Hyperparameter::kInfinity},
      // 0: one for each index.
      {"blocks", Kind::Count, 0},
      {"b1", Kind::Real, 0.9, 0.0, 1.0},
      {"b2", Kind::Real, 0.999, 0.0, 1.0},
      {"eps", Kind::Real, 1e-8},
      {"weight_decay", Kind::Real, 0.0},
      kFloatStates,
      kRounding,
  };
  return table;
}

/// The dimension of a parameter that is cut into blocks, and how many; nullopt
/// if each element has a moment of its own.
static std::optional<std::pair<unsigned, int64_t>>
findBlocks(RankedTensorType param, int64_t dim, int64_t blocks) {
  if (param.getRank() < 2)
    return std::nullopt;
  dim = dim < 0 ? dim + param.getRank() : dim;
  return std::pair(dim, blocks == 0 ? param.getDimSize(dim) : blocks);
}

LogicalResult
AdamMiniAttr::verifyParameter(function_ref<InFlightDiagnostic()> emitError,
                              RankedTensorType param, Operation *) const {
  if (failed(verifySizes(emitError, "#opt.adam_mini", param)))
    return failure();
  if (param.getRank() < 2)
    return success();
  int64_t dim = getCount("dim"), rank = param.getRank();
  if (dim < -rank || dim >= rank)
    return emitError() << "'dim' of #opt.adam_mini is " << dim << ", but "
                       << param << " has " << rank << " dimensions";
  auto [position, blocks] = *findBlocks(param, dim, getCount("blocks"));
  int64_t size = param.getDimSize(position);
  if (blocks > 0 && size % blocks != 0)
    return emitError() << "the " << blocks << " blocks of #opt.adam_mini do "
                       << "not divide the " << size << " indices of dimension "
                       << position << " of " << param
                       << "; give it a group with other 'blocks'";
  return success();
}

SmallVector<RuleState> AdamMiniAttr::getStates(RankedTensorType param,
                                               Operation *) const {
  auto blocks = findBlocks(param, getCount("dim"), getCount("blocks"));
  if (!blocks)
    return getMoments(param, {{"m"}, {"v", /*isSigned=*/false}},
                      getChoice("states"));
  SmallVector<RuleState> states =
      getMoments(param, {{"m"}}, getChoice("states"));
  states.push_back(
      {"v", RankedTensorType::get({blocks->second},
                                  getComputeType(param.getElementType()))});
  return states;
}

bool AdamMiniAttr::isElementwise(Operation *) const { return false; }

SmallVector<Value> AdamMiniAttr::emitScalars(OpBuilder &builder, Location loc,
                                             Value step, Value lr) const {
  Formula f{builder, loc};
  return {f.div(lr, f.biasCorrection(getReal("b1"), step)),
          f.sqrt(f.biasCorrection(getReal("b2"), step)),
          f.kept(getReal("weight_decay"), lr)};
}

SmallVector<Value> AdamMiniAttr::emitTensorUpdate(OpBuilder &builder,
                                                  Location loc, Value param,
                                                  Value grad, ValueRange states,
                                                  ValueRange scalars,
                                                  Operation *) const {
  UpdateKernels kernels(builder, loc, scalars.front().getType());
  auto type = cast<RankedTensorType>(param.getType());
  double b2 = getReal("b2");
  auto blocks = findBlocks(type, getCount("dim"), getCount("blocks"));
  Value v;
  std::optional<KernelInput> vOfElement;
  if (!blocks) {
    v = kernels
            .map({grad}, states[1],
                 [&](Formula &f, ValueRange in) {
                   return SmallVector<Value>{f.secondMoment(b2, in[1], in[0])};
                 })
            .front();
    vOfElement = KernelInput(v);
  } else {
    auto [dim, count] = *blocks;
    int64_t size = type.getDimSize(dim);
    Value sums = kernels.sum({grad}, emitSquare, ArrayRef<unsigned>(dim));
    if (count != size)
      sums = kernels.sum(
          {kernels.reshape(sums, {count, size / count})},
          [](Formula &, ValueRange in) { return in[0]; },
          ArrayRef<unsigned>(0u));
    double elements = static_cast<double>(type.getNumElements()) / count;
    v = kernels
            .map({sums}, states[1],
                 [&](Formula &f, ValueRange in) {
                   Value mean =
                       f.div(in[0], f.number(elements, in[0].getType()));
                   return SmallVector<Value>{
                       f.add(f.mul(b2, in[1]), f.mul(1 - b2, mean))};
                 })
            .front();
    Value repeated = v;
    if (count != size) {
      Value empty = tensor::EmptyOp::create(
          builder, loc, ArrayRef<int64_t>{count, size / count},
          scalars.front().getType());
      repeated = kernels.reshape(
          kernels
              .map({KernelInput(v, ArrayRef<unsigned>(0u))}, empty,
                   [](Formula &, ValueRange in) {
                     return SmallVector<Value>{in[0]};
                   })
              .front(),
          size);
    }
    vOfElement = KernelInput(repeated, ArrayRef<unsigned>(dim));
  }
  SmallVector<Value> results = kernels.map(
      {grad, *vOfElement, scalars[0], scalars[1], scalars[2]},
      {param, states[0]}, [&](Formula &f, ValueRange in) {
        Value m = in[6], p = in[5];
        m = f.firstMoment(getReal("b1"), m, in[0]);
        Value denominator = f.add(f.div(f.sqrt(in[1]), in[3]),
                                  f.number(getReal("eps"), m.getType()));
        if (getReal("weight_decay") != 0)
          p = f.mul(p, in[4]);
        return SmallVector<Value>{f.sub(p, f.mul(in[2], f.div(m, denominator))),
                                  m};
      });
  results.push_back(v);
  return results;
}
