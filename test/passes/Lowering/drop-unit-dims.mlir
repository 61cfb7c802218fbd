// RUN: dist-opt %s --graph-drop-unit-dims | FileCheck %s
// RUN: dist-opt %s --graph-drop-unit-dims --graph-form-clusters --rt-outline-kernels | FileCheck %s --check-prefix=KERNELS

// The one group of a rank's per-replica batch norm: the reduction is one over
// rows, and all of it has the shape of what surrounds it.
// CHECK-LABEL: func.func @group
// CHECK-SAME: (%[[X:.+]]: tensor<32x8xf32>)
// CHECK-NEXT: %[[SUM:.+]] = graph.reduce sum, %[[X]] {dims = array<i64: 0>} : (tensor<32x8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[ALL:.+]] = graph.broadcast %[[SUM]] {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<32x8xf32>
// CHECK-NEXT: %[[Y:.+]] = graph.sub %[[X]], %[[ALL]] : tensor<32x8xf32>
// CHECK-NEXT: return %[[Y]]
// KERNELS: rt.kernel @{{.+}} domain [32, 8]
// KERNELS-NOT: domain [1,
func.func @group(%x: tensor<32x8xf32>) -> tensor<32x8xf32> {
  %0 = graph.reshape %x : (tensor<32x8xf32>) -> tensor<1x32x8xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 1>} : (tensor<1x32x8xf32>) -> tensor<1x8xf32>
  %2 = graph.broadcast %1 {dims = array<i64: 0, 2>} : (tensor<1x8xf32>) -> tensor<1x32x8xf32>
  %3 = graph.sub %0, %2 : tensor<1x32x8xf32>
  %4 = graph.reshape %3 : (tensor<1x32x8xf32>) -> tensor<32x8xf32>
  return %4 : tensor<32x8xf32>
}

// A dim of size 1 that repeats is none of the dims that are kept.
// CHECK-LABEL: func.func @repeats
// CHECK: graph.reshape %{{.+}} : (tensor<4x1xf32>) -> tensor<4xf32>
// CHECK-NEXT: graph.broadcast %{{.+}} {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
func.func @repeats(%x: tensor<4x1xf32>) -> tensor<4x3xf32> {
  %0 = graph.broadcast %x {dims = array<i64: 0, 1>} : (tensor<4x1xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// Attributes stay with their op, but not a sharding: it spoke of all dims.
// CHECK-LABEL: func.func @attributes
// CHECK: graph.neg %{{.+}} {note = 3 : i64} : tensor<3xf32>
dist.mesh @mesh ["data"=2]
func.func @attributes(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %0 = graph.neg %x {dist.shardings = [#dist.sharding<@mesh, [{}, {"data"}]>], note = 3 : i64} : tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// Reductions over nothing but dims of size 1 stay.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: graph.reduce sum, %{{.+}} {dims = array<i64: 0>} : (tensor<1x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: graph.neg %{{.+}} : tensor<3xf32>
func.func @kept(%x: tensor<1x3xf32>) -> tensor<3xf32> {
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<1x3xf32>) -> tensor<3xf32>
  %1 = graph.neg %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}

// A kernel that was formed already keeps its rows, of which there is one.
// CHECK-LABEL: func @formed
// CHECK: graph.neg %{{.+}} : tensor<1x8xf32>
func.func @formed(%u: tensor<1x2xf32>, %i: tensor<1x2xi16>) -> tensor<1x8xf32> {
  %0 = rt.fused(%u, %i) domain [1, 8] row_dims 1 chunks 1 : (tensor<1x2xf32>, tensor<1x2xi16>) -> tensor<1x8xf32> {
  ^bb0(%a: tensor<1x2xf32>, %b: tensor<1x2xi16>):
    %1 = graph.scatter_rows %a, %b {size = 8 : i64} : (tensor<1x2xf32>, tensor<1x2xi16>) -> tensor<1x8xf32>
    %2 = graph.neg %1 : tensor<1x8xf32>
    rt.yield %2 : tensor<1x8xf32>
  }
  return %0 : tensor<1x8xf32>
}
