// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding{sources=true},func.func(dist-insert-reshards))" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding{close=false sources=true},dist-propagate-sharding{sources=true},func.func(dist-insert-reshards))" | FileCheck %s --check-prefix=AGAIN
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding{sources=true},func.func(dist-insert-reshards,dist-strip-shardings))" | FileCheck %s --check-prefix=STRIPPED

// A row an axis: axis, value, dim, result, op, place, and the row it follows
// from. Two decisions, then what follows from the first.
// CHECK: dist.mesh @mesh
// CHECK-SAME: sources = {names = ["data", "'x'", "", "the program says so", "'y'", "'a'", "graph.tanh", "a", "'b'", "graph.add", "b"], rows = array<i32: 0, 1, 0, 0, 2, 3, -1, 0, 4, 1, 0, 2, 3, -1, 0, 5, 0, 0, 6, 7, 0, 0, 8, 0, 0, 9, 10, 2>}
// A later round goes on with the rows of the first.
// AGAIN: rows = array<i32: 0, 1, 0, 0, 2, 3, -1, 0, 4, 1, 0, 2, 3, -1, 0, 5, 0, 0, 6, 7, 0, 0, 8, 0, 0, 9, 10, 2>}
dist.mesh @mesh ["data"=2]
// CHECK: %arg0: {{.*}}dist.sources = array<i32: 0>
// CHECK-SAME: %arg1: {{.*}}dist.sources = array<i32: 1>
func.func @meet(%x: tensor<4x4xf32> {graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                %y: tensor<4x4xf32> {graph.name = "y", dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}) -> tensor<4x4xf32> {
  // CHECK: graph.tanh %arg0 {{.*}}dist.sources = array<i32: 2>
  // STRIPPED: graph.tanh %arg0 : tensor<4x4xf32>
  %0 = graph.tanh %x : tensor<4x4xf32> loc("a")
  // What is moved, and what decided otherwise.
  // CHECK-NEXT: dist.reshard %arg1 {{.*}}dist.causes = array<i32: 1, 2>{{.*}}dist.sources = array<i32: 2>
  // STRIPPED: dist.reshard
  // STRIPPED-NOT: dist.causes
  // STRIPPED: graph.add
  %1 = graph.add %0, %y : tensor<4x4xf32> loc("b")
  return %1 : tensor<4x4xf32>
}
