//===- KernelReference.cpp - What kernels have to compute -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Check/KernelReference.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/HostConvolution.h"
#include "dialects/Interfaces/Reference.h"
#include "dialects/Rt/IR/Rt.h"
#include <cstring>

using namespace mlir;
using namespace mlir::dist;

using Results = SmallVectorImpl<HostTensor>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// What kernels have in common
//===----------------------------------------------------------------------===//

/// The bias of each place of `dims`, by its strides (0 where it has one for
/// all), then the relu; then rounds.
static void finish(HostTensor &result, ArrayRef<int64_t> dims,
                   ArrayRef<int64_t> strides, const HostTensor *bias,
                   ArrayRef<int64_t> biasStrides, bool relu) {
  MutableArrayRef<double> out = result.writeFloats();
  auto list = [&](ArrayRef<int64_t> steps) {
    SmallVector<StridedRange> box;
    for (auto [dim, step] : llvm::zip_equal(dims, steps))
      box.push_back({0, dim, step});
    return listOffsets(box);
  };
  if (bias)
    for (auto [to, from] : llvm::zip_equal(list(strides), list(biasStrides)))
      out[to] += bias->getFloats()[from];
  if (relu) // keeps NaN
    for (double &x : out)
      x = x < 0 ? 0 : x;
  result.adjust(0, result.getNumElements());
}

//===----------------------------------------------------------------------===//
// rt.fused
//===----------------------------------------------------------------------===//

/// One partial result a chunk, together `whole`: what the kernel behind adds up
/// (or takes the maximum of) gives that again.
static FailureOr<HostTensor> spreadOverChunks(Value yielded, HostTensor whole,
                                              RankedTensorType type) {
  auto kind = Reduction::Sum;
  if (auto reduce = yielded.getDefiningOp<graph::ReduceOp>())
    kind = reduce.getKind();
  else if (!isa_and_nonnull<rt::WinogradProductsOp, rt::WinogradOp,
                            rt::WinogradPanelsOp, rt::WinogradPanelsGradOp>(
               yielded.getDefiningOp()))
    return failure();
  HostTensor result(type);
  int64_t count = whole.getNumElements();
  bool repeats = kind == Reduction::Max || kind == Reduction::Min;
  for (int64_t i = 0, e = result.getNumElements(); i < e; ++i) {
    int64_t from = i % std::max<int64_t>(count, 1);
    bool holds = i < count || repeats;
    double neutral = kind == Reduction::Product ? 1 : 0;
    // As it is: Winograd's sums stand for other numbers.
    if (result.isFloat())
      result.writeFloats()[i] = holds ? whole.getFloats()[from] : neutral;
    else
      result.setInt(i, holds ? whole.getInt(from) : int64_t(neutral));
  }
  return result;
}

/// A reduction in the type that its chunks are kept in: wider than its own,
/// which it is rounded to only once all chunks are together.
static FailureOr<HostTensor> evaluateIn(Type element, graph::ReduceOp reduce,
                                        const HostTensor &operand) {
  Block block;
  OpBuilder builder(reduce.getContext());
  builder.setInsertionPointToStart(&block);
  Value wide = block.addArgument(typeOf(reduce.getOperand()).clone(element),
                                 reduce.getLoc());
  auto copy = graph::ReduceOp::create(builder, reduce.getLoc(),
                                      reduce.getKind(), wide, reduce.getDims());
  SmallVector<HostTensor> results;
  if (failed(copy.evaluate({operand}, results)))
    return failure();
  return results.front();
}

