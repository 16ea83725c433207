//===- ArithRules.cpp - Derivatives of arith and math on scalars ----------===//
//
// Scalar operations between tensor ones (a temperature, a mean over a dynamic
// count) have the rules that bodies of structured operations have.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "Adjoint.h"
#include "ScalarAdjoint.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::remat;

/// Puts `op` in a block of its own, as if it were the body of a structured
/// operation.
static LogicalResult buildScalarVJP(Operation *op, VJPContext &vjp) {
  Location loc = op->getLoc();
  Block body;
  IRMapping toBody, primals;
  for (Value operand : op->getOperands()) {
    if (toBody.contains(operand))
      continue;
    BlockArgument argument = body.addArgument(operand.getType(), loc);
    toBody.map(operand, argument);
    primals.map(argument, operand);
  }
  OpBuilder inner(op->getContext());
  inner.setInsertionPointToEnd(&body);
  Operation *clone = inner.clone(*op, toBody);
  for (auto [copied, original] :
       llvm::zip_equal(clone->getResults(), op->getResults()))
    primals.map(copied, original);
  linalg::YieldOp::create(inner, loc, clone->getResults());

  ScalarAdjoint adjoint(vjp.builder, loc, body, primals);
  for (auto [index, result] : llvm::enumerate(clone->getResults()))
    if (Value cotangent = vjp.cotangent(index))
      adjoint.seed(result, cotangent);
  SmallVector<Value> wanted;
  SmallVector<unsigned> indices;
  for (unsigned index : llvm::seq(op->getNumOperands())) {
    Value argument = toBody.lookup(op->getOperand(index));
    if (!vjp.isWanted(index) || llvm::is_contained(wanted, argument))
      continue;
    wanted.push_back(argument);
    indices.push_back(index);
  }
  if (failed(adjoint.propagate(wanted)))
    return failure();
  for (auto [index, argument] : llvm::zip_equal(indices, wanted))
    if (Value cotangent = adjoint.cotangent(argument))
      vjp.accumulate(index, cotangent);
  return success();
}

/// One condition that chooses between whole tensors.
static LogicalResult buildTensorSelectVJP(arith::SelectOp op, VJPContext &vjp) {
  Location loc = op.getLoc();
  Value cotangent = vjp.cotangent(0);
  Value zeros = createZerosLike(vjp.builder, loc, cotangent);
  if (vjp.isWanted(1))
    vjp.accumulate(1,
                   arith::SelectOp::create(vjp.builder, loc, op.getCondition(),
                                           cotangent, zeros));
  if (vjp.isWanted(2))
    vjp.accumulate(2,
                   arith::SelectOp::create(vjp.builder, loc, op.getCondition(),
                                           zeros, cotangent));
  return success();
}

namespace {
template <typename Op>
struct ScalarRule
    : DifferentiableOpInterface::ExternalModel<ScalarRule<Op>, Op> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    if (!isa<ShapedType>(op->getResult(0).getType()))
      return buildScalarVJP(op, vjp);
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return buildTensorSelectVJP(select, vjp);
    return op->emitOpError()
           << "on tensors is differentiated as a linalg.generic; run "
              "-convert-elementwise-to-linalg first";
  }
};
} // namespace

template <typename... Ops> static void attach(MLIRContext *context) {
  (Ops::template attachInterface<ScalarRule<Ops>>(*context), ...);
}

void mlir::remat::registerArithRules(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, arith::ArithDialect *dialect) {
        attach<arith::AddFOp, arith::DivFOp, arith::ExtFOp, arith::MaximumFOp,
               arith::MaxNumFOp, arith::MinimumFOp, arith::MinNumFOp,
               arith::MulFOp, arith::NegFOp, arith::RemFOp, arith::SelectOp,
               arith::SubFOp, arith::TruncFOp>(context);
      });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *dialect) {
    attach<math::AbsFOp, math::AcosOp, math::AcoshOp, math::AsinOp,
           math::AsinhOp, math::Atan2Op, math::AtanOp, math::AtanhOp,
           math::CbrtOp, math::CeilOp, math::ClampFOp, math::CopySignOp,
           math::CosOp, math::CoshOp, math::ErfOp, math::ErfcOp, math::Exp2Op,
           math::ExpM1Op, math::ExpOp, math::FPowIOp, math::FloorOp,
           math::FmaOp, math::Log10Op, math::Log1pOp, math::Log2Op, math::LogOp,
           math::PowFOp, math::RoundEvenOp, math::RoundOp, math::RsqrtOp,
           math::SinOp, math::SincosOp, math::SinhOp, math::SqrtOp, math::TanOp,
           math::TanhOp, math::TruncOp>(context);
  });
}
