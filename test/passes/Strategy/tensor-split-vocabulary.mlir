// RUN: dist-opt %s --dist-create-mesh=axes=model:2 --dist-tensor-split=preset=vocab | FileCheck %s --check-prefixes=CHECK,HEAD
// RUN: dist-opt %s --dist-create-mesh=axes=model:2 --dist-tensor-split=preset=transformer,vocab | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: dist-opt %s --dist-create-mesh=axes=model:2 "--dist-tensor-split=rules=table=0:model" | FileCheck %s --check-prefix=RULE
// RUN: dist-opt %s --dist-create-mesh=axes=model:2 "--dist-tensor-split=rules=table=1:model" | FileCheck %s --check-prefix=COLUMNS
// RUN: dist-opt %s --dist-create-mesh=axes=data:2 --dist-shard-optimizer=stage=3 | FileCheck %s --check-prefix=ZERO
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-create-mesh{axes=model:2},dist-tensor-split{preset=vocab},dist-partition-pipeline)" | FileCheck %s --check-prefix=LOCAL
// RUN: not dist-opt %s --dist-create-mesh=axes=model:2 --dist-tensor-split=preset=vocab,conv 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dist-opt %s --dist-create-mesh=axes=model:5 "--dist-tensor-split=preset=vocab strict-divisibility=true" 2>&1 | FileCheck %s --check-prefix=STRICT
// NONE: --split-preset conv: nothing in the model fits: no variable can be split over 'model' (2 ranks)
// STRICT: --split-preset vocab: dim 1 of 'head' has 12 elements, which 'model' cannot split into 5 equal parts; sizes that work are 10 and 15

// The table of tokens is split along its rows and the head along its classes;
// positions, of which there are few, and what is between are none of the preset's.
// CHECK: graph.variable @table {{.*}}dist.why = {model = "--split-preset vocab splits dim 0 over 'model'"}{{.*}}sharding = #dist.sharding<@mesh, [{"model"}, {?}]>
graph.variable @table : tensor<12x4xf32> trainable = dense<0.5> : tensor<12x4xf32>
// CHECK: graph.variable @position {{.*}}sharding = #dist.sharding<@mesh, [{?}, {?}]>
graph.variable @position : tensor<3x4xf32> trainable = dense<0.5> : tensor<3x4xf32>
// HEAD: graph.variable @up {{.*}}sharding = #dist.sharding<@mesh, [{?}, {?}]>
// BOTH: graph.variable @up {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model"}]>
graph.variable @up : tensor<4x8xf32> trainable = dense<0.5> : tensor<4x8xf32>
// HEAD: graph.variable @down {{.*}}sharding = #dist.sharding<@mesh, [{?}, {?}]>
// BOTH: graph.variable @down {{.*}}sharding = #dist.sharding<@mesh, [{"model"}, {?}]>
graph.variable @down : tensor<8x4xf32> trainable = dense<0.5> : tensor<8x4xf32>
// CHECK: graph.variable @head {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model"}]>
graph.variable @head : tensor<4x12xf32> trainable = dense<0.5> : tensor<4x12xf32>

