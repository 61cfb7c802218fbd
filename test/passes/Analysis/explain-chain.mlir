// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding{sources=true},func.func(dist-insert-reshards,dist-insert-all-reduce),dist-partition,func.func(dist-combine-collectives),test-explain{json=true})" -o /dev/null | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce),dist-partition,func.func(dist-combine-collectives),test-explain{json=true})" -o /dev/null | FileCheck %s --check-prefix=NONE

// From the user's decision, along the ops by which the split spread, to the op
// that summed over it; through partitioning and into a bucket.
// CHECK: "causes": [
// CHECK-NEXT: 5
// CHECK-NEXT: ],
// CHECK: "chains": [
// CHECK-NEXT: [
// CHECK-NEXT: {
// CHECK-NEXT: "axis": "model",
// CHECK-NEXT: "decision": "--split w=1:model splits dim 1 over 'model'",
// CHECK-NEXT: "dim": 1,
// CHECK-NEXT: "value": "variable 'w'"
// CHECK-NEXT: },
// CHECK-NEXT: {
// CHECK-NEXT: "axis": "model",
// CHECK-NEXT: "dim": 1,
// CHECK-NEXT: "op": "graph.dot_general",
// CHECK-NEXT: "place": "up",
// CHECK-NEXT: "value": "'up'"
// CHECK-NEXT: },
// Ops that are alike in all layers are one step.
// CHECK-NEXT: {
// CHECK-NEXT: "axis": "model",
// CHECK-NEXT: "dim": 1,
// CHECK-NEXT: "op": "graph.tanh",
// CHECK-NEXT: "place": "act{1-4}",
// CHECK-NEXT: "times": 4,
// CHECK-NEXT: "value": "'act{1-4}'"
// CHECK-NEXT: }
// CHECK-NEXT: ]
// CHECK-NEXT: ],
// CHECK-NEXT: "collective": "all_reduce",
// The whole chain, step by step.
// CHECK: "sources": [
// CHECK: "decision": "--split w=1:model splits dim 1 over 'model'"
// CHECK: "from": null
// CHECK: "from": 0
// CHECK: "place": "up"
// CHECK: "from": 4
// CHECK: "place": "act4"
// Nothing is kept unless asked for.
// NONE: "causes": [],
// NONE-NEXT: "chains": [],
// NONE: "sources": []
dist.mesh @mesh ["model"=2] {why = {model = "--split rules split variables"}}
graph.variable @w : tensor<4x8xf32> trainable {dist.why = {model = "--split w=1:model splits dim 1 over 'model'"}, sharding = #dist.sharding<@mesh, [{}, {"model"}]>} = dense<0.5> : tensor<4x8xf32>
func.func @predict(%x: tensor<2x4xf32> {graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
                   %w: tensor<4x8xf32> {graph.variable = @w},
                   %v: tensor<8x4xf32> {graph.name = "v"})
    -> (tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32> loc("up")
  %1 = graph.tanh %0 : tensor<2x8xf32> loc("act1")
  %2 = graph.tanh %1 : tensor<2x8xf32> loc("act2")
  %3 = graph.tanh %2 : tensor<2x8xf32> loc("act3")
  %4 = graph.tanh %3 : tensor<2x8xf32> loc("act4")
  %5 = graph.dot_general %4, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> loc("down")
  return %5 : tensor<2x4xf32>
}
