// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd separate=true independent-updates=true' | FileCheck %s
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd separate=true' | FileCheck %s --check-prefix=TOGETHER

// What the forward pass assigns @apply takes among the gradients, and metrics
// and counters not.
// CHECK-LABEL: func @apply
// CHECK-SAME: (%{{[^:]+}}: tensor<4xf32> {graph.name = "w", graph.role = "gradient"}, %[[NEW:[^:]+]]: tensor<4xf32> {graph.name = "mean", graph.role = "gradient"}
// CHECK-SAME: %{{[^:]+}}: tensor<4xf32> {graph.name = "mean", graph.role = "variable", graph.variable = @mean}
// CHECK-SAME: tensor<4xf32> {graph.name = "mean", graph.role = "variable", graph.variable = @mean}
// CHECK-NOT: @seen
// CHECK: return %[[NEW]],
// CHECK-LABEL: func @gradients
// CHECK-SAME: tensor<4xf32> {graph.role = "variable", graph.variable = @mean}

// Where one process does both, the first half has assigned it.
// TOGETHER-LABEL: func @apply
// TOGETHER-NOT: @mean
// TOGETHER: return
graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @mean : tensor<4xf32> {group = "buffer"} = dense<1.0> : tensor<4xf32>
graph.variable @seen : tensor<i64> {group = "counter"} = dense<0> : tensor<i64>
graph.variable @total : tensor<f32> {group = "metric"} = dense<0.0> : tensor<f32>
func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w}, %loss: tensor<f32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %n: tensor<i64>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "variable", graph.variable = @mean},
        tensor<i64> {graph.role = "variable", graph.variable = @seen}, tensor<f32> {graph.role = "variable", graph.variable = @total},
        tensor<4xf32> {graph.role = "gradient", graph.variable = @w}) {
  return %loss, %m, %n, %loss, %g : tensor<f32>, tensor<4xf32>, tensor<i64>, tensor<f32>, tensor<4xf32>
}
