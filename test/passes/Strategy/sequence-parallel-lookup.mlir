// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-tensor-split{preset=vocab},dist-propagate-sharding{close=false},dist-sequence-parallel)" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-tensor-split{preset=vocab},dist-propagate-sharding{close=false},dist-sequence-parallel,dist-partition-pipeline)" | FileCheck %s --check-prefix=LOCAL

// A lookup in a split table gives partial sums like any layer: they are asked for
// in parts of the 6 tokens; the indices stay whole. Its gradient takes all tokens'
// cotangents, which nothing else does.
dist.mesh @mesh ["model"=2]
graph.variable @table : tensor<8x4xf32> trainable = dense<1.0> : tensor<8x4xf32>
graph.variable @scale : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @bias : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
graph.variable @head : tensor<4x8xf32> trainable = dense<1.0> : tensor<4x8xf32>

// CHECK-LABEL: func.func @gradients
// CHECK: %[[ROWS:.+]] = graph.gather_rows %arg1, %arg0
// CHECK: %[[PART:.+]] = dist.reshard %[[ROWS]] to <@mesh, {{\[}}{}, {"model"}, {}]> because "--strategy=tensor-split:sequence-parallel keeps parts of the tokens on each rank along 'model'"
// CHECK: %[[NORM:result.*]], %{{.+}}, %{{.+}} = graph.layer_norm %[[PART]]
// CHECK: %[[WHOLE:.+]] = dist.reshard %[[NORM]] to <@mesh, {{\[}}{}, {}, {}]>
// CHECK: graph.dot_general %[[WHOLE]]
// CHECK: %[[COTANGENT:.+]] = graph.tanh %[[NORM]]
// CHECK: %[[ALL:.+]] = dist.reshard %[[COTANGENT]] to <@mesh, {{\[}}{}, {}, {}]> because "--strategy=tensor-split:sequence-parallel gathers the tokens where weights are split over 'model'"
// CHECK: graph.scatter_add_rows %{{.+}}, %arg0, %[[ALL]],

// LOCAL-LABEL: func.func @gradients
// LOCAL-NOT: dist.all_reduce
// LOCAL: graph.gather_rows {{.*}}(tensor<4x4xf32>, tensor<2x6xi64>, tensor<4xi32>) -> tensor<2x6x4xf32>
// LOCAL: dist.reduce_scatter {{.*}}dims = array<i64: 1>
// LOCAL: graph.layer_norm {{.*}} : (tensor<2x3x4xf32>
// LOCAL: dist.all_gather {{.*}}dims = array<i64: 1>
// LOCAL: graph.dot_general {{.*}} -> tensor<2x6x4xf32>
// LOCAL: dist.all_gather {{.*}}dims = array<i64: 1>
// LOCAL: graph.scatter_add_rows {{.*}} -> tensor<4x4xf32>
// LOCAL-NOT: dist.all_reduce
// LOCAL: return
func.func @gradients(%ids: tensor<2x6xi64> {graph.role = "input", graph.name = "ids", graph.batch_dim = 0 : i64},
    %table: tensor<8x4xf32> {graph.variable = @table, graph.role = "variable"},
    %scale: tensor<4xf32> {graph.variable = @scale, graph.role = "variable"}, %bias: tensor<4xf32> {graph.variable = @bias, graph.role = "variable"},
    %head: tensor<4x8xf32> {graph.variable = @head, graph.role = "variable"})
    -> (tensor<2x6x8xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64},
        tensor<8x4xf32> {graph.role = "gradient", graph.variable = @table}) {
  %z = graph.constant dense<0.0> : tensor<8x4xf32>
  %0 = graph.gather %table, %ids {axis = 0 : i64} : (tensor<8x4xf32>, tensor<2x6xi64>) -> tensor<2x6x4xf32>
  %1, %mean, %inv = graph.layer_norm %0, %scale, %bias {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x6x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
  %2 = graph.dot_general %1, %head {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x6x4xf32>, tensor<4x8xf32>) -> tensor<2x6x8xf32>
  %3 = graph.tanh %1 : tensor<2x6x4xf32>
  %4 = graph.scatter_add %z, %ids, %3 {axis = 0 : i64} : (tensor<8x4xf32>, tensor<2x6xi64>, tensor<2x6x4xf32>) -> tensor<8x4xf32>
  return %2, %4 : tensor<2x6x8xf32>, tensor<8x4xf32>
}
