// RUN: dist-opt %s --dist-replicate=axes=data:2 --test-check-partition | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %s --strategy mirrored --devices cpu:2 --explain | FileCheck %s
// EQUAL: equal

// ON_READ ONLY_FIRST_REPLICA: each replica writes its own row without
// communication, all read the first replica's.
// CHECK: @train_step
// CHECK-NEXT: no transfers
// CHECK: @predict
// CHECK: argument {{ *}}last 1x3xf32 {{ *}}all_gather {{ *}}data (2 ranks)
graph.variable @last : tensor<2x3xf32> {group = "buffer", synchronization = 1 : i32, aggregation = 3 : i32} = dense<0.0> : tensor<2x3xf32>
func.func @train_step(%x: tensor<4x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}, %old: tensor<2x3xf32> {graph.role = "variable", graph.variable = @last}) -> (tensor<4x3xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}, tensor<2x3xf32> {graph.role = "variable", graph.variable = @last}) {
  %0 = graph.exp %x : tensor<4x3xf32>
  %1 = graph.reshape %0 : (tensor<4x3xf32>) -> tensor<2x2x3xf32>
  %2 = graph.reduce sum, %1 {dims = array<i64: 1>} : (tensor<2x2x3xf32>) -> tensor<2x3xf32>
  %3 = graph.add %old, %2 : tensor<2x3xf32>
  return %0, %3 : tensor<4x3xf32>, tensor<2x3xf32>
}
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}, %rows: tensor<2x3xf32> {graph.role = "variable", graph.variable = @last}) -> (tensor<4x3xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %0 = graph.slice %rows {starts = array<i64: 0, 0>, limits = array<i64: 1, 3>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = graph.reshape %0 : (tensor<1x3xf32>) -> tensor<3xf32>
  %2 = graph.broadcast %1 {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<4x3xf32>
  %3 = graph.add %x, %2 : tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}
