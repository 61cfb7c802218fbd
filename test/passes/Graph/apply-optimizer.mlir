// RUN: dist-opt %s --graph-apply-optimizer=optimizer=sgd:lr=0.5 | FileCheck %s
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=adamw lr-schedule=cosine:steps=10' | FileCheck %s --check-prefix=ADAMW
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd clip-norm=2.0' | FileCheck %s --check-prefix=NORM
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd clip-value=2.0' | FileCheck %s --check-prefix=VALUE
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd on-nonfinite=skip' | FileCheck %s --check-prefix=SKIP
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd accumulate=4' | FileCheck %s --check-prefix=ACC
// RUN: dist-opt %s --graph-apply-optimizer='optimizer=sgd loss-scale=true' | FileCheck %s --check-prefix=DYNAMIC

// The dynamic loss scale: gradients are divided, the update is skipped and the
// scale halved where one is not finite; the host hears of it at scale 1 only.
// DYNAMIC: graph.variable @"loss-scale/value" : tensor<f32> {{.*}}dense<3.276800e+04>
// DYNAMIC: graph.variable @"loss-scale/steps" : tensor<i64>
// DYNAMIC-LABEL: func @train_step
// DYNAMIC-SAME: %[[W:[^:]+]]: tensor<4xf32> {graph.role = "variable", graph.variable = @w}
// DYNAMIC-SAME: %[[LOSS:[^:]+]]: tensor<f32>, %[[G:[^:]+]]: tensor<4xf32>,
// DYNAMIC-SAME: %[[S:[^:]+]]: tensor<f32> {graph.name = "loss-scale/value"
// DYNAMIC-SAME: %[[N:[^:]+]]: tensor<i64> {graph.name = "loss-scale/steps"
// DYNAMIC: %[[SHARE:.+]] = graph.div %{{.+}}, %[[S]]
// DYNAMIC: %[[SPREAD:.+]] = graph.broadcast %[[SHARE]]
// DYNAMIC: %[[TRUE:.+]] = graph.mul %[[G]], %[[SPREAD]]
// DYNAMIC: graph.abs %[[TRUE]]
// DYNAMIC: %[[FINITE:.+]] = graph.and
// DYNAMIC: %[[ABOVE:.+]] = graph.compare gt, %[[S]]
// DYNAMIC: %[[TOLD:.+]] = graph.or %[[FINITE]], %[[ABOVE]]
// DYNAMIC: graph.select %{{.+}}, %{{.+}}, %[[W]]
// DYNAMIC: graph.add %[[N]]
// DYNAMIC: %[[TWICE:.+]] = graph.mul %[[S]], %{{.+}}
// DYNAMIC: %[[LARGER:.+]] = graph.select %{{.+}}, %[[TWICE]], %[[S]]
// DYNAMIC: %[[HALF:.+]] = graph.mul %[[S]], %{{.+}}
// DYNAMIC: %[[LEAST:.+]] = graph.max %[[HALF]]
// DYNAMIC: graph.select %[[FINITE]], %[[LARGER]], %[[LEAST]]
// DYNAMIC: return {{.*}}%[[TOLD]]

// CHECK: graph.variable @"optimizer/iteration" : tensor<i64>
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[W:[^:]+]]: tensor<4xf32> {graph.role = "variable", graph.variable = @w}
// CHECK-SAME: %[[LOSS:[^:]+]]: tensor<f32>, %[[G:[^:]+]]: tensor<4xf32>,
// CHECK-SAME: %[[T:[^:]+]]: tensor<i64> {graph.name = "optimizer/iteration", graph.role = "variable", graph.variable = @"optimizer/iteration"}
// CHECK-SAME: -> (tensor<f32> {graph.role = "loss"}, tensor<f32> {graph.name = "learning_rate", graph.role = "learning_rate"}
// CHECK-SAME: tensor<4xf32> {graph.name = "w", graph.role = "variable", graph.variable = @w}
// CHECK-SAME: tensor<i64> {graph.name = "optimizer/iteration",
// CHECK-SAME: tensor<i1> {graph.name = "finite", graph.role = "finite"})
// CHECK: %[[RATE:.+]] = graph.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[NEXT:.+]] = graph.add %[[T]]
// The gradient is looked at beside its update, which does not wait.
// CHECK: graph.abs %[[G]]
// CHECK: %[[SPREAD:.+]] = graph.broadcast %[[RATE]]
// CHECK: %[[STEP:.+]] = graph.mul %[[G]], %[[SPREAD]]
// CHECK: %[[NEW:.+]] = graph.sub %[[W]], %[[STEP]]
// CHECK: return %[[LOSS]], %[[RATE]], %[[NEW]], %[[NEXT]],

