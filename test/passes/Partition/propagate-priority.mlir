// RUN: dist-opt %s --dist-propagate-sharding | FileCheck %s
// RUN: dist-opt %s --dist-propagate-sharding=close=false | FileCheck %s --check-prefix=OPEN
// RUN: dist-opt %s --dist-propagate-sharding=close=false --dist-propagate-sharding | FileCheck %s
// RUN: dist-opt %s --test-check-partition | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
dist.mesh @mesh ["data"=2, "model"=2]

// A conflict goes to the lower number, whichever side it is on...
// CHECK-LABEL: func @left_first
func.func @left_first(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                      %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}p1, {}]>}) -> tensor<8x4xf32> {
  // CHECK: graph.add {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]
  %0 = graph.add %x, %y : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func @right_first
func.func @right_first(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}p2, {}]>},
                       %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}p1, {}]>}) -> tensor<8x4xf32> {
  // CHECK: graph.add {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model"}, {}]>]
  %0 = graph.add %x, %y : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// ... though without priorities the larger tensor has it.
// CHECK-LABEL: func @small_first
// CHECK: graph.dot_general {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"model"}]>]
// CHECK-LABEL: func @large_wins
// CHECK: graph.dot_general {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model"}, {}]>]
func.func @small_first(%x: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}p1, {}]>},
                       %y: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) -> tensor<16x8xf32> {
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
func.func @large_wins(%x: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>},
                      %y: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) -> tensor<16x8xf32> {
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// The axes of a dim that waits are not given to another dim of its tensor; nor
// is the dim split by others, even if it is open.
// CHECK-LABEL: func @waits
// CHECK-SAME: %{{[^:]+}}: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: %{{[^:]+}}: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}
// OPEN-LABEL: func @waits
// OPEN-SAME: %{{[^:]+}}: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", ?}p1, {?}]>}
func.func @waits(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", ?}p1, {?}]>},
                 %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"data"}]>}) -> tensor<8x4xf32> {
  // CHECK: graph.add {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"data"}]>]
  %0 = graph.add %x, %y : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// An open dim of priority 1 takes what is left once it may: "data" went to the
// first dim before.
// CHECK-LABEL: func @opens_late
// CHECK-SAME: %{{[^:]+}}: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>}
func.func @opens_late(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {?}p1]>},
                      %y: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<8x8xf32> {
  %0 = graph.add %x, %y : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// A result's, backward, against an argument's, forward.
// CHECK-LABEL: func @backward
// CHECK: graph.exp {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model"}, {}]>]
func.func @backward(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}p1, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) {
  %0 = graph.exp %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Variables are one value to all functions, with their priorities.
// CHECK: graph.variable @w {{.*}}sharding = #dist.sharding<@mesh, [{"data"}]>
graph.variable @w : tensor<8xf32> trainable {sharding = #dist.sharding<@mesh, [{"data"}p3]>} = dense<0.5> : tensor<8xf32>
// CHECK: graph.variable @v {{.*}}sharding = #dist.sharding<@mesh, [{"model"}]>
graph.variable @v : tensor<8xf32> trainable {sharding = #dist.sharding<@mesh, [{"model"}p2]>} = dense<0.5> : tensor<8xf32>
// CHECK-LABEL: func @variables
func.func @variables(%w: tensor<8xf32> {graph.variable = @w}, %v: tensor<8xf32> {graph.variable = @v}) -> tensor<8xf32> {
  // CHECK: graph.add {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model"}]>]
  %0 = graph.add %w, %v : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// What comes next must not bring a split forward: where it is open still, a dim
// keeps its priority, and what was split along with it has the same. What was
// split before has none.
// OPEN-LABEL: func @follows
// OPEN: graph.exp {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model", ?}p1, {"data", ?}]>]
// CHECK-LABEL: func @follows
// CHECK: graph.exp {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model"}, {"data"}]>]
func.func @follows(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}p1, {"data"}]>}) -> tensor<8x4xf32> {
  %0 = graph.exp %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
