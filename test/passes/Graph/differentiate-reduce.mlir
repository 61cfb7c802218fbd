// RUN: dist-opt %s --graph-differentiate | FileCheck %s

// Equal elements share a maximum's gradient. How many they are is counted in
// f32: 90000 is no f16.
graph.variable @w : tensor<90000xf16> trainable = dense<1.0> : tensor<90000xf16>
// CHECK-LABEL: func @train_step
// CHECK: %[[IS:.+]] = graph.compare eq
// CHECK: %[[ONES:.+]] = graph.convert %[[IS]] : (tensor<90000xi1>) -> tensor<90000xf32>
// CHECK: %[[COUNT:.+]] = graph.reduce sum, %[[ONES]] {{.*}} -> tensor<f32>
// CHECK: %[[SHARE:.+]] = graph.div %{{.+}}, %[[COUNT]]
// CHECK: graph.convert %[[SHARE]] : (tensor<f32>) -> tensor<f16>
func.func @train_step(%w: tensor<90000xf16> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"}) {
  %0 = graph.reduce max, %w {dims = array<i64: 0>} : (tensor<90000xf16>) -> tensor<f16>
  %loss = graph.convert %0 : (tensor<f16>) -> tensor<f32>
  return %loss : tensor<f32>
}
