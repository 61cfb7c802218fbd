// RUN: dist-opt %s -split-input-file --graph-training-mode='partial' | FileCheck %s
// RUN: dist-opt %s -split-input-file --graph-training-mode='groups=2' | FileCheck %s --check-prefix=SPLIT

// Examples and their positions in one dim, as a norm behind flatten(0, 1) has
// them: the batch's rows are a dim of their own again, which a replica has a
// part of and a mask leaves out.
graph.variable @m : tensor<3xf32> {group = "buffer"} = dense<1.0> : tensor<3xf32>
// CHECK-LABEL: func @train_step(
// CHECK: %[[ROWS:.+]] = graph.reshape %{{.+}} : (tensor<20x3xf32>) -> tensor<4x5x3xf32>
// CHECK: %[[NORM:.+]], %{{.+}}, %{{.+}}, %{{.+}} = graph.batch_norm %[[ROWS]], {{.*}}axis = 2
// CHECK: graph.reshape %[[NORM]] : (tensor<4x5x3xf32>) -> tensor<20x3xf32>
// CHECK-LABEL: func @train_step_partial(
// CHECK: graph.batch_norm %{{.+}}, mask %{{.+}}axis = 2 : i64{{.*}} : (tensor<4x5x3xf32>,
// SPLIT-LABEL: func @train_step(
// SPLIT: graph.batch_norm %{{.+}}axis = 2 : i64{{.*}}groups = 2 : i64} : (tensor<4x5x3xf32>,
func.func @predict(%x: tensor<4x5x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x5x3xf32> {graph.role = "output"}) {
  %m = graph.read @m : tensor<3xf32>
  %flat = graph.reshape %x : (tensor<4x5x3xf32>) -> tensor<20x3xf32>
  %0 = graph.batch_norm_inference %flat, %m, %m, %m, %m {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<20x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<20x3xf32>
  %1 = graph.reshape %0 : (tensor<20x3xf32>) -> tensor<4x5x3xf32>
  return %1 : tensor<4x5x3xf32>
}

// -----

// Time first, as recurrent models have it, also where it is as long as the batch.
graph.variable @m : tensor<3xf32> {group = "buffer"} = dense<1.0> : tensor<3xf32>
// CHECK-LABEL: func @train_step(
// CHECK: %[[FIRST:.+]] = graph.transpose %{{.+}} {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x3xf32>)
// CHECK: %[[FIRST_OF:.+]] = graph.transpose %[[FIRST]] {permutation = array<i64: 1, 0, 2>}
// CHECK: %[[NORM:.+]], %{{.+}}, %{{.+}}, %{{.+}} = graph.batch_norm %[[FIRST_OF]], {{.*}}axis = 2
// CHECK: graph.transpose %[[NORM]] {permutation = array<i64: 1, 0, 2>}
func.func @predict(%x: tensor<4x4x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x4x3xf32> {graph.role = "output", graph.batch_dim = 1 : i64}) {
  %m = graph.read @m : tensor<3xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x4x3xf32>) -> tensor<4x4x3xf32>
  %1 = graph.batch_norm_inference %0, %m, %m, %m, %m {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x4x3xf32>
  return %1 : tensor<4x4x3xf32>
}

// -----

// Positions before the examples in one dim: both are told apart.
graph.variable @m : tensor<3xf32> {group = "buffer"} = dense<1.0> : tensor<3xf32>
// CHECK-LABEL: func @train_step(
// CHECK: %[[APART:.+]] = graph.reshape %{{.+}} : (tensor<20x3xf32>) -> tensor<5x4x3xf32>
// CHECK: %[[FIRST:.+]] = graph.transpose %[[APART]] {permutation = array<i64: 1, 0, 2>}
// CHECK: %[[NORM:.+]], %{{.+}}, %{{.+}}, %{{.+}} = graph.batch_norm %[[FIRST]], {{.*}}axis = 2
// CHECK: %[[BACK:.+]] = graph.transpose %[[NORM]] {permutation = array<i64: 1, 0, 2>} : (tensor<4x5x3xf32>)
// CHECK: graph.reshape %[[BACK]] : (tensor<5x4x3xf32>) -> tensor<20x3xf32>
func.func @predict(%x: tensor<4x5x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<20x3xf32> {graph.role = "output"}) {
  %m = graph.read @m : tensor<3xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x5x3xf32>) -> tensor<5x4x3xf32>
  %1 = graph.reshape %0 : (tensor<5x4x3xf32>) -> tensor<20x3xf32>
  %2 = graph.batch_norm_inference %1, %m, %m, %m, %m {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<20x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<20x3xf32>
  return %2 : tensor<20x3xf32>
}
