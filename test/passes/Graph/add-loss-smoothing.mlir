// RUN: dist-opt %s --graph-add-loss='loss=sparse-categorical-crossentropy:label-smoothing=0.25' | FileCheck %s --check-prefix=SPARSE
// RUN: dist-opt %s --graph-add-loss='loss=categorical-crossentropy:label-smoothing=0.25' | FileCheck %s --check-prefix=DENSE
// RUN: dist-opt %s --graph-add-loss='loss=binary-crossentropy:label-smoothing=0.25' | FileCheck %s --check-prefix=BINARY
// RUN: dist-opt %s --graph-add-loss='loss=categorical-crossentropy:label-smoothing=0' | FileCheck %s --check-prefix=NONE
// RUN: not dist-opt %s --graph-add-loss='loss=categorical-crossentropy:label-smoothing=1.5' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not dist-opt %s --graph-add-loss='loss=mse:label-smoothing=0.1' 2>&1 | FileCheck %s --check-prefix=MSE

// 3/4 of the label's, and 1/4 of the mean over the two classes.
// SPARSE-LABEL: func @eval_step
// SPARSE: %[[OWN:.+]] = graph.cross_entropy
// SPARSE: %[[LOGS:.+]] = graph.log_softmax
// SPARSE: %[[ALL:.+]] = graph.reduce sum, %[[LOGS]]
// SPARSE-DAG: graph.constant dense<7.5{{.*}}e-01>
// SPARSE-DAG: graph.constant dense<1.25{{.*}}e-01>
// SPARSE: graph.sub

// DENSE-LABEL: func @eval_step
// DENSE-SAME: %[[Y:[^:]+]]: tensor<4x2xf32> {{{[^}]*}}graph.role = "label"}
// DENSE: %[[MOST:.+]] = graph.constant dense<7.5{{.*}}e-01>
// DENSE: %[[PART:.+]] = graph.mul %[[Y]], %[[MOST]]
// DENSE: %[[REST:.+]] = graph.constant dense<1.25{{.*}}e-01>
// DENSE: graph.add %[[PART]], %[[REST]]

// BINARY-LABEL: func @eval_step
// BINARY: graph.constant dense<7.5{{.*}}e-01>
// BINARY: graph.constant dense<1.25{{.*}}e-01>
// BINARY: graph.log1p

// NONE-LABEL: func @eval_step
// NONE-NOT: dense<1.0{{.*}}e+00>
// NONE: return

// RANGE: --loss: expected 'label-smoothing' of 'categorical-crossentropy' to be a number, at least 0, at most 1, but got '1.5'
// MSE: --loss: 'mse' has no key 'label-smoothing'; it has no keys
func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    -> (tensor<4x2xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.tanh %x : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