namespace {
struct FusedReference
    : ReferenceOpInterface::ExternalModel<FusedReference, rt::FusedOp> {
  LogicalResult evaluate(Operation *op, ArrayRef<HostTensor> operands,
                         Results &results) const {
    auto fused = cast<rt::FusedOp>(op);
    Block &body = fused.getBody().front();
    DenseMap<Value, HostTensor> values;
    for (auto [argument, operand] : llvm::zip(body.getArguments(), operands))
      values[argument] = operand;
    for (Operation &inner : body.without_terminator()) {
      auto reference = dyn_cast<ReferenceOpInterface>(inner);
      if (!reference)
        return inner.emitOpError() << "cannot be evaluated";
      SmallVector<HostTensor> given, made;
      for (Value operand : inner.getOperands())
        given.push_back(values[operand]);
      if (failed(reference.evaluate(given, made)))
        return failure();
      for (auto [result, tensor] : llvm::zip(inner.getResults(), made))
        values[result] = tensor;
    }
    auto yield = cast<rt::YieldOp>(body.getTerminator());
    for (auto [value, type] :
         llvm::zip(yield.getValues(), fused.getResultTypes())) {
      if (value.getType() == type) {
        results.push_back(values[value]);
        continue;
      }
      auto kept = cast<RankedTensorType>(type);
      FailureOr<HostTensor> whole = values[value];
      auto reduce = value.getDefiningOp<graph::ReduceOp>();
      if (reduce && kept.getElementType() != typeOf(value).getElementType())
        whole = evaluateIn(kept.getElementType(), reduce,
                           values[reduce.getOperand()]);
      if (failed(whole))
        return failure();
      auto chunks = spreadOverChunks(value, *whole, kept);
      if (failed(chunks))
        return op->emitOpError()
               << "cannot be evaluated: a result is kept by chunk, but is no "
                  "reduction";
      results.push_back(*chunks);
    }
    return success();
  }
};

//===----------------------------------------------------------------------===//
// rt.library
//===----------------------------------------------------------------------===//

/// One of a library kernel's memories. In a packed one, whose layout is the
/// library's, the evaluator keeps the elements' bits in row-major order.
struct Memory {
  explicit Memory(DictionaryAttr attribute)
      : dims(attribute.getAs<DenseI64ArrayAttr>("dims").asArrayRef()) {
    if (auto given = attribute.getAs<DenseI64ArrayAttr>("strides"))
      strides = SmallVector<int64_t>(given.asArrayRef());
    else
      strides = getRowMajorStrides(dims);
    isPacked = !attribute.contains("strides");
  }
  int64_t getNumElements() const {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    return count;
  }
  std::vector<int64_t> listOffsets() const {
    SmallVector<StridedRange> box;
    for (auto [dim, stride] : llvm::zip(dims, strides))
      box.push_back({0, dim, stride});
    return mlir::dist::listOffsets(box);
  }

  SmallVector<int64_t> dims, strides;
  bool isPacked;
};

/// The numbers of a kernel's input; `unpacked` keeps those of a packed one.
const double *read(const Memory &memory, const HostTensor &tensor,
                   std::vector<double> &unpacked) {
  if (!memory.isPacked)
    return tensor.getFloats().data();
  unpacked.resize(memory.getNumElements());
  std::memcpy(unpacked.data(), tensor.getInts().data(),
              unpacked.size() * sizeof(double));
  return unpacked.data();
}

struct LibraryReference
    : ReferenceOpInterface::ExternalModel<LibraryReference, rt::LibraryOp> {
  LogicalResult evaluate(Operation *op, ArrayRef<HostTensor> operands,
                         Results &results) const;
};
} // namespace

/// The sums of a product of matrices, batch by batch.
static void addMatmul(MLIRContext *context, const Memory &left,
                      const Memory &right, const Memory &out, const double *lhs,
                      const double *rhs, double *sums) {
  size_t rank = out.dims.size();
  auto batchOf = [&](const Memory &memory) {
    SmallVector<StridedRange> box;
    for (size_t d = 0; d + 2 < rank; ++d)
      box.push_back(
          {0, out.dims[d], memory.dims[d] == 1 ? 0 : memory.strides[d]});
    return listOffsets(box);
  };
  auto dimOf = [&](const Memory &memory, size_t d) {
    return listOffsets({{0, memory.dims[d], memory.strides[d]}});
  };
  auto rows = dimOf(left, rank - 2), leftTerms = dimOf(left, rank - 1);
  auto rightTerms = dimOf(right, rank - 2), columns = dimOf(right, rank - 1);
  auto outRows = dimOf(out, rank - 2), outColumns = dimOf(out, rank - 1);
  SmallVector<ProductSums<double>> jobs;
  for (auto [l, r, o] : llvm::zip(batchOf(left), batchOf(right), batchOf(out)))
    jobs.push_back({lhs + l, rhs + r, sums + o, rows, leftTerms, rightTerms,
                    columns, outRows, outColumns});
  addProducts(context, jobs);
}

