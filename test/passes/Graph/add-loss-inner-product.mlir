// RUN: dist-opt %s --graph-add-loss=loss=inner-product | FileCheck %s

// The sum of products, so that the gradient by the output is the label, but for
// the mean over the batch.
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[X:[^:]+]]: tensor<8x3x2xf32>
// CHECK-SAME: %[[Y:[^:]+]]: tensor<8x3x2xf32> {graph.batch_dim = 0 : i64, graph.name = "label", graph.role = "label"}
// CHECK: %[[P:.+]] = graph.mul %[[X]], %[[Y]]
// CHECK: %[[E:.+]] = graph.reduce sum, %[[P]] {dims = array<i64: 1, 2>}
// CHECK: %[[S:.+]] = graph.reduce sum, %[[E]] {dims = array<i64: 0>}
// CHECK: graph.div %[[S]],
func.func @predict(%x: tensor<8x3x2xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<8x3x2xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  return %x : tensor<8x3x2xf32>
}
