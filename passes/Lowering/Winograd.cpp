//===- Winograd.cpp - Which convolutions are Winograd's -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Winograd.h"
#include "passes/Lowering/LibraryKernels.h"
#include "passes/Lowering/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
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

namespace {

/// How a convolution is cut into blocks.
struct Blocking {
  int64_t images, height, width, inputs, outputs;
  int64_t lanes;
  /// Output channels that are multiplied at once; 4 tiles of them fill the
  /// registers.
  int64_t columns;
  /// Tiles of 4x4: all, and those of a block.
  int64_t tiles, blockTiles;
  /// Of the elements in memory.
  bool isNarrow;
  /// Of the library's direct convolution, beside its f32.
  double directSpeed;
};

} // namespace

static double getDirectSpeed(Type element, const ConvolutionTarget &target) {
  if (element.isF32())
    return 1;
  return target.narrowSpeed
             ? target.narrowSpeed
             : ::dist::cpu::getMultiplySpeed(getDataType(element));
}

static std::optional<Blocking> findBlocking(RankedTensorType input,
                                            RankedTensorType output,
                                            const ConvolutionTarget &target) {
  Blocking blocking;
  blocking.images = output.getDimSize(0);
  blocking.height = output.getDimSize(1);
  blocking.width = output.getDimSize(2);
  blocking.outputs = output.getDimSize(3);
  blocking.inputs = input.getDimSize(3);
  if (output.getNumElements() == 0 || input.getNumElements() == 0)
    return std::nullopt;
  Type element = input.getElementType();
  blocking.isNarrow = !element.isF32();
  blocking.directSpeed = getDirectSpeed(element, target);
  blocking.lanes = target.vectorBits / 32;
  // AVX2 has 16 registers, the others 32.
  int64_t vectors = target.vectorBits == 256 ? 2 : 4;
  while (vectors > 1 && blocking.outputs % (vectors * blocking.lanes) != 0)
    vectors /= 2;
  blocking.columns = vectors * blocking.lanes;
  if (blocking.inputs % blocking.lanes != 0 ||
      blocking.outputs % blocking.columns != 0)
    return std::nullopt;
  blocking.tiles = blocking.images * llvm::divideCeil(blocking.height, 4) *
                   llvm::divideCeil(blocking.width, 4);
  // Measured at 64 to 512 channels: a block's matrices stay in 1 to 2 MiB of
  // cache; from 256 channels on the filter's don't, and more tiles share what
  // is read of them.
  blocking.blockTiles = blocking.inputs < 256 ? 32 : 64;
  int64_t share = llvm::divideCeil(blocking.tiles, target.threads);
  blocking.blockTiles =
      std::min<int64_t>(blocking.blockTiles, llvm::alignTo(share, 4));
  return blocking;
}

/// Seconds of one core: measured at 2.8 GHz with AVX-512, 64 to 512 channels
/// and 32 images. On another machine both sides of the comparison scale about
/// alike.
static bool isFaster(const Blocking &blocking, bool isPrepared) {
  double channels = double(blocking.inputs) * blocking.outputs;
  double pixels = double(blocking.images) * blocking.height * blocking.width;
  // Both read all weights, of which Winograd's are four times as many; direct
  // ones are read once for each few pixels.
  double direct = 2 * 9 * channels * pixels / (125e9 * blocking.directSpeed) +
                  9 * 4 * channels * 1e-9;
  double winograd =
      2 * 36 * channels * blocking.tiles / 125e9 + 36 * 4 * channels * 0.13e-9;
  winograd += 12e-9 * blocking.tiles * (blocking.inputs + blocking.outputs);
  if (!isPrepared)
    winograd += 36 * 4 * channels * 0.32e-9;
  // What is gained must be worth the rounding, which narrow results exceed by
  // far: 2^-9 of bf16 against some 1e-6.
  return winograd < (blocking.isNarrow ? 0.9 : 0.8) * direct;
}