static HostConvolution describe(DictionaryAttr kernel, const Memory &input,
                                const Memory &filter, const Memory &output) {
  auto list = [&](StringRef name) {
    return SmallVector<int64_t>(
        kernel.getAs<DenseI64ArrayAttr>(name).asArrayRef());
  };
  int64_t groups = kernel.getAs<IntegerAttr>("groups").getInt();
  bool grouped = groups > 1; // the filter then has a dim of them
  HostConvolution c;
  c.batch = input.dims[0];
  c.groups = groups;
  c.inputChannels = input.dims[1] / groups;
  c.outputChannels = output.dims[1] / groups;
  auto spatial = [](ArrayRef<int64_t> list, size_t first) {
    return SmallVector<int64_t>(list.drop_front(first));
  };
  c.inputSizes = spatial(input.dims, 2);
  c.filterSizes = spatial(filter.dims, 2 + grouped);
  c.outputSizes = spatial(output.dims, 2);
  c.strides = list("strides");
  c.padLow = list("pad_low");
  c.dilations = list("dilations");
  c.input = {input.strides[0], input.strides[1],
             c.inputChannels * input.strides[1], spatial(input.strides, 2)};
  c.filter = {filter.strides[grouped], filter.strides[grouped + 1],
              grouped ? filter.strides[0] : 0,
              spatial(filter.strides, 2 + grouped)};
  c.output = {output.strides[0], output.strides[1],
              c.outputChannels * output.strides[1], spatial(output.strides, 2)};
  return c;
}

