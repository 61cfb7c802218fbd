// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd:lr=0.5 settable-lr=true' | FileCheck %s
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd:lr=0.5 settable-lr=true lr-schedule=polynomial:steps=10,end=0.25' | FileCheck %s --check-prefix=DECAY
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd:lr=0.5 settable-lr=true accumulate=2' | FileCheck %s --check-prefix=ACC
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd:lr=0.5' | FileCheck %s --check-prefix=FIXED

// The rate is the variable; no step changes it.
// CHECK: graph.variable @"optimizer/learning_rate" : tensor<f32> {aggregation = 3 : i32, group = "counter"} = dense<5.000000e-01>
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[RATE:[^:]+]]: tensor<f32> {graph.name = "optimizer/learning_rate", graph.role = "variable", graph.variable = @"optimizer/learning_rate"}
// CHECK-SAME: -> (
// CHECK-NOT: @"optimizer/learning_rate"
// CHECK: %[[SPREAD:.+]] = graph.broadcast %[[RATE]]
// CHECK: graph.mul %{{.+}}, %[[SPREAD]]
// CHECK: return %{{[^,]+}}, %[[RATE]],

// A schedule starts from it: (lr - end) (1 - t / steps) + end.
// DECAY-LABEL: func @train_step
// DECAY-SAME: %[[GIVEN:[^:]+]]: tensor<f32> {graph.name = "optimizer/learning_rate"
// DECAY: %[[LEAST:.+]] = graph.constant dense<-2.500000e-01>
// DECAY: %[[OVER:.+]] = graph.add %[[GIVEN]], %[[LEAST]]
// DECAY: %[[LEFT:.+]] = graph.mul %{{.+}}, %[[OVER]]
// DECAY: %[[RATE:.+]] = graph.add %[[LEFT]]
// DECAY: return %{{[^,]+}}, %[[RATE]],

// Both entries of an accumulated update read it.
// ACC-LABEL: func @gradients
// ACC-SAME: graph.variable = @"optimizer/learning_rate"
// ACC-LABEL: func @apply
// ACC-SAME: %[[RATE:[^:]+]]: tensor<f32> {graph.name = "optimizer/learning_rate"
// ACC: graph.broadcast %[[RATE]]

// FIXED-NOT: optimizer/learning_rate
graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w}, %loss: tensor<f32>, %g: tensor<4xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.variable = @w}) {
  return %loss, %g : tensor<f32>, tensor<4xf32>
}