static bool isChosen(const Blocking &blocking, bool isPrepared,
                     const ConvolutionTarget &target) {
  switch (target.kernel) {
  case ConvolutionKernel::Direct:
    return false;
  case ConvolutionKernel::Winograd:
    return true;
  case ConvolutionKernel::Auto:
    // Measured with AVX-512 and from 64 channels on only.
    return target.vectorBits == 512 && blocking.inputs >= 64 &&
           blocking.columns >= 64 && isFaster(blocking, isPrepared);
  }
  llvm_unreachable("all kinds are handled");
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

Value mlir::dist::createWinograd(OpBuilder &b, Location loc,
                                 const WinogradConvolution &convolution,
                                 const ConvolutionTarget &target) {
  std::optional<Blocking> blocking =
      findBlocking(cast<RankedTensorType>(convolution.input.getType()),
                   convolution.output, target);
  if (!blocking || !isChosen(*blocking, convolution.isPrepared, target))
    return {};
  Type element = b.getF32Type();
  int64_t blocks = blocking->outputs / blocking->columns;
  auto filterType = RankedTensorType::get(
      {36, blocks, blocking->inputs, blocking->columns}, element);
  Value filter =
      createKernel(b, loc, filterType, convolution.filter,
                   blocks * blocking->inputs / blocking->lanes, target.threads,
                   [&](ValueRange arguments) {
                     return rt::WinogradFilterOp::create(
                         b, loc, filterType, arguments[0],
                         convolution.filterStrides, blocking->lanes,
                         convolution.rotate);
                   })
          .getResult(0);
  SmallVector<Value> inputs{convolution.input, filter};
  if (convolution.bias)
    inputs.push_back(convolution.bias);
  int64_t rows = llvm::divideCeil(blocking->tiles, blocking->blockTiles);
  int64_t elements = rt::WinogradOp::getScratchElements(
      blocking->blockTiles, blocking->inputs, blocking->columns);
  auto scratch = RankedTensorType::get({elements}, element);
  auto scratches = RankedTensorType::get(
      {std::min(rows, target.threads), elements}, element);
  return createKernel(b, loc, {convolution.output, scratches}, inputs, rows,
                      target.threads,
                      [&](ValueRange arguments) {
                        return rt::WinogradOp::create(
                            b, loc, TypeRange{convolution.output, scratch},
                            arguments[0], arguments[1],
                            convolution.bias ? arguments[2] : Value(),
                            convolution.padLow, blocking->blockTiles,
                            blocking->lanes, convolution.relu);
                      })
      .getResult(0);
}

Value mlir::dist::createWinogradFilterGrad(
    OpBuilder &b, Location loc, const WinogradConvolution &convolution,
    Value grad, RankedTensorType filter, const ConvolutionTarget &target) {
  std::optional<Blocking> blocking =
      findBlocking(cast<RankedTensorType>(convolution.input.getType()),
                   cast<RankedTensorType>(grad.getType()), target);
  if (!blocking || !isChosen(*blocking, /*isPrepared=*/false, target))
    return {};
  Type element = b.getF32Type();
  int64_t inputs = blocking->inputs, outputs = blocking->outputs;
  int64_t rows = llvm::divideCeil(blocking->tiles, blocking->blockTiles);
  int64_t chunks = std::min(rows, target.threads);
  int64_t elements =
      rt::WinogradOp::getScratchElements(blocking->blockTiles, inputs, outputs);
  Type types[] = {RankedTensorType::get({36, inputs, outputs}, element),
                  RankedTensorType::get({elements}, element)};
  Type chunked[] = {
      RankedTensorType::get({chunks, 36, inputs, outputs}, element),
      RankedTensorType::get({chunks, elements}, element)};
  Value sums = createKernel(b, loc, chunked, {convolution.input, grad}, rows,
                            target.threads,
                            [&](ValueRange arguments) {
                              return rt::WinogradProductsOp::create(
                                  b, loc, types, arguments[0], arguments[1],
                                  convolution.padLow, blocking->blockTiles,
                                  blocking->columns, blocking->lanes);
                            })
                   .getResult(0);
  return createKernel(b, loc, filter, sums, inputs, target.threads,
                      [&](ValueRange arguments) {
                        return rt::WinogradFilterGradOp::create(
                            b, loc, filter, arguments[0],
                            convolution.filterStrides, blocking->lanes);
                      })
      .getResult(0);
}
