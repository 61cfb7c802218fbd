//===- StableHloContraction.cpp - Products and convolutions of StableHLO --===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/StableHloImporter.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Where the result's type is wider than the operands', products are taken in
/// it: they are exact there, as are the operands.
StableHloImporter::Results StableHloImporter::importDot(Operation *op) {
  Type type = resultType().getElementType();
  Value x = convert(operand(0), type), y = convert(operand(1), type);
  if (op->getName().getStringRef() == "stablehlo.dot")
    return one(dot(x, y, {}, {}, {rankOf(x) - 1}, {0}));
  StringRef name = "dot_dimension_numbers";
  std::optional<SmallVector<int64_t>>
      xBatch = listOf(name, "lhs_batching_dimensions"),
      yBatch = listOf(name, "rhs_batching_dimensions"),
      xContract = listOf(name, "lhs_contracting_dimensions"),
      yContract = listOf(name, "rhs_contracting_dimensions");
  if (!xBatch || !yBatch || !xContract || !yContract)
    return {};
  return one(dot(x, y, *xBatch, *yBatch, *xContract, *yContract));
}

/// `b, 0, 1, f` in the words of graph.conv, in which a place of the batch or of
/// outputs, and one of channels, are `batch` and `channels`.
static std::optional<std::string> readLayout(StringRef text, char batch,
                                             char channels) {
  std::string layout;
  SmallVector<StringRef> words;
  text.split(words, ',');
  for (StringRef word : words) {
    word = word.trim();
    int64_t dim;
    if (word == "b" || word == "o")
      layout += batch;
    else if (word == "f" || word == "i")
      layout += channels;
    else if (!word.getAsInteger(10, dim) && dim >= 0 && dim < 10)
      layout += char('0' + dim);
    else
      return std::nullopt;
  }
  return layout;
}

StableHloImporter::Results StableHloImporter::importConvolution(Operation *) {
  Type type = resultType().getElementType();
  Value x = convert(operand(0), type), filter = convert(operand(1), type);
  auto numbers = current->getAttrOfType<OpaqueAttr>("dimension_numbers");
  StringRef text = numbers ? numbers.getAttrData() : StringRef();
  // conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
  SmallVector<StringRef, 3> parts;
  while (text.contains('[')) {
    text = text.split('[').second;
    parts.push_back(text.split(']').first);
    text = text.split(']').second;
  }
  if (parts.size() != 3)
    return refuse("its dimension numbers cannot be read");
  std::optional<std::string> input = readLayout(parts[0], 'N', 'C'),
                             kernel = readLayout(parts[1], 'O', 'I'),
                             output = readLayout(parts[2], 'N', 'C');
  if (!input || !kernel || !output)
    return refuse("its dimension numbers cannot be read");
  size_t spatial = input->size() - 2;
  SmallVector<int64_t> ones(spatial, 1), zeros(spatial, 0), none(2 * spatial);
  std::optional<SmallVector<int64_t>> strides = ints("window_strides", ones),
                                      holes = ints("lhs_dilation", ones),
                                      dilations = ints("rhs_dilation", ones),
                                      pads = ints("padding", none),
                                      turned = ints("window_reversal", zeros);
  std::optional<int64_t> groups = integer("feature_group_count", 1),
                         batchGroups = integer("batch_group_count", 1);
  if (!strides || !holes || !dilations || !pads || !turned)
    return {};
  // One number stands for all.
  if (pads->size() == 1)
    pads->assign(2 * spatial, pads->front());
  if (strides->size() != spatial || holes->size() != spatial ||
      dilations->size() != spatial || pads->size() != 2 * spatial ||
      turned->size() != spatial)
    return refuse("its windows are not of the operand's dims");
  if (*batchGroups != 1)
    return refuse("groups of the batch are those of a gradient",
                  "export the function, not its gradient");
  SmallVector<int64_t> low(spatial), high(spatial);
  for (size_t d = 0; d < spatial; ++d) {
    low[d] = (*pads)[2 * d];
    high[d] = (*pads)[2 * d + 1];
    if ((*turned)[d])
      filter = reverse(filter, kernel->find(char('0' + d)));
  }
  // A transposed convolution has holes in its input; crops are taken off it.
  if (llvm::any_of(*holes, [](int64_t h) { return h != 1; }) ||
      llvm::any_of(*pads, [](int64_t p) { return p < 0; })) {
    SmallVector<int64_t> before(rankOf(x), 0), after(before), between(before);
    for (size_t d = 0; d < spatial; ++d) {
      size_t dim = input->find(char('0' + d));
      if (dim == std::string::npos || dim >= before.size())
        return refuse("its dimension numbers are not those of its operand");
      before[dim] = low[d];
      after[dim] = high[d];
      between[dim] = (*holes)[d] - 1;
    }
    x = make<PadOp>(
        {x, scalar(0, type)},
        {list("low", before), list("high", after), list("interior", between)});
    low = high = zeros;
  }
  return one(make<ConvOp>(
      {x, filter},
      {list("strides", *strides), list("pad_low", low), list("pad_high", high),
       list("dilations", *dilations), i64("groups", *groups),
       this->text("input_layout", *input), this->text("filter_layout", *kernel),
       this->text("output_layout", *output)}));
}

void StableHloImporter::addContractions(Table &table) {
  using I = StableHloImporter;
  static const Row rows[] = {
      {"stablehlo.dot", &I::importDot, 2},
      {"stablehlo.dot_general", &I::importDot, 2},
      {"stablehlo.convolution", &I::importConvolution, 2},
  };
  addRows(table, rows);
}
