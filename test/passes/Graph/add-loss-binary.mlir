// RUN: dist-opt %s --graph-add-loss='loss=binary-crossentropy metrics=accuracy' | FileCheck %s
// RUN: dist-opt %s --graph-add-loss='loss=binary-crossentropy from-logits=false metrics=accuracy' | FileCheck %s --check-prefix=PROB

// CHECK-LABEL: func @eval_step
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x1xf32>
// CHECK-NOT: graph.logistic
// CHECK: graph.log1p
// One number an example: the logit against 0.
// CHECK: %[[ZERO:.+]] = graph.constant dense<0.0{{.*}}> : tensor<4x1xf32>
// CHECK: graph.compare gt, %[[X]], %[[ZERO]]
// CHECK-NOT: graph.logistic
// CHECK: return

// PROB-LABEL: func @eval_step
// PROB: %[[P:.+]] = graph.logistic
// PROB: graph.log %
// PROB: %[[HALF:.+]] = graph.constant dense<5.0{{.*}}e-01> : tensor<4x1xf32>
// PROB: graph.compare gt, %[[P]], %[[HALF]]
func.func @predict(%x: tensor<4x1xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    -> (tensor<4x1xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.logistic %x : tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}
