// RUN: dist-opt %s --graph-add-loss='loss=binary-crossentropy metrics=auc:thresholds=5' | FileCheck %s
// RUN: dist-opt %s --graph-add-loss='loss=binary-crossentropy metrics=auc:thresholds=5 partial=true' | FileCheck %s --check-prefix=PART
// RUN: dist-opt %s --graph-add-loss='loss=mse metrics=auc:thresholds=5' | FileCheck %s --check-prefix=PLAIN

// Four bins, by the probability: of the output, which is a logit, the sigmoid.
// How many positives and negatives are in each is added up; replicas' counts
// are summed when they are read.
// CHECK: graph.variable @"metric/auc/counts" : tensor<2x4xf64>
// CHECK-SAME: aggregation = 1
// CHECK-SAME: group = "metric"
// CHECK-SAME: synchronization = 1
// CHECK-LABEL: func @eval_step
// CHECK: %[[P:.+]] = graph.logistic %{{.+}} : tensor<3x2xf32>
// CHECK: %[[SCALED:.+]] = graph.mul %[[P]]
// CHECK: graph.ceil %[[SCALED]]
// CHECK: graph.compare ne
// CHECK: %[[PLACE:.+]] = graph.select {{.+}} -> tensor<3x2xi64>
// CHECK: %[[ROWS:.+]] = graph.scatter_elements add, %{{.+}}, %[[PLACE]], {{.+}} -> tensor<3x8xf32>
// CHECK: %[[EACH:.+]] = graph.reshape %[[ROWS]] : (tensor<3x8xf32>) -> tensor<3x2x4xf32>
// CHECK: %[[COUNTS:.+]] = graph.reduce sum, %[[EACH]] {dims = array<i64: 0>}
// CHECK: %[[OLD:.+]] = graph.read @"metric/auc/counts"
// CHECK: %[[MORE:.+]] = graph.convert %[[COUNTS]]
// CHECK: %[[NEW:.+]] = graph.add %[[OLD]], %[[MORE]]
// CHECK: graph.assign @"metric/auc/counts", %[[NEW]]

// Rows that are no examples are in no bin.
// PART-LABEL: func @eval_step_partial
// PART: %[[EACH:.+]] = graph.reshape %{{.+}} -> tensor<3x2x4xf32>
// PART: %[[KEPT:.+]] = graph.select %{{.+}}, %[[EACH]]
// PART: graph.reduce sum, %[[KEPT]] {dims = array<i64: 0>}

// A loss that takes no logits has an output of probabilities.
// PLAIN-LABEL: func @eval_step
// PLAIN-NOT: graph.logistic
// PLAIN: graph.scatter_elements
func.func @predict(%x: tensor<3x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    -> (tensor<3x2xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.tanh %x : tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
