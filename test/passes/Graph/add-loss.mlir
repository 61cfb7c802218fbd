// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=sparse-categorical-crossentropy metrics=accuracy,top-k:k=2,top-k:k=3' | FileCheck %s --check-prefixes=CHECK,FULL
// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=sparse-categorical-crossentropy partial=true' | FileCheck %s --check-prefix=PART
// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=sparse-categorical-crossentropy from-logits=false' | FileCheck %s --check-prefix=PROB
// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=mse from-logits=auto loss-output=y metrics=mae' | FileCheck %s --check-prefix=MSE

// In f64: a count in f32 would stand still from 2^24 on.
// FULL: graph.variable @"metric/loss/total" : tensor<f64>
// FULL-SAME: aggregation = 1
// FULL-SAME: group = "metric"
// FULL-SAME: synchronization = 1
// FULL: graph.variable @"metric/loss/count" : tensor<f64> {aggregation = 3 : i32, group = "metric"}
// FULL: graph.variable @"metric/accuracy/total"
// FULL: graph.variable @"metric/top-k/total"
// FULL: graph.variable @"metric/top-k:k=3/total"

// The prediction keeps its softmax.
// CHECK-LABEL: func @predict
// CHECK: graph.softmax
// CHECK-LABEL: func @eval_step
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x6xf32>
// CHECK-SAME: %[[Y:[^:]+]]: tensor<4xi32> {graph.batch_dim = 0 : i64, graph.class_count = 6 : i64, graph.name = "label", graph.role = "label"}
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss", graph.role = "loss"})
// CHECK-NOT: graph.softmax
// CHECK: %[[EACH:.+]] = graph.cross_entropy %[[X]], %[[Y]]
// CHECK: %[[B:.+]] = graph.constant dense<4.0{{.*}}> : tensor<f32>
// CHECK: %[[SUM:.+]] = graph.reduce sum, %[[EACH]] {dims = array<i64: 0>}
// CHECK: %[[LOSS:.+]] = graph.div %[[SUM]], %[[B]]
// CHECK: %[[OLD:.+]] = graph.read @"metric/loss/total"
// CHECK: %[[MORE:.+]] = graph.convert %[[SUM]] : (tensor<f32>) -> tensor<f64>
// CHECK: %[[NEW:.+]] = graph.add %[[OLD]], %[[MORE]]
// CHECK: graph.assign @"metric/loss/total", %[[NEW]]
// CHECK: graph.assign @"metric/loss/count"
// CHECK: graph.arg_max %[[X]]
// CHECK: return %[[LOSS]]
// CHECK-LABEL: func @train_step
// CHECK-SAME: graph.role = "label"
// CHECK: graph.assign @"metric/accuracy/count"

// PART-LABEL: func @eval_step_partial
// PART-SAME: %[[MASK:[^:]+]]: tensor<4xi1> {graph.batch_dim = 0 : i64, graph.name = "mask", graph.role = "mask"}
// PART-SAME: %[[COUNT:[^:]+]]: tensor<f32> {graph.name = "count", graph.role = "count"}
// PART: %[[EACH:.+]] = graph.cross_entropy
// PART: %[[COUNTED:.+]] = graph.select %[[MASK]], %[[EACH]]
// PART: %[[SUM:.+]] = graph.reduce sum, %[[COUNTED]]
// PART: graph.div %[[SUM]], %[[COUNT]]
// PART: %[[N:.+]] = graph.read @"metric/loss/count"
// PART: %[[MORE:.+]] = graph.convert %[[COUNT]]
// PART: graph.add %[[N]], %[[MORE]]
// PART-LABEL: func @eval_step(
// PART-LABEL: func @train_step(
// PART-LABEL: func @train_step_partial
// PART-SAME: graph.role = "mask"

// PROB-LABEL: func @eval_step
// PROB: graph.softmax
// PROB: graph.max
// PROB: graph.min
// PROB: %[[LOG:.+]] = graph.log
// PROB: graph.cross_entropy %[[LOG]]

// MSE-LABEL: func @eval_step
// MSE-SAME: tensor<4x6xf32> {graph.batch_dim = 0 : i64, graph.name = "label", graph.role = "label"}
// MSE: %[[P:.+]] = graph.softmax
// MSE: graph.sub %[[P]]
// MSE: graph.reduce sum, %{{.+}} {dims = array<i64: 1>}
// MSE: graph.reduce sum, %{{.+}} {dims = array<i64: 0>}
func.func @predict(%x: tensor<4x6xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    -> (tensor<4x6xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