// The lookup takes the rows by their numbers, and keeps its own number; the other
// lookup is as it was. The softmax is what it consists of.
// CHECK-LABEL: func.func @predict
// CHECK: %[[NUMBERS:.+]] = graph.iota {dim = 0 : i64} : tensor<12xi32>
// CHECK: graph.gather_rows %{{.+}}, %{{.+}}, %[[NUMBERS]] {dist.origin = 7 : i64, num_rows = 12 : i64} : (tensor<12x4xf32>, tensor<2x3xi64>, tensor<12xi32>) -> tensor<2x3x4xf32>
// CHECK: graph.gather %{{.+}}, %{{.+}} {axis = 0 : i64} : (tensor<3x4xf32>
// CHECK-NOT: graph.softmax
// CHECK: graph.reduce max, {{.*}}(tensor<2x3x12xf32>) -> tensor<2x3xf32>
// CHECK: graph.reduce sum, {{.*}}(tensor<2x3x12xf32>) -> tensor<2x3xf32>
// CHECK: graph.div
// CHECK: return
// A rule says the same; along columns, or over the axis of the batch, a lookup is
// no sum.
// RULE-LABEL: func.func @predict
// RULE: graph.gather_rows
// RULE: graph.softmax
// COLUMNS-LABEL: func.func @gradients
// COLUMNS-NOT: _rows
// COLUMNS: graph.scatter_add %
// ZERO-LABEL: func.func @gradients
// ZERO-NOT: _rows
// ZERO: graph.scatter_add %
// LOCAL-LABEL: func.func @predict
// LOCAL: %[[SUM:.+]] = graph.gather_rows {{.*}} : (tensor<6x4xf32>, tensor<2x3xi64>, tensor<6xi32>) -> tensor<2x3x4xf32>
// LOCAL: dist.all_reduce %[[SUM]] over @mesh ["model"] {{.*}}tensor<2x3x4xf32>
// LOCAL-NOT: dist.all_gather
// LOCAL: dist.all_reduce {{.*}} by max {{.*}}tensor<2x3xf32>
// LOCAL: graph.reduce sum, {{.*}}(tensor<2x3x6xf32>) -> tensor<2x3xf32>
// LOCAL: dist.all_reduce {{.*}}tensor<2x3xf32>
// LOCAL-NOT: dist.all_gather
// LOCAL: return
func.func @predict(%ids: tensor<2x3xi64> {graph.role = "input", graph.name = "ids", graph.batch_dim = 0 : i64},
    %places: tensor<2x3xi64> {graph.role = "input", graph.name = "places", graph.batch_dim = 0 : i64},
    %table: tensor<12x4xf32> {graph.variable = @table, graph.role = "variable"}, %position: tensor<3x4xf32> {graph.variable = @position, graph.role = "variable"},
    %up: tensor<4x8xf32> {graph.variable = @up, graph.role = "variable"}, %down: tensor<8x4xf32> {graph.variable = @down, graph.role = "variable"},
    %head: tensor<4x12xf32> {graph.variable = @head, graph.role = "variable"})
    -> (tensor<2x3x12xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %0 = graph.gather %table, %ids {axis = 0 : i64, dist.origin = 7 : i64} : (tensor<12x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %1 = graph.gather %position, %places {axis = 0 : i64} : (tensor<3x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %2 = graph.add %0, %1 : tensor<2x3x4xf32>
  %3 = graph.dot_general %2, %up {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
  %4 = graph.tanh %3 : tensor<2x3x8xf32>
  %5 = graph.dot_general %4, %down {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
  %6 = graph.tanh %5 : tensor<2x3x4xf32>
  %7 = graph.dot_general %6, %head {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x3x4xf32>, tensor<4x12xf32>) -> tensor<2x3x12xf32>
  %8 = graph.softmax %7 {axis = 2 : i64} : tensor<2x3x12xf32>
  return %8 : tensor<2x3x12xf32>
}

// The gradient of the table is added to zeros where the rows are; sums to other
// tables, and at other indices, are as they were.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[NUMBERS:.+]] = graph.iota
// CHECK: %[[ROWS:.+]] = graph.gather_rows %{{.+}}, %{{.+}}, %[[NUMBERS]]
// CHECK: graph.cross_entropy
// CHECK: graph.scatter_add_rows %{{.+}}, %{{.+}}, %[[ROWS]], %[[NUMBERS]] {num_rows = 12 : i64}
// CHECK: graph.scatter_add %{{.+}}, %{{.+}}, %{{.+}} {axis = 0 : i64} : (tensor<3x4xf32>
// CHECK: graph.scatter_add %{{.+}}, %{{.+}}, %{{.+}} {axis = 0 : i64} : (tensor<12x4xf32>
// LOCAL-LABEL: func.func @gradients
// LOCAL: graph.scatter_add_rows {{.*}} -> tensor<6x4xf32>
func.func @gradients(%ids: tensor<2x3xi64> {graph.role = "input", graph.name = "ids", graph.batch_dim = 0 : i64},
    %places: tensor<2x3xi64> {graph.role = "input", graph.name = "places", graph.batch_dim = 0 : i64},
    %labels: tensor<2x3xi64> {graph.role = "label", graph.name = "labels", graph.batch_dim = 0 : i64},
    %table: tensor<12x4xf32> {graph.variable = @table, graph.role = "variable"})
    -> (tensor<12x4xf32> {graph.role = "gradient", graph.variable = @table}, tensor<3x4xf32>, tensor<12x4xf32>, tensor<2x3xf32>) {
  %z = graph.constant dense<0.0> : tensor<12x4xf32>
  %p = graph.constant dense<0.0> : tensor<3x4xf32>
  %0 = graph.gather %table, %ids {axis = 0 : i64} : (tensor<12x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %1 = graph.cross_entropy %0, %labels : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  %2 = graph.scatter_add %z, %ids, %0 {axis = 0 : i64} : (tensor<12x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<12x4xf32>
  %3 = graph.scatter_add %p, %ids, %0 {axis = 0 : i64} : (tensor<3x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<3x4xf32>
  %4 = graph.scatter_add %z, %places, %0 {axis = 0 : i64} : (tensor<12x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<12x4xf32>
  return %2, %3, %4, %1 : tensor<12x4xf32>, tensor<3x4xf32>, tensor<12x4xf32>, tensor<2x3xf32>
}
