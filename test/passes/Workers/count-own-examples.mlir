// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-count-own-examples{workers=4}))" -split-input-file | FileCheck %s

// Of a full batch each worker has as many examples: their parts of the mean add up.
// CHECK-LABEL: func @train_step(
// CHECK-SAME: %[[X:.+]]: tensor<8xf32>
// CHECK: %[[LOSS:.+]] = graph.exp
// CHECK: %[[QUARTER:.+]] = graph.constant dense<2.500000e-01>
// CHECK: %[[PART:.+]] = graph.mul %[[LOSS]], %[[QUARTER]]
// CHECK: return %[[PART]], %[[LOSS]]
func.func @train_step(%x: tensor<8xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}, %l: tensor<f32> {graph.role = "variable", graph.name = "w"})
    -> (tensor<f32> {graph.role = "loss", graph.name = "loss"}, tensor<f32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.exp %l : tensor<f32>
  return %0, %0 : tensor<f32>, tensor<f32>
}

// A short one is divided by what the mask says, and never by 0.
// CHECK-LABEL: func @train_step_partial(
// CHECK-SAME: %[[SUM:.+]]: tensor<f32>{{.*}}, %[[MASK:.+]]: tensor<8xi1>{{.*}}, %[[COUNT:.+]]: tensor<f32>
// CHECK: %[[ONES:.+]] = graph.convert %[[MASK]]
// CHECK: %[[OWN:.+]] = graph.reduce {{.*}}%[[ONES]]
// CHECK: %[[ONE:.+]] = graph.constant dense<1.000000e+00>
// CHECK: %[[ATLEAST:.+]] = graph.max %[[OWN]], %[[ONE]]
// CHECK: %[[LOSS:.+]] = graph.div %[[SUM]], %[[ATLEAST]]
// What counts examples has as many as there are.
// CHECK: %[[TOTAL:.+]] = graph.add %[[SUM]], %[[OWN]]
// CHECK: %[[SHARE:.+]] = graph.div %[[OWN]], %[[COUNT]]
// CHECK: %[[PART:.+]] = graph.mul %[[LOSS]], %[[SHARE]]
// CHECK: return %[[PART]], %[[TOTAL]]
func.func @train_step_partial(%s: tensor<f32> {graph.role = "variable", graph.name = "w"}, %m: tensor<8xi1> {graph.role = "mask", graph.name = "mask", graph.batch_dim = 0 : i64}, %c: tensor<f32> {graph.role = "count", graph.name = "count"})
    -> (tensor<f32> {graph.role = "loss", graph.name = "loss"}, tensor<f32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.div %s, %c : tensor<f32>
  %1 = graph.add %s, %c : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// Nothing is counted, and nothing lost.
// CHECK-LABEL: func @predict(
// CHECK-NEXT: graph.exp
// CHECK-NEXT: return
func.func @predict(%x: tensor<8xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}) -> (tensor<8xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
