// RUN: dist-opt %s --graph-differentiate=inputs=x | FileCheck %s
// RUN: not dist-opt %s --graph-differentiate=inputs=y 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dist-opt %s --graph-differentiate=inputs=x,x 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dist-opt %s --graph-differentiate=inputs=unused 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not dist-opt %s --graph-differentiate=inputs=ids 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --input-gradients: 'train_step' has no input '{{y|ids}}' of floats; it has 'x', 'unused'
// TWICE: error: --input-gradients: 'x' is given twice
// UNUSED: error: --input-gradients: the loss of 'train_step' does not depend on input 'unused'

// The gradient by an input comes behind those by variables, with its name and
// batch dim.
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[X:[^:]+]]: tensor<4xf32> {
// CHECK-SAME: %[[W:[^:]+]]: tensor<4xf32> {graph.role = "variable"
// CHECK-SAME: -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.name = "w", graph.role = "gradient", graph.variable = @w}, tensor<4xf32> {graph.batch_dim = 0 : i64, graph.name = "x", graph.role = "gradient"})
// CHECK: %[[ONES:.+]] = graph.broadcast
// CHECK-DAG: %[[BYX:.+]] = graph.mul %[[ONES]], %[[W]]
// CHECK-DAG: %[[BYW:.+]] = graph.mul %[[ONES]], %[[X]]
// CHECK: return %{{.+}}, %[[BYW]], %[[BYX]]
graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
func.func @train_step(%x: tensor<4xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64},
                      %u: tensor<4xf32> {graph.role = "input", graph.name = "unused"},
                      %i: tensor<4xi32> {graph.role = "input", graph.name = "ids"},
                      %w: tensor<4xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"}) {
  %0 = graph.mul %x, %w : tensor<4xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
