// RUN: dist-opt %s --graph-add-loss='loss=sparse-categorical-crossentropy:ignore-index=-100 metrics=accuracy' | FileCheck %s
// RUN: not dist-opt %s --graph-add-loss='loss=mse:ignore-index=3' 2>&1 | FileCheck %s --check-prefix=MSE

// The losses that count, and how many they are; 1 where none does.
// CHECK-LABEL: func @eval_step
// CHECK-SAME: %[[Y:[^:]+]]: tensor<4x5xi32> {{{[^}]*}}graph.class_count = 3 : i64, graph.ignored_label = -100 : i64{{[^}]*}}graph.role = "label"}
// CHECK: %[[COUNTS:.+]] = graph.compare ne, %[[Y]], %{{.+}}
// CHECK: %[[EACH:.+]] = graph.cross_entropy %{{.+}}, %[[Y]]
// CHECK: %[[ONES:.+]] = graph.convert %[[COUNTS]] : (tensor<4x5xi1>) -> tensor<4x5xf32>
// CHECK: %[[COUNT:.+]] = graph.reduce sum, %{{.+}} {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
// CHECK: %[[KEPT:.+]] = graph.select %[[COUNTS]], %[[EACH]], %{{.+}}
// CHECK: %[[SUM:.+]] = graph.reduce sum, %{{.+}} {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
// CHECK: %[[ONE:.+]] = graph.max %[[COUNT]], %{{.+}}
// CHECK: %[[MEAN:.+]] = graph.div %[[SUM]], %[[ONE]]
// CHECK: graph.select %[[COUNTS]]
// CHECK: return %[[MEAN]]

// MSE: --loss: 'mse' has no key 'ignore-index'; it has no keys
func.func @predict(%x: tensor<4x5x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    -> (tensor<4x5x3xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.tanh %x : tensor<4x5x3xf32>
  return %0 : tensor<4x5x3xf32>
}
