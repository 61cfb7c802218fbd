// RUN: dist-opt %s --graph-apply-optimizer='optimizer=momentum:lr=0.5 separate=true' | FileCheck %s
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd separate=true on-nonfinite=skip' | FileCheck %s --check-prefix=SKIP
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd separate=true loss-scale=true' | FileCheck %s --check-prefix=SCALE
// RUN: not dist-opt %s --graph-apply-optimizer='separate=true accumulate=2' 2>&1 | FileCheck %s --check-prefix=ACC
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd separate=true independent-updates=true clip-norm=2' | FileCheck %s --check-prefix=ALONE
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd separate=true independent-updates=true clip-value=2 on-nonfinite=skip' | FileCheck %s --check-prefix=VALUE
// RUN: not dist-opt %s --graph-apply-optimizer='separate=true independent-updates=true loss-scale=true' 2>&1 | FileCheck %s --check-prefix=FOLLOWS
// FOLLOWS: error: graph-apply-optimizer: with independent-updates there is no loss scale: it follows what is found in all gradients together
// ACC: error: --entries: with --accumulate 2 the entries 'gradients' and 'apply' sum up in the session and give and take no gradients

// The step stays as it is: no gradient of an input, none given.
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[LOSS:[^:]+]]: tensor<f32>, %[[G:[^:]+]]: tensor<4xf32>, %{{[^:]+}}: tensor<2x3xf32>
// CHECK-SAME: -> (tensor<f32> {graph.role = "loss"}
// CHECK-NOT: "gradient"
// CHECK: graph.sub

// Its second half takes the variables', and has the optimizer's state.
// CHECK-LABEL: func @apply
// CHECK-SAME: %[[G:[^:]+]]: tensor<4xf32> {graph.name = "w", graph.role = "gradient"}
// CHECK-SAME: %[[T:[^:]+]]: tensor<i64> {graph.name = "optimizer/iteration"
// CHECK-SAME: graph.variable = @"optimizer/w/momentum"
// CHECK-SAME: -> (tensor<f32> {graph.name = "learning_rate"
// CHECK: graph.mul %[[G]],

// Its first half gives gradients, with the names of variables and inputs, and updates
// nothing but what the forward pass does.
// CHECK-LABEL: func @gradients
// CHECK-SAME: %[[LOSS:[^:]+]]: tensor<f32>, %[[G:[^:]+]]: tensor<4xf32>, %[[GX:[^:]+]]: tensor<2x3xf32>)
// CHECK-SAME: -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.name = "w", graph.role = "gradient"}, tensor<2x3xf32> {graph.batch_dim = 0 : i64, graph.name = "x", graph.role = "gradient"}, tensor<i1> {graph.name = "finite", graph.role = "finite"})
// CHECK: %[[FINITE:.+]] = graph.compare lt
// CHECK: return %[[LOSS]], %[[G]], %[[GX]], %[[FINITE]]

// A step that is left out leaves out both halves.
// SKIP-LABEL: func @apply
// SKIP: %[[ALL:.+]] = graph.broadcast %{{.+}} -> tensor<4xi1>
// SKIP: graph.select %[[ALL]]
// SKIP-LABEL: func @gradients
// SKIP-SAME: %[[G:[^:]+]]: tensor<4xf32>, %{{[^:]+}}: tensor<2x3xf32>)
// SKIP: graph.abs %[[G]]
// SKIP: %[[OK:.+]] = graph.and
// SKIP: return {{.*}}%[[OK]] :

// Gradients are given without the scale; the update follows and changes it.
// SCALE-LABEL: func @apply
// SCALE-SAME: graph.variable = @"loss-scale/value"
// SCALE-NOT: graph.div
// SCALE: return
// SCALE-LABEL: func @gradients
// SCALE-SAME: %[[G:[^:]+]]: tensor<4xf32>, %[[GX:[^:]+]]: tensor<2x3xf32>, %[[S:[^:]+]]: tensor<f32> {graph.name = "loss-scale/value"
// SCALE: %[[SHARE:.+]] = graph.div %{{.+}}, %[[S]]
// SCALE: graph.mul %[[G]],
// SCALE: graph.mul %[[GX]],

// Of independent updates none looks at several gradients: the first half checks
// and clips them, but not those of inputs.
// ALONE-LABEL: func @apply
// ALONE-SAME: -> (tensor<f32> {graph.name = "learning_rate", graph.role = "learning_rate"}, tensor<4xf32> {graph.name = "w", graph.role = "variable", graph.variable = @w}, tensor<i64> {graph.name = "optimizer/iteration", graph.role = "variable", graph.variable = @"optimizer/iteration"})
// ALONE-NOT: graph.reduce
// ALONE: return
// ALONE-LABEL: func @gradients
// ALONE-SAME: %[[G:[^:]+]]: tensor<4xf32>, %[[GX:[^:]+]]: tensor<2x3xf32>)
// ALONE: graph.abs %[[G]]
// ALONE: graph.sqrt
// ALONE: %[[CLIPPED:.+]] = graph.mul %[[G]],
// ALONE: return %{{.+}}, %[[CLIPPED]], %[[GX]], %{{.+}} :
// VALUE-LABEL: func @apply
// VALUE-NOT: graph.select
// VALUE-NOT: graph.min
// VALUE: return
// VALUE-LABEL: func @gradients
// VALUE-SAME: tensor<f32>, %[[G:[^:]+]]: tensor<4xf32>
// VALUE: %[[MOST:.+]] = graph.max %[[G]],
// VALUE: %[[CLIPPED:.+]] = graph.min %[[MOST]],
// VALUE: return %{{.+}}, %[[CLIPPED]],
graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w}, %loss: tensor<f32>, %g: tensor<4xf32>, %gx: tensor<2x3xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.variable = @w},
        tensor<2x3xf32> {graph.role = "gradient", graph.name = "x", graph.batch_dim = 0 : i64}) {
  return %loss, %g, %gx : tensor<f32>, tensor<4xf32>, tensor<2x3xf32>
}
