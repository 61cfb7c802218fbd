// RUN: dist-opt %s --split-input-file --dist-pipeline-stages | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-pipeline-stages="stages=1 chunks=2" | FileCheck %s

// Two layers cost one as much as the third: the cut is behind them. A slot goes
// with its parameter, a metric with what computes it; the counter has no stage.
// CHECK: graph.variable @a {{.*}}dist.stage = 0
// CHECK: graph.variable @b {{.*}}dist.stage = 0
// CHECK: graph.variable @c {{.*}}dist.stage = 1
// CHECK: graph.variable @"optimizer/c/m" {{.*}}dist.stage = 1
// CHECK: graph.variable @"metric/loss/total" {{.*}}dist.stage = 1
// CHECK: graph.variable @step : tensor<f32> {group = "counter"}
graph.variable @a : tensor<16x16xf32> trainable = dense<0.1> : tensor<16x16xf32>
graph.variable @b : tensor<16x16xf32> trainable = dense<0.1> : tensor<16x16xf32>
graph.variable @c : tensor<16x32xf32> trainable = dense<0.1> : tensor<16x32xf32>
graph.variable @"optimizer/c/m" : tensor<16x32xf32> {group = "slot", slot_of = @c} = dense<0.0> : tensor<16x32xf32>
graph.variable @"metric/loss/total" : tensor<f32> {group = "metric", aggregation = 1 : i32, synchronization = 1 : i32} = dense<0.0> : tensor<f32>
graph.variable @step : tensor<f32> {group = "counter"} = dense<0.0> : tensor<f32>
func.func @train_step(%x: tensor<64x16xf32>, %a: tensor<16x16xf32> {graph.variable = @a},
    %b: tensor<16x16xf32> {graph.variable = @b}, %c: tensor<16x32xf32> {graph.variable = @c},
    %t: tensor<f32> {graph.variable = @"metric/loss/total"}, %s: tensor<f32> {graph.variable = @step})
    -> (tensor<f32> {graph.role = "loss"}, tensor<f32> {graph.variable = @"metric/loss/total"}, tensor<f32> {graph.variable = @step}) {
  %0 = graph.dot_general %x, %a {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %1 = graph.relu %0 : tensor<64x16xf32>
  %2 = graph.dot_general %1, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %3 = graph.relu %2 : tensor<64x16xf32>
  %4 = graph.dot_general %3, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  %5 = graph.reduce sum, %4 {dims = array<i64: 0, 1>} : (tensor<64x32xf32>) -> tensor<f32>
  %6 = graph.add %t, %5 : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %7 = graph.add %s, %one : tensor<f32>
  return %5, %6, %7 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Weights in another type are made where the function begins: the stages are
// those of the layers that read them, not of the place of the conversions.
// CHECK: graph.variable @a {{.*}}dist.stage = 0
// CHECK: graph.variable @b {{.*}}dist.stage = 1
graph.variable @a : tensor<16x16xf32> trainable = dense<0.1> : tensor<16x16xf32>
graph.variable @b : tensor<16x16xf32> trainable = dense<0.1> : tensor<16x16xf32>
func.func @predict(%x: tensor<64x16xbf16>, %a: tensor<16x16xf32> {graph.variable = @a},
    %b: tensor<16x16xf32> {graph.variable = @b}) -> (tensor<64x16xbf16> {graph.role = "output"}) {
  %0 = graph.convert %b : (tensor<16x16xf32>) -> tensor<16x16xbf16>
  %1 = graph.convert %a : (tensor<16x16xf32>) -> tensor<16x16xbf16>
  %2 = graph.dot_general %x, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x16xbf16>, tensor<16x16xbf16>) -> tensor<64x16xbf16>
  %3 = graph.dot_general %2, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x16xbf16>, tensor<16x16xbf16>) -> tensor<64x16xbf16>
  return %3 : tensor<64x16xbf16>
}
