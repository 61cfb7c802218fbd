// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-tensor-split,dist-propagate-sharding{close=false},dist-sequence-parallel)" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-tensor-split,dist-propagate-sharding{close=false},dist-sequence-parallel,dist-partition-pipeline)" | FileCheck %s --check-prefix=LOCAL

dist.mesh @mesh ["model"=2]
graph.variable @w1 : tensor<4x8xf32> trainable = dense<1.0> : tensor<4x8xf32>
graph.variable @w2 : tensor<8x4xf32> trainable = dense<1.0> : tensor<8x4xf32>
graph.variable @w3 : tensor<4x8xf32> trainable = dense<1.0> : tensor<4x8xf32>
graph.variable @w4 : tensor<8x4xf32> trainable = dense<1.0> : tensor<8x4xf32>
graph.variable @scale : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @bias : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>

// What the first pair gives is asked for in parts of the 6 tokens, what the second
// takes is whole; the residual sum and the norm between them compute on parts.
// CHECK-LABEL: func.func @predict
// CHECK: %[[UP:.+]] = graph.dot_general
// CHECK: %[[DOWN:.+]] = graph.dot_general
// CHECK: %[[PART:.+]] = dist.reshard %[[DOWN]] to <@mesh, {{\[}}{}, {"model"}, {}]> because "--strategy=tensor-split:sequence-parallel keeps parts of the tokens on each rank along 'model'"
// CHECK: %[[SUM:.+]] = graph.add %{{.+}}, %[[PART]]
// CHECK: %[[NORM:result.*]], %{{.+}}, %{{.+}} = graph.layer_norm %[[SUM]]{{.*}}dist.shardings = [#dist.sharding<@mesh, [{?}, {"model"}, {?}]>
// CHECK: %[[WHOLE:.+]] = dist.reshard %[[NORM]] to <@mesh, {{\[}}{}, {}, {}]> because "--strategy=tensor-split:sequence-parallel gathers the tokens where weights are split over 'model'"
// CHECK: graph.dot_general %[[WHOLE]]
// CHECK: graph.dot_general
// CHECK: dist.reshard {{.*}}keeps parts of the tokens

// LOCAL-LABEL: func.func @predict
// LOCAL-NOT: dist.all_reduce
// LOCAL: dist.reduce_scatter {{.*}}dims = array<i64: 1>
// LOCAL: graph.add {{.*}}tensor<2x3x4xf32>
// LOCAL: graph.layer_norm {{.*}} : (tensor<2x3x4xf32>
// LOCAL: dist.all_gather {{.*}}dims = array<i64: 1>
// LOCAL: dist.reduce_scatter {{.*}}dims = array<i64: 1>
// LOCAL-NOT: dist.all_reduce
// LOCAL: return
func.func @predict(%x: tensor<2x6x4xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64},
    %w1: tensor<4x8xf32> {graph.variable = @w1, graph.role = "variable"}, %w2: tensor<8x4xf32> {graph.variable = @w2, graph.role = "variable"},
    %w3: tensor<4x8xf32> {graph.variable = @w3, graph.role = "variable"}, %w4: tensor<8x4xf32> {graph.variable = @w4, graph.role = "variable"},
    %scale: tensor<4xf32> {graph.variable = @scale, graph.role = "variable"}, %bias: tensor<4xf32> {graph.variable = @bias, graph.role = "variable"})
    -> (tensor<2x6x4xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %w1 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x6x4xf32>, tensor<4x8xf32>) -> tensor<2x6x8xf32>
  %1 = graph.tanh %0 : tensor<2x6x8xf32>
  %2 = graph.dot_general %1, %w2 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<8x4xf32>) -> tensor<2x6x4xf32>
  %3 = graph.add %x, %2 : tensor<2x6x4xf32>
  %4, %mean, %inv = graph.layer_norm %3, %scale, %bias {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x6x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
  %5 = graph.dot_general %4, %w3 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x6x4xf32>, tensor<4x8xf32>) -> tensor<2x6x8xf32>
  %6 = graph.tanh %5 : tensor<2x6x8xf32>
  %7 = graph.dot_general %6, %w4 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<8x4xf32>) -> tensor<2x6x4xf32>
  %8 = graph.add %3, %7 : tensor<2x6x4xf32>
  return %8 : tensor<2x6x4xf32>
}
