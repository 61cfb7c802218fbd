//===- WinogradTransforms.cpp - F(4, 3) of vectors -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Winograd/WinogradTransforms.h"

using namespace mlir;
using namespace mlir::dist;

WinogradTransforms::Edge WinogradTransforms::applyG(const FilterEdge &w) {
  Value outer = add(w[0], w[2]);
  Value even = add(mul(w[0], 1.0f / 24), mul(w[2], 1.0f / 6));
  Value odd = mul(w[1], 1.0f / 12);
  return {mul(w[0], 0.25f),
          mul(add(outer, w[1]), -1.0f / 6),
          mul(sub(outer, w[1]), -1.0f / 6),
          add(even, odd),
          sub(even, odd),
          w[2]};
}

WinogradTransforms::Edge WinogradTransforms::applyBT(const Edge &d) {
  Value even = sub(d[4], mul(d[2], 4)), odd = sub(d[3], mul(d[1], 4));
  Value even2 = sub(d[4], d[2]), odd2 = mul(sub(d[3], d[1]), 2);
  return {add(sub(mul(d[0], 4), mul(d[2], 5)), d[4]),
          add(even, odd),
          sub(even, odd),
          add(even2, odd2),
          sub(even2, odd2),
          add(sub(mul(d[1], 4), mul(d[3], 5)), d[5])};
}

WinogradTransforms::TileEdge WinogradTransforms::applyAT(const Edge &m) {
  Value sum = add(m[1], m[2]), difference = sub(m[1], m[2]);
  Value sum2 = add(m[3], m[4]), difference2 = sub(m[3], m[4]);
  return {add(add(m[0], sum), sum2), add(difference, mul(difference2, 2)),
          add(sum, mul(sum2, 4)),
          add(add(difference, mul(difference2, 8)), m[5])};
}

WinogradTransforms::Edge WinogradTransforms::applyA(const TileEdge &y) {
  Value even = add(y[0], y[2]), odd = add(y[1], y[3]);
  Value even2 = add(y[0], mul(y[2], 4)), odd2 = add(mul(y[1], 2), mul(y[3], 8));
  return {
      y[0], add(even, odd), sub(even, odd), add(even2, odd2), sub(even2, odd2),
      y[3]};
}

WinogradTransforms::FilterEdge WinogradTransforms::applyGT(const Edge &u) {
  Value sum = mul(add(u[1], u[2]), 1.0f / 6), sum2 = add(u[3], u[4]);
  Value difference = mul(sub(u[1], u[2]), 1.0f / 6),
        difference2 = sub(u[3], u[4]);
  return {add(sub(mul(u[0], 0.25f), sum), mul(sum2, 1.0f / 24)),
          sub(mul(difference2, 1.0f / 12), difference),
          add(sub(mul(sum2, 1.0f / 6), sum), u[5])};
}