LogicalResult LibraryReference::evaluate(Operation *op,
                                         ArrayRef<HostTensor> operands,
                                         Results &results) const {
  DictionaryAttr kernel = cast<rt::LibraryOp>(op).getKernel();
  rt::LibraryKind kind = rt::getLibraryKind(kernel);
  SmallVector<Memory> memories;
  for (auto memory :
       kernel.getAs<ArrayAttr>("memories").getAsRange<DictionaryAttr>())
    memories.emplace_back(memory);
  if (kernel.contains("accumulate") || operands.size() + 1 != memories.size())
    return op->emitOpError()
           << "cannot be evaluated: a '" << rt::stringifyLibraryKind(kind)
           << "' of so many memories is not known";
  const Memory &first = memories[0], &out = memories.back();
  std::vector<double> unpacked[2], packed;
  const double *lhs = read(first, operands[0], unpacked[0]);
  const double *rhs = operands.size() > 1
                          ? read(memories[1], operands[1], unpacked[1])
                          : nullptr;
  HostTensor result(typeOf(op->getResult(0)));
  double *sums;
  if (out.isPacked) {
    packed.resize(out.getNumElements());
    sums = packed.data();
  } else {
    sums = result.writeFloats().data();
  }
  MLIRContext *context = op->getContext();
  if (kind == rt::LibraryKind::Matmul) {
    addMatmul(context, first, memories[1], out, lhs, rhs, sums);
  } else if (kind == rt::LibraryKind::Conv) {
    addConvolution(context, describe(kernel, first, memories[1], out), lhs, rhs,
                   sums);
  } else if (kind == rt::LibraryKind::ConvInputGrad) {
    addConvolutionInputGrad(context, describe(kernel, out, memories[1], first),
                            lhs, rhs, sums);
  } else if (kind == rt::LibraryKind::ConvFilterGrad && operands.size() == 2) {
    addConvolutionFilterGrad(context, describe(kernel, first, out, memories[1]),
                             lhs, rhs, sums);
  } else if (kind == rt::LibraryKind::Reorder && operands.size() == 1) {
    for (auto [to, from] :
         llvm::zip_equal(out.listOffsets(), first.listOffsets()))
      sums[to] = lhs[from];
  } else {
    return op->emitOpError()
           << "cannot be evaluated: a '" << rt::stringifyLibraryKind(kind)
           << "' of " << operands.size() << " operands is not known";
  }
  if (out.isPacked) {
    std::memcpy(result.writeInts().data(), packed.data(),
                packed.size() * sizeof(double));
    results.push_back(std::move(result));
    return success();
  }
  bool hasBias = kernel.contains("bias");
  SmallVector<int64_t> biasStrides(out.dims.size(), 0);
  if (hasBias && kind == rt::LibraryKind::Conv)
    biasStrides[1] = 1;
  else if (hasBias)
    for (auto [stride, dim, step] :
         llvm::zip(biasStrides, memories[2].dims, memories[2].strides))
      stride = dim == 1 ? 0 : step;
  finish(result, out.dims, out.strides, hasBias ? &operands[2] : nullptr,
         biasStrides, kernel.contains("relu"));
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Winograd: the convolution that it is
//===----------------------------------------------------------------------===//

/// Of images [N, H, W, C] and [N, H', W', K], with a filter whose output
/// channels, input channels, rows and columns are so far apart.
static HostConvolution describe(Value input, Value output,
                                ArrayRef<int64_t> padLow,
                                ArrayRef<int64_t> filter) {
  ArrayRef<int64_t> in = typeOf(input).getShape();
  ArrayRef<int64_t> out = typeOf(output).getShape();
  auto images = [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> strides = getRowMajorStrides(shape);
    return HostConvolution::Strides{
        strides[0], strides[3], 0, {strides[1], strides[2]}};
  };
  HostConvolution c;
  c.batch = in[0];
  c.groups = 1;
  c.inputChannels = in[3];
  c.outputChannels = out[3];
  c.inputSizes = {in[1], in[2]};
  c.filterSizes = {3, 3};
  c.outputSizes = {out[1], out[2]};
  c.strides = c.dilations = {1, 1};
  c.padLow = SmallVector<int64_t>(padLow);
  c.input = images(in);
  c.filter = {filter[0], filter[1], 0, {filter[2], filter[3]}};
  c.output = images(out);
  return c;
}

/// The strides of the filter that factors and sums stand for, [K, C, 3, 3].
static SmallVector<int64_t> getPlainStrides(int64_t inputChannels) {
  return {9 * inputChannels, 9, 3, 1};
}

/// Turns a window by half a turn: its last element first.
static int64_t turn(SmallVectorImpl<int64_t> &strides) {
  int64_t last = 2 * (strides[2] + strides[3]);
  strides[2] = -strides[2];
  strides[3] = -strides[3];
  return last;
}

/// The offsets of all elements of a filter, by output channel, input channel,
/// row and column.
static std::vector<int64_t> listFilter(int64_t outputs, int64_t inputs,
                                       ArrayRef<int64_t> strides,
                                       int64_t base = 0) {
  return listOffsets({{0, outputs, strides[0]},
                      {0, inputs, strides[1]},
                      {0, 3, strides[2]},
                      {0, 3, strides[3]}},
                     base);
}

template <typename OpT>
static void finishImages(OpT op, HostTensor output,
                         ArrayRef<HostTensor> operands, Results &results) {
  ArrayRef<int64_t> shape = output.getShape();
  finish(output, shape, getRowMajorStrides(shape),
         op.getBias() ? &operands[2] : nullptr, {0, 0, 0, 1}, op.getRelu());
  results.push_back(std::move(output));
  results.push_back(HostTensor(typeOf(op.getScratch())));
}

static LogicalResult evaluateOp(rt::WinogradFilterOp op,
                                ArrayRef<HostTensor> operands,
                                Results &results) {
  HostTensor result(typeOf(op.getOutput()));
  ArrayRef<int64_t> shape = result.getShape();
  SmallVector<int64_t> strides(op.getStrides());
  int64_t base = op.getRotate() ? turn(strides) : 0;
  MutableArrayRef<double> out = result.writeFloats();
  for (auto [to, from] : llvm::enumerate(
           listFilter(shape[1] * shape[3], shape[2], strides, base)))
    out[to] = operands[0].getFloats()[from];
  results.push_back(std::move(result));
  return success();
}

static LogicalResult
evaluateOp(rt::WinogradOp op, ArrayRef<HostTensor> operands, Results &results) {
  HostTensor output(typeOf(op.getOutput()));
  int64_t channels = typeOf(op.getInput()).getShape().back();
  addConvolution(op.getContext(),
                 describe(op.getInput(), op.getOutput(), op.getPadLow(),
                          getPlainStrides(channels)),
                 operands[0].getFloats().data(), operands[1].getFloats().data(),
                 output.writeFloats().data());
  finishImages(op, std::move(output), operands, results);
  return success();
}

static LogicalResult evaluateOp(rt::WinogradPanelsOp op,
                                ArrayRef<HostTensor> operands,
                                Results &results) {
  HostTensor output(typeOf(op.getOutput()));
  SmallVector<int64_t> strides(op.getStrides());
  int64_t base = op.getRotate() ? turn(strides) : 0;
  addConvolution(
      op.getContext(),
      describe(op.getInput(), op.getOutput(), op.getPadLow(), strides),
      operands[0].getFloats().data(), operands[1].getFloats().data() + base,
      output.writeFloats().data());
  finishImages(op, std::move(output), operands, results);
  return success();
}

static LogicalResult evaluateOp(rt::WinogradProductsOp op,
                                ArrayRef<HostTensor> operands,
                                Results &results) {
  HostTensor sums(typeOf(op.getSums()));
  int64_t channels = typeOf(op.getInput()).getShape().back();
  addConvolutionFilterGrad(op.getContext(),
                           describe(op.getInput(), op.getGrad(), op.getPadLow(),
                                    getPlainStrides(channels)),
                           operands[0].getFloats().data(),
                           operands[1].getFloats().data(),
                           sums.writeFloats().data());
  results.push_back(std::move(sums));
  results.push_back(HostTensor(typeOf(op.getScratch())));
  return success();
}

static LogicalResult evaluateOp(rt::WinogradFilterGradOp op,
                                ArrayRef<HostTensor> operands,
                                Results &results) {
  HostTensor result(typeOf(op.getOutput()));
  ArrayRef<int64_t> sums = operands[0].getShape();
  int64_t chunkSize = sums[1] * sums[2] * sums[3];
  MutableArrayRef<double> out = result.writeFloats();
  for (int64_t chunk = 0; chunk < sums[0]; ++chunk)
    for (auto [from, to] :
         llvm::enumerate(listFilter(sums[3], sums[2], op.getStrides())))
      out[to] += operands[0].getFloats()[chunk * chunkSize + from];
  result.adjust(0, result.getNumElements());
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateOp(rt::WinogradPanelsGradOp op,
                                ArrayRef<HostTensor> operands,
                                Results &results) {
  HostTensor result(typeOf(op.getOutput()));
  addConvolutionFilterGrad(
      op.getContext(),
      describe(op.getInput(), op.getGrad(), op.getPadLow(), op.getStrides()),
      operands[0].getFloats().data(), operands[1].getFloats().data(),
      result.writeFloats().data());
  result.adjust(0, result.getNumElements());
  results.push_back(std::move(result));
  results.push_back(HostTensor(typeOf(op.getScratch())));
  return success();
}

namespace {
template <typename OpT>
struct WinogradReference
    : ReferenceOpInterface::ExternalModel<WinogradReference<OpT>, OpT> {
  LogicalResult evaluate(Operation *op, ArrayRef<HostTensor> operands,
                         Results &results) const {
    return evaluateOp(cast<OpT>(op), operands, results);
  }
};
} // namespace

template <typename... OpTs> static void registerWinograd(MLIRContext &context) {
  (OpTs::template attachInterface<WinogradReference<OpTs>>(context), ...);
}

void mlir::dist::registerKernelReferences(MLIRContext &context) {
  context.loadDialect<rt::RtDialect>();
  rt::FusedOp::attachInterface<FusedReference>(context);
  rt::LibraryOp::attachInterface<LibraryReference>(context);
  registerWinograd<rt::WinogradFilterOp, rt::WinogradOp, rt::WinogradPanelsOp,
                   rt::WinogradProductsOp, rt::WinogradFilterGradOp,
                   rt::WinogradPanelsGradOp>(context);
}

bool mlir::dist::hasKernelLayout(Value value) {
  if (auto library = value.getDefiningOp<rt::LibraryOp>())
    return !cast<DictionaryAttr>(library.getKernel()
                                     .getAs<ArrayAttr>("memories")
                                     .getValue()
                                     .back())
                .contains("strides");
  auto fused = value.getDefiningOp<rt::FusedOp>();
  if (!fused)
    return false;
  auto yield = cast<rt::YieldOp>(fused.getBody().front().getTerminator());
  Value yielded = yield.getValues()[cast<OpResult>(value).getResultNumber()];
  Operation *op = yielded.getDefiningOp();
  // All that these give but images and a filter's gradient.
  if (isa_and_nonnull<rt::WinogradFilterOp, rt::WinogradProductsOp>(op))
    return true;
  return isa_and_nonnull<rt::WinogradOp, rt::WinogradPanelsOp,
                         rt::WinogradPanelsGradOp>(op) &&
         yielded != op->getResult(0);
}
