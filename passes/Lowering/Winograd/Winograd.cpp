//===- Winograd.cpp - Kernels of Winograd convolutions --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Winograd/Winograd.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Winograd/WinogradPlan.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::dist;

std::optional<ConvolutionKernel>
mlir::dist::parseConvolutionKernel(StringRef name) {
  return llvm::StringSwitch<std::optional<ConvolutionKernel>>(name)
      .Case("auto", ConvolutionKernel::Auto)
      .Case("direct", ConvolutionKernel::Direct)
      .Case("winograd", ConvolutionKernel::Winograd)
      .Default(std::nullopt);
}

int64_t mlir::dist::getHostVectorBits() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (features.lookup("avx512f"))
    return 512;
  return features.lookup("avx2") ? 256 : 128;
}

/// An rt.fused of one op, which `create` makes of the block's arguments.
static rt::FusedOp
createKernel(OpBuilder &b, Location loc, TypeRange results, ValueRange inputs,
             int64_t rows, int64_t threads,
             llvm::function_ref<Operation *(ValueRange)> create) {
  auto fused = rt::FusedOp::create(
      b, loc, results, inputs, b.getDenseI64ArrayAttr({rows}),
      b.getI64IntegerAttr(1), b.getI64IntegerAttr(std::min(rows, threads)));
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&fused.getBody(), {}, inputs.getTypes(),
                               SmallVector<Location>(inputs.size(), loc));
  Operation *op = create(block->getArguments());
  rt::YieldOp::create(b, loc, op->getResults());
  return fused;
}

namespace {

/// The types of a kernel's results, `output` and a scratch for each chunk, and
/// of its op's.
struct ResultTypes {
  ResultTypes(Type output, int64_t scratch, int64_t rows, int64_t threads) {
    Type element = Float32Type::get(output.getContext());
    op = {output, RankedTensorType::get({scratch}, element)};
    kernel = {output, RankedTensorType::get({std::min(rows, threads), scratch},
                                            element)};
  }
  SmallVector<Type> kernel, op;
};

} // namespace

Value mlir::dist::createWinograd(OpBuilder &b, Location loc,
                                 const WinogradConvolution &convolution,
                                 const ConvolutionTarget &target) {
  std::optional<WinogradPlan> plan = planWinograd(
      cast<RankedTensorType>(convolution.input.getType()), convolution.output,
      convolution.isPrepared ? WinogradUse::Prepared : WinogradUse::Convolution,
      target);
  if (!plan)
    return {};
  int64_t rows = plan->getBlocks();
  ResultTypes types(convolution.output,
                    rt::WinogradOp::getScratchElements(
                        plan->blockTiles, plan->inputs, plan->columns,
                        plan->hasPanels ? plan->depth * plan->columns : 0),
                    rows, target.threads);
  SmallVector<Value> inputs{convolution.input, convolution.filter};
  if (convolution.bias)
    inputs.push_back(convolution.bias);
  auto getBias = [&](ValueRange arguments) {
    return convolution.bias ? arguments[2] : Value();
  };
  if (plan->hasPanels)
    return createKernel(b, loc, types.kernel, inputs, rows, target.threads,
                        [&](ValueRange arguments) {
                          return rt::WinogradPanelsOp::create(
                              b, loc, types.op, arguments[0], arguments[1],
                              getBias(arguments), convolution.padLow,
                              convolution.filterStrides, convolution.rotate,
                              plan->blockTiles, plan->columns, plan->depth,
                              plan->lanes, convolution.relu);
                        })
        .getResult(0);
  int64_t blocks = plan->outputs / plan->columns;
  auto factors = RankedTensorType::get(
      {36, blocks, plan->inputs, plan->columns}, b.getF32Type());
  inputs[1] = createKernel(b, loc, factors, convolution.filter,
                           blocks * plan->inputs / plan->lanes, target.threads,
                           [&](ValueRange arguments) {
                             return rt::WinogradFilterOp::create(
                                 b, loc, factors, arguments[0],
                                 convolution.filterStrides, plan->lanes,
                                 convolution.rotate);
                           })
                  .getResult(0);
  return createKernel(b, loc, types.kernel, inputs, rows, target.threads,
                      [&](ValueRange arguments) {
                        return rt::WinogradOp::create(
                            b, loc, types.op, arguments[0], arguments[1],
                            getBias(arguments), convolution.padLow,
                            plan->blockTiles, plan->lanes, convolution.relu);
                      })
      .getResult(0);
}

Value mlir::dist::createWinogradFilterGrad(
    OpBuilder &b, Location loc, const WinogradConvolution &convolution,
    Value grad, RankedTensorType filter, const ConvolutionTarget &target) {
  std::optional<WinogradPlan> plan = planWinograd(
      cast<RankedTensorType>(convolution.input.getType()),
      cast<RankedTensorType>(grad.getType()), WinogradUse::FilterGrad, target);
  if (!plan)
    return {};
  Value inputs[] = {convolution.input, grad};
  if (plan->hasPanels) {
    int64_t rows = plan->inputs / plan->depth;
    ResultTypes types(filter,
                      rt::WinogradOp::getScratchElements(
                          plan->tiles, plan->depth, plan->outputs,
                          plan->depth * plan->columns),
                      rows, target.threads);
    return createKernel(b, loc, types.kernel, inputs, rows, target.threads,
                        [&](ValueRange arguments) {
                          return rt::WinogradPanelsGradOp::create(
                              b, loc, types.op, arguments[0], arguments[1],
                              convolution.padLow, convolution.filterStrides,
                              plan->tiles, plan->columns, plan->depth,
                              plan->lanes);
                        })
        .getResult(0);
  }
  int64_t rows = plan->getBlocks();
  Type element = b.getF32Type();
  ResultTypes types(
      RankedTensorType::get({36, plan->inputs, plan->outputs}, element),
      rt::WinogradOp::getScratchElements(plan->blockTiles, plan->inputs,
                                         plan->outputs),
      rows, target.threads);
  types.kernel[0] = RankedTensorType::get(
      {std::min(rows, target.threads), 36, plan->inputs, plan->outputs},
      element);
  Value sums = createKernel(b, loc, types.kernel, inputs, rows, target.threads,
                            [&](ValueRange arguments) {
                              return rt::WinogradProductsOp::create(
                                  b, loc, types.op, arguments[0], arguments[1],
                                  convolution.padLow, plan->blockTiles,
                                  plan->columns, plan->lanes);
                            })
                   .getResult(0);
  return createKernel(b, loc, filter, sums, plan->inputs, target.threads,
                      [&](ValueRange arguments) {
                        return rt::WinogradFilterGradOp::create(
                            b, loc, filter, arguments[0],
                            convolution.filterStrides, plan->lanes);
                      })
      .getResult(0);
}