// ADAMW: graph.variable @"optimizer/w/m" : tensor<4xf32> {group = "slot", slot_of = @w}
// ADAMW: graph.variable @"optimizer/w/v"
// ADAMW-LABEL: func @train_step
// ADAMW-SAME: %[[W:[^:]+]]: tensor<4xf32> {graph.role = "variable", graph.variable = @w}
// ADAMW: graph.cos
// ADAMW: graph.constant dense<4.000000e-03>
// ADAMW: %[[LOST:.+]] = graph.mul %[[W]],
// ADAMW: graph.sub %[[W]], %[[LOST]]

// NORM-LABEL: func @train_step
// NORM-SAME: %[[LOSS:[^:]+]]: tensor<f32>, %[[G:[^:]+]]: tensor<4xf32>,
// NORM: graph.abs %[[G]]
// NORM: %[[WIDE:.+]] = graph.convert %[[G]] : (tensor<4xf32>) -> tensor<4xf64>
// NORM: %[[SQUARES:.+]] = graph.mul %[[WIDE]], %[[WIDE]]
// NORM: %[[SUM:.+]] = graph.reduce sum, %[[SQUARES]]
// NORM: %[[NORM:.+]] = graph.sqrt %[[SUM]]
// NORM: %[[MOST:.+]] = graph.max %[[NORM]]
// NORM: %[[SCALE:.+]] = graph.div %{{.+}}, %[[MOST]]
// NORM: %[[NARROW:.+]] = graph.convert %[[SCALE]]
// NORM: %[[SPREAD:.+]] = graph.broadcast %[[NARROW]]
// NORM: graph.mul %[[G]], %[[SPREAD]]
// NORM: graph.and

// VALUE-LABEL: func @train_step
// VALUE: graph.constant dense<-2.0
// VALUE: graph.max
// VALUE: graph.constant dense<2.0
// VALUE: graph.min

// SKIP-LABEL: func @train_step
// SKIP-SAME: %[[W:[^:]+]]: tensor<4xf32> {graph.role = "variable", graph.variable = @w}
// SKIP-SAME: %[[G:[^:]+]]: tensor<4xf32>,
// SKIP: %[[OK:.+]] = graph.and
// SKIP: %[[USED:.+]] = graph.select %{{.+}}, %[[G]], %
// SKIP: %[[STEP:.+]] = graph.mul %[[USED]],
// SKIP: %[[NEW:.+]] = graph.sub %[[W]], %[[STEP]]
// SKIP: graph.select %{{.+}}, %[[NEW]], %[[W]]
// SKIP: graph.select %[[OK]], %{{.+}} : (tensor<i1>, tensor<i64>, tensor<i64>)

// ACC: graph.variable @"accumulator/w" : tensor<4xf32> {aggregation = 1 : i32, group = "accumulator", slot_of = @w, synchronization = 1 : i32}
// ACC-LABEL: func @gradients
// ACC-SAME: %[[G:[^:]+]]: tensor<4xf32>,
// ACC-SAME: %[[OLD:[^:]+]]: tensor<4xf32> {graph.name = "accumulator/w"
// ACC-SAME: tensor<4xf32> {graph.name = "accumulator/w", graph.role = "variable", graph.variable = @"accumulator/w"}
// ACC: graph.add %[[OLD]], %[[G]]
// ACC-LABEL: func @apply
// ACC-SAME: %[[SUM:[^:]+]]: tensor<4xf32> {graph.name = "accumulator/w"
// ACC: %[[QUARTER:.+]] = graph.constant dense<2.500000e-01>
// ACC: graph.mul %[[SUM]], %[[QUARTER]]
// ACC: %[[ZERO:.+]] = graph.constant dense<0.000000e+00>
// ACC: return {{.*}}%[[ZERO]],
graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w}, %loss: tensor<f32>, %g: tensor<4xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.variable = @w}) {
  return %loss, %g : tensor<f32>, tensor<4xf32>
}
