// A step is not finite where an element of the loss or of a gradient is NaN or
// infinite. Gradients whose squares overflow are finite.
// RUN: dist-opt %s --split-input-file --graph-apply-optimizer='optimizer=sgd:lr=0.5 on-nonfinite=skip' --graph-fold | FileCheck %s --check-prefixes=CHECK,SKIP
// RUN: dist-opt %s --split-input-file --graph-apply-optimizer='optimizer=sgd:lr=0.5 on-nonfinite=skip clip-norm=1.0' --graph-fold | FileCheck %s --check-prefixes=CHECK,SKIP,NORM
// RUN: dist-opt %s --split-input-file --graph-apply-optimizer='optimizer=sgd:lr=0.5 on-nonfinite=stop' --graph-fold | FileCheck %s --check-prefixes=CHECK,STOP
// RUN: dist-opt %s --split-input-file --graph-apply-optimizer='optimizer=sgd:lr=0.5 on-nonfinite=stop clip-norm=1.0' --graph-fold | FileCheck %s --check-prefixes=CHECK,STOP,NORM
// RUN: dist-opt %s --split-input-file --graph-apply-optimizer='optimizer=sgd:lr=0.5 on-nonfinite=continue' --graph-fold | FileCheck %s --check-prefix=CONTINUE

// With a norm of 5e30 the clipped gradient is (0.6, 0.8), not 0; half of it is
// the step.
graph.variable @large : tensor<2xf32> trainable = dense<1.0> : tensor<2xf32>
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[W:[^:]+]]: tensor<2xf32>
// CHECK-DAG: %[[FINITE:.+]] = graph.constant dense<true> : tensor<i1>
// NORM-DAG: graph.constant dense<[{{0.29999[0-9]+|3.00000[0-9]e-01}}, {{0.39999[0-9]+|4.000000e-01}}]> : tensor<2xf32>
// CHECK-DAG: %[[NEW:.+]] = graph.sub %[[W]],
// CHECK: return %{{.+}}, %{{.+}}, %[[NEW]], %{{.+}}, %[[FINITE]]
func.func @train_step(%w: tensor<2xf32> {graph.role = "variable", graph.variable = @large})
    -> (tensor<f32> {graph.role = "loss"}, tensor<2xf32> {graph.role = "gradient", graph.variable = @large}) {
  %loss = graph.constant dense<1.6e26> : tensor<f32>
  %g = graph.constant dense<[3.0e30, 4.0e30]> : tensor<2xf32>
  return %loss, %g : tensor<f32>, tensor<2xf32>
}

// -----

// With `stop` and `continue` the step is applied in any case; with `continue`
// nothing looks at it.
graph.variable @infinite : tensor<2xf32> trainable = dense<1.0> : tensor<2xf32>
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[W:[^:]+]]: tensor<2xf32>
// CHECK-DAG: %[[FINITE:.+]] = graph.constant dense<false> : tensor<i1>
// SKIP: return %{{.+}}, %{{.+}}, %[[W]], %{{.+}}, %[[FINITE]]
// STOP: %[[NEW:.+]] = graph.sub %[[W]],
// STOP: return %{{.+}}, %{{.+}}, %[[NEW]], %{{.+}}, %[[FINITE]]
// CONTINUE: graph.variable @infinite
// CONTINUE: func @train_step
// CONTINUE-SAME: %[[W:[^:]+]]: tensor<2xf32>
// CONTINUE-NOT: "finite"
// CONTINUE: %[[NEW:.+]] = graph.sub %[[W]],
// CONTINUE: return %{{[^,]+}}, %{{[^,]+}}, %[[NEW]], %{{[^,]+}} :
func.func @train_step(%w: tensor<2xf32> {graph.role = "variable", graph.variable = @infinite})
    -> (tensor<f32> {graph.role = "loss"}, tensor<2xf32> {graph.role = "gradient", graph.variable = @infinite}) {
  %loss = graph.constant dense<1.0> : tensor<f32>
  %g = graph.constant dense<[0.0, 0xFF800000]> : tensor<2xf32>
  return %loss, %g : tensor<f32>, tensor<2xf32>
}

// -----

graph.variable @nan : tensor<2xf32> trainable = dense<1.0> : tensor<2xf32>
// CHECK-LABEL: func @train_step
// CHECK: %[[FINITE:.+]] = graph.constant dense<false> : tensor<i1>
// CHECK: return {{.+}}, %[[FINITE]]
func.func @train_step(%w: tensor<2xf32> {graph.role = "variable", graph.variable = @nan})
    -> (tensor<f32> {graph.role = "loss"}, tensor<2xf32> {graph.role = "gradient", graph.variable = @nan}) {
  %loss = graph.constant dense<1.0> : tensor<f32>
  %g = graph.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  return %loss, %g : tensor<f32>, tensor<2xf32>
}

// -----

graph.variable @loss : tensor<2xf32> trainable = dense<1.0> : tensor<2xf32>
// CHECK-LABEL: func @train_step
// CHECK: %[[FINITE:.+]] = graph.constant dense<false> : tensor<i1>
// CHECK: return {{.+}}, %[[FINITE]]
func.func @train_step(%w: tensor<2xf32> {graph.role = "variable", graph.variable = @loss})
    -> (tensor<f32> {graph.role = "loss"}, tensor<2xf32> {graph.role = "gradient", graph.variable = @loss}) {
  %loss = graph.constant dense<0x7F800000> : tensor<f32>
  %g = graph.constant dense<[0.0, 1.0]> : tensor<2xf32>
  return %loss, %g : tensor<f32>, tensor<2xf32>
}
