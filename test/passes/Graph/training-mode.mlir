// RUN: dist-opt %s --graph-training-mode | FileCheck %s
// RUN: dist-opt %s --graph-training-mode='groups=2 partial=true' | FileCheck %s --check-prefix=SPLIT
// RUN: dist-opt %s --graph-training-mode='groups=2 sync-batch-norm=true' | FileCheck %s --check-prefix=SYNC

// CHECK: graph.variable @mean : tensor<3xf32> {group = "buffer"} = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK: graph.variable @"random/step" : tensor<i64>
// One row a replica, reduced to their mean where others read it.
// SPLIT: graph.variable @mean : tensor<2x3xf32>
// SPLIT-SAME: aggregation = 2
// SPLIT-SAME: synchronization = 1
// SPLIT-SAME{LITERAL}: dense<[[1.000000e+00, 2.000000e+00, 3.000000e+00], [1.000000e+00, 2.000000e+00, 3.000000e+00]]>
graph.variable @scale : tensor<3xf32> trainable = dense<1.0> : tensor<3xf32>
graph.variable @mean : tensor<3xf32> {group = "buffer"} = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
graph.variable @variance : tensor<3xf32> {group = "buffer"} = dense<1.0> : tensor<3xf32>

// CHECK-LABEL: func @predict
// CHECK: graph.batch_norm_inference
// CHECK: graph.dropout
// SPLIT-LABEL: func @predict
// SPLIT: %[[ALL:.+]] = graph.read @mean : tensor<2x3xf32>
// SPLIT: %[[SUM:.+]] = graph.reduce sum, %[[ALL]] {dims = array<i64: 0>}
// SPLIT: %[[HALF:.+]] = graph.constant dense<5.000000e-01>
// SPLIT: graph.mul %[[SUM]], %[[HALF]]
// SPLIT: graph.batch_norm_inference

// SPLIT-LABEL: func @train_step_partial
// SPLIT-SAME: %[[MASK:[^:]+]]: tensor<4xi1> {graph.batch_dim = 0 : i64, graph.name = "mask", graph.role = "mask"}
// SPLIT-SAME: %[[EXAMPLES:[^:]+]]: tensor<f32> {graph.name = "count", graph.role = "count"}
// SPLIT: %{{.+}}, %[[M:.+]], %{{.+}}, %[[COUNT:.+]] = graph.batch_norm
// SPLIT-SAME: mask %[[MASK]]
// SPLIT-SAME: groups = 2
// Each row moves by the replica's share of the examples (0.2 * 2 replicas of
// one element an example); a replica without examples keeps its row.
// SPLIT: %[[COUNTS:.+]] = graph.broadcast %[[EXAMPLES]]
// SPLIT: %[[SHARE:.+]] = graph.constant dense<4.000000e-01>
// SPLIT: %[[WEIGHTED:.+]] = graph.mul %[[COUNT]], %[[SHARE]]
// SPLIT: %[[QUOTIENT:.+]] = graph.div %[[WEIGHTED]], %[[COUNTS]]
// SPLIT: %[[ONE:.+]] = graph.constant dense<1.000000e+00>
// SPLIT: %[[RATE:.+]] = graph.min %[[QUOTIENT]], %[[ONE]]
// SPLIT: %[[OLD:.+]] = graph.read @mean : tensor<2x3xf32>
// SPLIT: %[[WAY:.+]] = graph.sub %[[M]], %[[OLD]]
// SPLIT: %[[ROWS:.+]] = graph.broadcast %[[RATE]] {dims = array<i64: 0>}
// SPLIT: %[[PART:.+]] = graph.mul %[[WAY]], %[[ROWS]]
// SPLIT: %[[NEXT:.+]] = graph.add %[[OLD]], %[[PART]]
// SPLIT: graph.assign @mean, %[[NEXT]]

// SYNC-LABEL: func @train_step(
// SYNC: graph.batch_norm
// SYNC-SAME: groups = 1
// SYNC: graph.read @mean : tensor<3xf32>

// CHECK-LABEL: func @train_step(
// CHECK: %[[STEP:.+]] = graph.read @"random/step"
// CHECK: graph.assign @"random/step"
// CHECK: %{{.+}}, %[[M:.+]], %[[V:.+]], %{{.+}} = graph.batch_norm %
// CHECK-SAME: groups = 1
// CHECK: %[[OLD:.+]] = graph.read @mean : tensor<3xf32>
// CHECK: %[[NOW:.+]] = graph.reshape %[[M]]
// CHECK: %[[KEPT:.+]] = graph.constant dense<8.000000e-01>
// CHECK: %[[A:.+]] = graph.mul %[[OLD]], %[[KEPT]]
// CHECK: %[[SHARE:.+]] = graph.constant dense<2.000000e-01>
// CHECK: %[[B:.+]] = graph.mul %[[NOW]], %[[SHARE]]
// CHECK: %[[NEXT:.+]] = graph.add %[[A]], %[[B]]
// CHECK: graph.assign @mean, %[[NEXT]]
// CHECK: graph.assign @variance
// CHECK: %[[DRAW:.+]] = graph.random_uniform %[[STEP]]
// CHECK: %[[RATE:.+]] = graph.constant dense<2.500000e-01>
// CHECK: %[[KEEP:.+]] = graph.compare ge, %[[DRAW]], %[[RATE]]
// CHECK: graph.select %[[KEEP]]
// CHECK-NOT: graph.dropout
// CHECK: return
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x3xf32> {graph.role = "output"}) {
  %s = graph.read @scale : tensor<3xf32>
  %m = graph.read @mean : tensor<3xf32>
  %v = graph.read @variance : tensor<3xf32>
  %0 = graph.batch_norm_inference %x, %s, %s, %m, %v {axis = 1 : i64, epsilon = 1.0e-3 : f64, momentum = 0.8 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = graph.dropout %0 {rate = 0.25 : f64} : tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}
