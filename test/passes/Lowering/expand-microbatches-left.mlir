// Copies that do not show what the others are: a function is left as it was,
// and nothing takes it for what runs.
// RUN: dist-opt %s --rt-expand-microbatches | FileCheck %s
// RUN: not dist-opt %s --rt-expand-microbatches --rt-plan-memory 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: sed 's/array<i64: 4, 0>, limits = array<i64: 5, 4>/array<i64: 3, 0>, limits = array<i64: 4, 4>/' %s | dist-opt --rt-expand-microbatches | FileCheck %s --check-prefix=REGULAR
// REGULAR: func @f
// REGULAR-COUNT-8: graph.slice
// CHECK: func @f
// CHECK-SAME: dist.shown_microbatches = 5
// CHECK-COUNT-5: graph.slice
// CHECK-NOT: graph.slice
// ERROR: error: 'func.func' op has the copies of few microbatches, which do not show what the others are; run dist-unroll-microbatches without `microbatches`

// Microbatch 3 cuts other rows than those that follow from the first ones.
func.func @f(%x: tensor<8x4xf32> {graph.role = "input"}) -> tensor<4xf32>
    attributes {dist.entry = "train_step", dist.stage = 0 : i64, dist.shown_microbatches = 5 : i64,
                pipeline = {stages = 1 : i64, chunks = 1 : i64, microbatches = 8 : i64, schedule = "gpipe"}} {
  %0 = graph.slice %x {starts = array<i64: 0, 0>, limits = array<i64: 1, 4>, strides = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<1x4xf32> loc(fused<array<i64: 0, 0, 0>>["x"])
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<1x4xf32>) -> tensor<4xf32> loc(fused<array<i64: 0, 0, 0>>["x"])
  %2 = graph.slice %x {starts = array<i64: 1, 0>, limits = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<1x4xf32> loc(fused<array<i64: 1, 0, 0>>["x"])
  %3 = graph.reduce sum, %2 {dims = array<i64: 0>} : (tensor<1x4xf32>) -> tensor<4xf32> loc(fused<array<i64: 1, 0, 0>>["x"])
  %4 = graph.add %1, %3 : tensor<4xf32> loc(fused<array<i64: 1, 0, 0>>["x"])
  %5 = graph.slice %x {starts = array<i64: 2, 0>, limits = array<i64: 3, 4>, strides = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<1x4xf32> loc(fused<array<i64: 2, 0, 0>>["x"])
  %6 = graph.reduce sum, %5 {dims = array<i64: 0>} : (tensor<1x4xf32>) -> tensor<4xf32> loc(fused<array<i64: 2, 0, 0>>["x"])
  %7 = graph.add %4, %6 : tensor<4xf32> loc(fused<array<i64: 2, 0, 0>>["x"])
  %8 = graph.slice %x {starts = array<i64: 4, 0>, limits = array<i64: 5, 4>, strides = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<1x4xf32> loc(fused<array<i64: 3, 0, 0>>["x"])
  %9 = graph.reduce sum, %8 {dims = array<i64: 0>} : (tensor<1x4xf32>) -> tensor<4xf32> loc(fused<array<i64: 3, 0, 0>>["x"])
  %10 = graph.add %7, %9 : tensor<4xf32> loc(fused<array<i64: 3, 0, 0>>["x"])
  %11 = graph.slice %x {starts = array<i64: 7, 0>, limits = array<i64: 8, 4>, strides = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<1x4xf32> loc(fused<array<i64: 7, 0, 0>>["x"])
  %12 = graph.reduce sum, %11 {dims = array<i64: 0>} : (tensor<1x4xf32>) -> tensor<4xf32> loc(fused<array<i64: 7, 0, 0>>["x"])
  %13 = graph.add %10, %12 : tensor<4xf32> loc(fused<array<i64: 7, 0, 0>>["x"])
  return %13 : tensor<4xf32>
}
