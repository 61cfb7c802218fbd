// RUN: dist-opt %s --emit=rt | FileCheck %s
// RUN: dist-opt %s --check=kernels | FileCheck %s --check-prefix=NUMBERS --implicit-check-not=diverges

// What is a variable's old value is copied before that variable changes: @e takes
// @d's, then @d takes @c's. @a, @b and @c go round in a circle, through the arena.
// CHECK-LABEL: rt.program @predict
// CHECK: %[[A:.+]] = rt.binding 1
// CHECK: %[[B:.+]] = rt.binding 2
// CHECK: %[[D:.+]] = rt.binding 4
// CHECK: %[[E:.+]] = rt.binding 5
// CHECK: rt.copy %[[D]] to %[[E]]
// CHECK: %[[C:.+]] = rt.binding 3
// CHECK: rt.copy %[[C]] to %[[D]]
// CHECK: %[[KEPT:.+]] = rt.arena 64 bytes 16
// CHECK: rt.copy %[[A]] to %[[KEPT]]
// CHECK: rt.copy %[[B]] to %[[A]]
// CHECK: rt.copy %[[C]] to %[[B]]
// CHECK: rt.copy %[[KEPT]] to %[[C]]
// NUMBERS: @predict as a whole: 6 results compared
graph.variable @a : tensor<4xf32> {group = "buffer"} = dense<1.0> : tensor<4xf32>
graph.variable @b : tensor<4xf32> {group = "buffer"} = dense<2.0> : tensor<4xf32>
graph.variable @c : tensor<4xf32> {group = "buffer"} = dense<3.0> : tensor<4xf32>
graph.variable @d : tensor<4xf32> {group = "buffer"} = dense<4.0> : tensor<4xf32>
graph.variable @e : tensor<4xf32> {group = "buffer"} = dense<5.0> : tensor<4xf32>
func.func @predict(%x: tensor<2x4xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<2x4xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %a = graph.read @a : tensor<4xf32>
  %b = graph.read @b : tensor<4xf32>
  %c = graph.read @c : tensor<4xf32>
  %d = graph.read @d : tensor<4xf32>
  graph.assign @a, %b : tensor<4xf32>
  graph.assign @b, %c : tensor<4xf32>
  graph.assign @c, %a : tensor<4xf32>
  graph.assign @d, %c : tensor<4xf32>
  graph.assign @e, %d : tensor<4xf32>
  %e = graph.read @e : tensor<4xf32>
  %t = graph.concat %a, %b {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %u = graph.reshape %t : (tensor<8xf32>) -> tensor<2x4xf32>
  %y = graph.add %x, %u : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
