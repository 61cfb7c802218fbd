//===- GraphConvCode.cpp - Convolutions: scalar code -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the types that no library kernel takes.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphConv.h"
#include "dialects/Graph/IR/LoopBuilder.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static SmallVector<Value> pickSpatial(const LayoutDims &dims,
                                      ValueRange indices) {
  return llvm::map_to_vector(dims.spatial,
                             [&](unsigned dim) { return indices[dim]; });
}

static Value divide(ScalarBuilder &s, Value x, int64_t y) {
  return y == 1 ? x : s.create<arith::DivUIOp>(x, s.index(y));
}
static Value remainder(ScalarBuilder &s, Value x, int64_t y) {
  return y == 1 ? s.index(0) : s.create<arith::RemUIOp>(x, s.index(y));
}
static Value plus(ScalarBuilder &s, Value x, Value y) {
  return s.create<arith::AddIOp>(x, y);
}

/// Where tap `tap` of a window reads the input in spatial dim `d`.
static Value emitInputPosition(ScalarBuilder &s, const ConvShape &c, unsigned d,
                               Value window, Value tap, BoundsGuard &guard) {
  Value position = plus(s, s.mulIndex(window, c.strides[d]),
                        s.mulIndex(tap, c.dilations[d]));
  position = s.addIndex(position, -c.padLow[d]);
  int64_t last = (c.outputSizes[d] - 1) * c.strides[d] +
                 (c.filterSizes[d] - 1) * c.dilations[d] - c.padLow[d];
  return guard.clamp(position, c.inputSizes[d], c.padLow[d] > 0,
                     last >= c.inputSizes[d]);
}

Value ConvOp::emitElement(OpBuilder &builder, Location loc, unsigned result,
                          ValueRange indices, ElementLoader load) {
  ScalarBuilder s(builder, loc, getType());
  ConvShape c = ConvShape::get(*this);
  Value n = indices[c.output.major], o = indices[c.output.minor];
  SmallVector<Value> window = pickSpatial(c.output, indices);
  Value group = divide(s, o, c.getOutputChannelsAGroup());
  Value firstChannel = s.mulIndex(group, c.getInputChannelsAGroup());
  SmallVector<int64_t> loops(c.filterSizes);
  loops.push_back(c.getInputChannelsAGroup());
  return emitReductionLoops(
      s, loops, s.constant(0), [&](ValueRange positions, ValueRange sums) {
        Value i = positions.back();
        SmallVector<Value> taps(positions.drop_back()), read;
        BoundsGuard guard(s);
        for (unsigned d = 0; d < c.getNumSpatial(); ++d)
          read.push_back(emitInputPosition(s, c, d, window[d], taps[d], guard));
        Value channel = c.groups == 1 ? i : plus(s, firstChannel, i);
        Value x = load(0, c.input.pack<Value>(n, channel, read));
        Value w = load(1, c.filter.pack<Value>(o, i, taps));
        Value product = guard.select(s.mul(x, w), s.constant(0));
        return SmallVector<Value>{s.add(sums[0], product)};
      })[0];
}

Value ConvInputGradOp::emitElement(OpBuilder &builder, Location loc,
                                   unsigned result, ValueRange indices,
                                   ElementLoader load) {
  ScalarBuilder s(builder, loc, getType());
  ConvShape c = ConvShape::get(*this);
  Value n = indices[c.input.major], channel = indices[c.input.minor];
  SmallVector<Value> pixel = pickSpatial(c.input, indices);
  Value group = divide(s, channel, c.getInputChannelsAGroup());
  Value i = remainder(s, channel, c.getInputChannelsAGroup());
  if (c.groups == 1)
    i = channel;
  Value firstOutput = s.mulIndex(group, c.getOutputChannelsAGroup());
  SmallVector<int64_t> loops(c.filterSizes);
  loops.push_back(c.getOutputChannelsAGroup());
  return emitReductionLoops(
      s, loops, s.constant(0), [&](ValueRange positions, ValueRange sums) {
        Value o = c.groups == 1 ? positions.back()
                                : plus(s, firstOutput, positions.back());
        SmallVector<Value> taps(positions.drop_back()), read;
        BoundsGuard guard(s);
        for (unsigned d = 0; d < c.getNumSpatial(); ++d) {
          // pixel = output * stride + tap * dilation - pad_low, solved for the
          // output, which must exist.
          int64_t reach = (c.filterSizes[d] - 1) * c.dilations[d];
          Value distance =
              s.create<arith::SubIOp>(s.addIndex(pixel[d], c.padLow[d]),
                                      s.mulIndex(taps[d], c.dilations[d]));
          if (reach > c.padLow[d]) {
            Value zero = s.index(0);
            guard.require(s.create<arith::CmpIOp>(arith::CmpIPredicate::sge,
                                                  distance, zero));
            distance = s.create<arith::MaxSIOp>(distance, zero);
          }
          if (c.strides[d] > 1)
            guard.require(s.create<arith::CmpIOp>(
                arith::CmpIPredicate::eq, remainder(s, distance, c.strides[d]),
                s.index(0)));
          int64_t last = (c.inputSizes[d] - 1 + c.padLow[d]) / c.strides[d];
          read.push_back(guard.clamp(divide(s, distance, c.strides[d]),
                                     c.outputSizes[d], false,
                                     last >= c.outputSizes[d]));
        }
        Value dy = load(0, c.output.pack<Value>(n, o, read));
        Value w = load(1, c.filter.pack<Value>(o, i, taps));
        Value product = guard.select(s.mul(dy, w), s.constant(0));
        return SmallVector<Value>{s.add(sums[0], product)};
      })[0];
}

Value ConvFilterGradOp::emitElement(OpBuilder &builder, Location loc,
                                    unsigned result, ValueRange indices,
                                    ElementLoader load) {
  ScalarBuilder s(builder, loc, getType());
  ConvShape c = ConvShape::get(*this);
  Value o = indices[c.filter.major], i = indices[c.filter.minor];
  SmallVector<Value> taps = pickSpatial(c.filter, indices);
  Value group = divide(s, o, c.getOutputChannelsAGroup());
  Value channel =
      c.groups == 1 ? i
                    : plus(s, s.mulIndex(group, c.getInputChannelsAGroup()), i);
  SmallVector<int64_t> loops = {c.batch};
  llvm::append_range(loops, c.outputSizes);
  return emitReductionLoops(
      s, loops, s.constant(0), [&](ValueRange positions, ValueRange sums) {
        Value n = positions.front();
        SmallVector<Value> window(positions.drop_front()), read;
        BoundsGuard guard(s);
        for (unsigned d = 0; d < c.getNumSpatial(); ++d)
          read.push_back(emitInputPosition(s, c, d, window[d], taps[d], guard));
        Value x = load(0, c.input.pack<Value>(n, channel, read));
        Value dy = load(1, c.output.pack<Value>(n, o, window));
        Value product = guard.select(s.mul(x, dy), s.constant(0));
        return SmallVector<Value>{s.add(sums[0], product)};
      })[0];
}
