//===- PrintRegions.cpp - What became a region ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::remat;

void mlir::remat::printRegions(raw_ostream &os, func::FuncOp function,
                               ArrayRef<RegionOp> regions) {
  auto isParameter = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &function.getBody().front() &&
           function.getArgAttr(argument.getArgNumber(),
                               opt::OptDialect::getParamAttrName());
  };
  size_t width = 6;
  for (RegionOp region : regions)
    width = std::max(width, region.getLabel().value_or("").size());
  os << "@" << function.getName() << ": " << regions.size() << " regions\n";
  auto printRow = [&](StringRef label, StringRef ops, StringRef params,
                      StringRef in, StringRef out, StringRef policy) {
    os << llvm::left_justify(label, width) << llvm::right_justify(ops, 8)
       << llvm::right_justify(params, 8) << llvm::right_justify(in, 14)
       << llvm::right_justify(out, 14) << "  " << policy << "\n";
  };
  printRow("region", "ops", "params", "bytes in", "bytes out", "policy");
  for (RegionOp region : regions) {
    int64_t params = 0, in = 0, out = 0;
    for (Value input : region.getInputs()) {
      if (isParameter(input))
        ++params;
      else
        in += estimateBytes(input.getType());
    }
    for (Value output : region.getOutputs())
      out += estimateBytes(output.getType());
    printRow(region.getLabel().value_or(""),
             std::to_string(region.getBodyBlock()->getOperations().size() - 1),
             std::to_string(params), std::to_string(in), std::to_string(out),
             debugString(region.getPolicyOrDefault()));
  }
}
