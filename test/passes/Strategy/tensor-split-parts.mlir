// Rules over parts of an axis refine the mesh before anything is split; rules
// over all of it list its parts. Behind @ stands a priority.
// RUN: dist-opt %s --dist-create-mesh=axes=data:2,model:4 --dist-replicate=axes=data "--dist-tensor-split=rules=a=1:model:(2)2@1,b=0:model" | FileCheck %s
// RUN: dist-opt %s --dist-create-mesh=axes=data:2,model:4 --dist-replicate=axes=data "--dist-tensor-split=rules=a=1:model:(2)2@1,b=0:model" --test-check-partition | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
// Two rules that disagree in @h: the one of lower number has it.
// RUN: dist-opt %s --dist-create-mesh=axes=model:2,rows:2 "--dist-tensor-split=rules=a=1:model,b=0:rows@1" --dist-propagate-sharding | FileCheck %s --check-prefix=MODEL
// RUN: dist-opt %s --dist-create-mesh=axes=model:2,rows:2 "--dist-tensor-split=rules=a=1:model@1,b=0:rows" --dist-propagate-sharding | FileCheck %s --check-prefix=ROWS
// MODEL: graph.dot_general {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"model"}]>]
// ROWS: graph.dot_general {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"rows"}]>]

// CHECK: dist.mesh @mesh ["data"=2, "model:(1)2"=2, "model:(2)2"=2]
// CHECK-SAME: "model:(1)2" = "--split rules split variables", "model:(2)2" = "--split rules split variables"
// CHECK: graph.variable @a {{.*}}"model:(2)2" = "--split a=1:model:(2)2@1 splits dim 1 over 'model:(2)2'"{{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model:(2)2"}p1], replicated = {"data"}>
graph.variable @a : tensor<4x8xf32> trainable = dense<0.5> : tensor<4x8xf32>
// CHECK: graph.variable @a.m {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model:(2)2"}p1], replicated = {"data"}>
graph.variable @a.m : tensor<4x8xf32> {group = "slot", slot_of = @a} = dense<0.0> : tensor<4x8xf32>
// CHECK: graph.variable @b {{.*}}sharding = #dist.sharding<@mesh, [{"model:(1)2", "model:(2)2"}, {?}], replicated = {"data"}>
graph.variable @b : tensor<8x4xf32> trainable = dense<0.5> : tensor<8x4xf32>

func.func @predict(
    %x: tensor<2x4xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %a: tensor<4x8xf32> {graph.role = "variable", graph.variable = @a},
    %b: tensor<8x4xf32> {graph.role = "variable", graph.variable = @b})
    -> (tensor<2x4xf32> {graph.role = "output", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %a {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = graph.relu %0 : tensor<2x8xf32>
  %2 = graph.dot_general %1, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
