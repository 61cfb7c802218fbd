// RUN: dist-opt %s --graph-add-loss='loss=y=sparse-categorical-crossentropy,p=mse loss-weights=p=0.25 metrics=y=accuracy,p=mae partial=true' | FileCheck %s
// RUN: dist-opt %s --graph-add-loss='loss=p=mse loss-weights=p=0.25' | FileCheck %s --check-prefix=ONE
// RUN: dist-opt %s --graph-add-loss='loss=y=sparse-categorical-crossentropy,p=huber:delta=2' | FileCheck %s --check-prefix=KEY
// RUN: dist-opt %s --graph-add-loss='loss=y=sparse-categorical-crossentropy:ignore-index=-1,p=mse' | FileCheck %s --check-prefix=IGNORE

// Each output has a label, a loss and metrics; the loss is the weighted sum.
// CHECK: graph.variable @"metric/loss/total"
// CHECK: graph.variable @"metric/y_loss/total"
// CHECK: graph.variable @"metric/p_loss/total"
// CHECK: graph.variable @"metric/y_accuracy/total"
// CHECK: graph.variable @"metric/p_mae/total"
// CHECK-LABEL: func @eval_step(
// CHECK-SAME: %[[Y:[^:]+]]: tensor<4xi32> {graph.batch_dim = 0 : i64, graph.class_count = 3 : i64, graph.name = "label/y", graph.role = "label"}
// CHECK-SAME: %[[P:[^:]+]]: tensor<4x1xf32> {graph.batch_dim = 0 : i64, graph.name = "label/p", graph.role = "label"}
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss", graph.role = "loss"})
// CHECK: %[[EACH:.+]] = graph.cross_entropy %{{.+}}, %[[Y]]
// CHECK: %[[SUM:.+]] = graph.reduce sum, %[[EACH]]
// CHECK: %[[MEAN:.+]] = graph.div %[[SUM]]
// CHECK: %[[SQUARES:.+]] = graph.reduce sum, %{{.+}} {dims = array<i64: 0>}
// CHECK: %[[SECOND:.+]] = graph.div %[[SQUARES]]
// CHECK: %[[QUARTER:.+]] = graph.mul %[[SQUARES]]
// CHECK: %[[PART:.+]] = graph.mul %[[SECOND]]
// CHECK: %[[BOTH:.+]] = graph.add %[[SUM]], %[[QUARTER]]
// CHECK: %[[LOSS:.+]] = graph.add %[[MEAN]], %[[PART]]
// CHECK: graph.read @"metric/loss/total"
// CHECK: %[[MORE:.+]] = graph.convert %[[BOTH]]
// CHECK: graph.add %{{.+}}, %[[MORE]]
// Each by itself is told without its factor.
// CHECK: graph.read @"metric/p_loss/total"
// CHECK: %[[PMORE:.+]] = graph.convert %[[SQUARES]]
// CHECK: graph.add %{{.+}}, %[[PMORE]]
// CHECK: return %[[LOSS]]
// CHECK-LABEL: func @train_step_partial(
// CHECK: graph.role = "mask"
// CHECK-NOT: graph.role = "mask"

// One whose labels do not all count is the mean of those that do; in the sum of
// both over an epoch it counts by its batch's examples, by itself by its own.
// IGNORE-LABEL: func @eval_step(
// IGNORE: %[[COUNT:.+]] = graph.reduce sum, %{{.+}} {dims = array<i64: 0>}
// IGNORE: %[[SUM:.+]] = graph.reduce sum, %{{.+}} {dims = array<i64: 0>}
// IGNORE: graph.div %[[SUM]], %{{.+}}
// IGNORE: %[[FACTOR:.+]] = graph.div %{{.+}}, %{{.+}}
// IGNORE: graph.mul %[[SUM]], %[[FACTOR]]
// IGNORE: graph.read @"metric/y_loss/total"
// IGNORE: graph.convert %[[SUM]]
// IGNORE: graph.read @"metric/y_loss/count"
// IGNORE: graph.convert %[[COUNT]]

// ONE-LABEL: func @eval_step
// ONE-SAME: graph.name = "label"
// ONE: %[[MEAN:.+]] = graph.div
// ONE: %[[QUARTER:.+]] = graph.mul %[[MEAN]]
// ONE: return %[[QUARTER]]

// KEY-LABEL: func @eval_step
// KEY: graph.constant dense<2.0
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}, %z: tensor<4x1xf32> {graph.role = "input", graph.name = "z", graph.batch_dim = 0 : i64})
    -> (tensor<4x3xf32> {graph.role = "output", graph.name = "y"}, tensor<4x1xf32> {graph.role = "output", graph.name = "p"}) {
  return %x, %z : tensor<4x3xf32>, tensor<4x1xf32>
}
