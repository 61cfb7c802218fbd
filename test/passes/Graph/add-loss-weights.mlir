// RUN: dist-opt %s --graph-add-loss='loss=sparse-categorical-crossentropy class-weights=0=2.5,2=0.5 metrics=accuracy' | FileCheck %s --check-prefix=CLASS
// RUN: dist-opt %s --graph-add-loss='loss=categorical-crossentropy class-weights=1=3' | FileCheck %s --check-prefix=ROWS
// RUN: dist-opt %s --graph-add-loss='loss=p=binary-crossentropy class-weights=1=3' | FileCheck %s --check-prefix=BINARY
// RUN: dist-opt %s --graph-add-loss='loss=mse sample-weights=trust partial=true metrics=mae' | FileCheck %s --check-prefix=SAMPLE

// What is evaluated has no weights of classes; what is trained has them before
// the sum, which is over the number of examples.
// CLASS-LABEL: func @eval_step
// CLASS-NOT: graph.gather
// CLASS-LABEL: func @train_step
// CLASS-SAME: %[[Y:[^:]+]]: tensor<4xi32> {graph.batch_dim = 0 : i64, graph.class_count = 3 : i64, graph.name = "label"
// CLASS: %[[EACH:.+]] = graph.cross_entropy
// CLASS: %[[TABLE:.+]] = graph.constant dense<[2.500000e+00, 1.000000e+00, 5.000000e-01]>
// CLASS: %[[WEIGHTS:.+]] = graph.gather %[[TABLE]], %[[Y]] {axis = 0
// CLASS: %[[COUNT:.+]] = graph.constant dense<4.000000e+00>
// CLASS: %[[TIMES:.+]] = graph.mul %[[EACH]], %[[WEIGHTS]]
// CLASS: %[[SUM:.+]] = graph.reduce sum, %[[TIMES]] {dims = array<i64: 0>}
// CLASS: graph.div %[[SUM]], %[[COUNT]]
// CLASS: graph.read @"metric/loss/total"
// CLASS: %[[MORE:.+]] = graph.convert %[[SUM]]
// CLASS: graph.add %{{.+}}, %[[MORE]]
// The metric has none.
// CLASS: %[[RIGHT:.+]] = graph.convert %{{.+}} : (tensor<4xi1>) -> tensor<4xf32>
// CLASS: graph.reduce sum, %[[RIGHT]]

// ROWS-LABEL: func @train_step
// ROWS-SAME: %[[Y:[^:]+]]: tensor<4x3xf32> {graph.batch_dim = 0 : i64, graph.name = "label"
// ROWS: %[[KIND:.+]] = graph.arg_max %[[Y]]
// ROWS: graph.gather %{{.+}}, %[[KIND]]

// BINARY-LABEL: func @train_step
// BINARY-SAME: %[[Y:[^:]+]]: tensor<4x1xf32> {graph.batch_dim = 0 : i64, graph.name = "label"
// BINARY: %[[FLAT:.+]] = graph.reshape %[[Y]]
// BINARY: %[[KIND:.+]] = graph.round %[[FLAT]]
// BINARY: %[[IS:.+]] = graph.compare eq, %[[KIND]]
// BINARY: %[[THREE:.+]] = graph.constant dense<3.000000e+00> : tensor<4xf32>
// BINARY: %[[WEIGHTS:.+]] = graph.select %[[IS]], %[[THREE]]
// BINARY: graph.mul %{{.+}}, %[[WEIGHTS]]

// Weights of examples are an argument of all entries; copies do not count.
// SAMPLE-LABEL: func @eval_step_partial
// SAMPLE-SAME: %[[W:[^:]+]]: tensor<4xf32> {graph.batch_dim = 0 : i64, graph.name = "trust", graph.role = "label"}
// SAMPLE-SAME: %[[MASK:[^:]+]]: tensor<4xi1>
// SAMPLE-SAME: %[[COUNT:[^:]+]]: tensor<f32> {graph.name = "count"
// SAMPLE: %[[TIMES:.+]] = graph.mul %{{.+}}, %[[W]]
// SAMPLE: %[[COUNTED:.+]] = graph.select %[[MASK]], %[[TIMES]]
// SAMPLE: %[[SUM:.+]] = graph.reduce sum, %[[COUNTED]]
// SAMPLE: graph.div %[[SUM]], %[[COUNT]]
// SAMPLE: graph.abs
// SAMPLE-NOT: %[[W]] :
// SAMPLE-LABEL: func @eval_step(
// SAMPLE-LABEL: func @train_step(
// SAMPLE-SAME: graph.name = "trust"
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}, %z: tensor<4x1xf32> {graph.role = "input", graph.name = "z", graph.batch_dim = 0 : i64})
    -> (tensor<4x3xf32> {graph.role = "output", graph.name = "y"}, tensor<4x1xf32> {graph.role = "output", graph.name = "p"}) {
  return %x, %z : tensor<4x3xf32>, tensor<4x1xf32>
}
