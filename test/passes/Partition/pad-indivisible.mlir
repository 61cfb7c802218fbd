// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-pad-indivisible))" -split-input-file | FileCheck %s

// The neutral element of each reduction, behind one iota; element-wise ops
// compute with the padding.
// CHECK-LABEL: func.func @reduce(
// CHECK-SAME: %[[X:.+]]: tensor<12xf32> {dist.global_type = tensor<10xf32>
dist.mesh @mesh ["model"=3]
func.func @reduce(%x: tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>}) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[IOTA:.+]] = graph.iota {{.*}} : tensor<12xi32>
  // CHECK: %[[PLACES:.+]] = dist.reshard %[[IOTA]] to <@mesh, [{"model"}]> because "tells the padding of a dim of 10 elements"
  // CHECK-NOT: graph.iota
  // CHECK: %[[E:.+]] = graph.exp %[[X]] {{.*}} : tensor<12xf32>
  // CHECK: %[[END:.+]] = graph.constant {{.*}}dense<10> : tensor<12xi32>
  // CHECK: %[[IN:.+]] = graph.compare lt, %[[PLACES]], %[[END]]
  // CHECK: %[[LEAST:.+]] = graph.constant {{.*}}dense<0xFF800000> : tensor<12xf32>
  // CHECK: %[[M:.+]] = graph.select %[[IN]], %[[E]], %[[LEAST]]
  // CHECK: graph.reduce max, %[[M]]
  // CHECK: graph.constant {{.*}}dense<0x7F800000> : tensor<12xf32>
  // CHECK: graph.reduce min,
  %0 = graph.exp %x : tensor<10xf32>
  %1 = graph.reduce max, %0 {dims = array<i64: 0>} : (tensor<10xf32>) -> tensor<f32>
  %2 = graph.reduce min, %0 {dims = array<i64: 0>} : (tensor<10xf32>) -> tensor<f32>
  return %1, %2 : tensor<f32>, tensor<f32>
}

// -----
// What a contraction sums over is zero in both operands: the activation's
// padding by a mask, which later sums share; the weight's always is, and stays
// so by a mask of its new value.
// CHECK-LABEL: func.func @contract(
// CHECK-SAME: %[[X:.+]]: tensor<2x8xf32> {dist.global_type = tensor<2x7xf32>
// CHECK-SAME: %[[W:.+]]: tensor<8x3xf32> {dist.global_type = tensor<7x3xf32>
dist.mesh @mesh ["model"=2]
graph.variable @w : tensor<7x3xf32> trainable {sharding = #dist.sharding<@mesh, [{"model"}, {}]>} = dense<1.0> : tensor<7x3xf32>
func.func @contract(
    %x: tensor<2x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
    %w: tensor<7x3xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<2x3xf32>, tensor<2xf32>, tensor<7x3xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) {
  // CHECK: %[[ZERO:.+]] = graph.constant {{.*}}dense<0.000000e+00> : tensor<2x8xf32>
  // CHECK: %[[M:.+]] = graph.select %{{.+}}, %[[X]], %[[ZERO]]
  // CHECK: graph.dot_general %[[M]], %[[W]]
  // CHECK-NEXT: dist.all_reduce
  // CHECK-NEXT: graph.reduce sum, %[[M]]
  // CHECK: %[[NEW:.+]] = graph.exp %[[W]]
  // CHECK: %[[KEPT:.+]] = graph.select %{{.+}}, %[[NEW]], %{{.+}} : (tensor<8x3xi1>
  // CHECK: return %{{.+}}, %{{.+}}, %[[KEPT]]
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x7xf32>, tensor<7x3xf32>) -> tensor<2x3xf32>
  %1 = graph.reduce sum, %x {dims = array<i64: 1>} : (tensor<2x7xf32>) -> tensor<2xf32>
  %2 = graph.exp %w : tensor<7x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2xf32>, tensor<7x3xf32>
}

// -----
// Padded before it is cut (a partial sum with zeros, so that it can still be
// scattered), cut off again where it is whole; between parts of 4 and of 5
// elements it is.
// CHECK-LABEL: func.func @reshard(
dist.mesh @mesh ["a"=2, "b"=3]
func.func @reshard(%x: tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"b"}>}) -> (tensor<10xf32>, tensor<10xf32>) {
  // CHECK: %[[P:.+]] = graph.pad %{{.+}}, %{{.+}} {{{.*}}unreduced = {"b"}{{.*}}high = array<i64: 2>
  // CHECK: %[[B:.+]] = dist.reshard %[[P]] to <@mesh, [{"b"}]> because "asked for" {{.*}}: tensor<12xf32>
  // CHECK: %[[WHOLE:.+]] = dist.reshard %[[B]] to <@mesh, [{}]> because "moved" {{.*}}: tensor<12xf32>
  // CHECK: %[[CUT:.+]] = graph.slice %[[WHOLE]] {{.*}}limits = array<i64: 10>
  // CHECK: %[[A:.+]] = dist.reshard %[[CUT]] to <@mesh, [{"a"}]> because "moved" {{.*}}: tensor<10xf32>
  // CHECK: return %[[B]], %[[A]] : tensor<12xf32>, tensor<10xf32>
  %0 = dist.reshard %x to <@mesh, [{"b"}]> because "asked for" : tensor<10xf32>
  %1 = dist.reshard %0 to <@mesh, [{"a"}]> because "moved" : tensor<10xf32>
  return %0, %1 : tensor<10xf32>, tensor<10xf32>
}

// -----
// Integers that are places in another dim are places that exist.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %{{.+}}: tensor<4x3xf32>
// CHECK-SAME: %[[I:.+]]: tensor<6xi64>
dist.mesh @mesh ["a"=2]
func.func @gather(
    %t: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %i: tensor<5xi64> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>}) -> tensor<5x3xf32> {
  // CHECK: %[[ZERO:.+]] = graph.constant {{.*}}dense<0> : tensor<6xi64>
  // CHECK: %[[M:.+]] = graph.select %{{.+}}, %[[I]], %[[ZERO]]
  // CHECK: graph.gather %{{.+}}, %[[M]] {{.*}} -> tensor<6x3xf32>
  %0 = graph.gather %t, %i {axis = 0 : i64} : (tensor<4x3xf32>, tensor<5xi64>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// -----
// A dim that a reshape merges is gathered without its padding; of two dims that
// become one, none can be padded.
// CHECK-LABEL: func.func @merge(
dist.mesh @mesh ["a"=2]
func.func @merge(%x: tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}) -> tensor<35xf32> {
  // CHECK: %[[G:.+]] = dist.reshard %{{.+}} to <@mesh, [{}, {}]> because "{{.*}}dim 0 cannot be padded there{{.*}}" {{.*}}: tensor<6x7xf32>
  // CHECK: %[[S:.+]] = graph.slice %[[G]] {{.*}} : (tensor<6x7xf32>) -> tensor<5x7xf32>
  // CHECK: graph.reshape %[[S]] {{.*}} : (tensor<5x7xf32>) -> tensor<35xf32>
  %0 = graph.reshape %x : (tensor<5x7xf32>) -> tensor<35xf32>
  return %0 : tensor<35xf32>
}

// -----
// Nothing to pad: nothing changes.
// CHECK-LABEL: func.func @even(
// CHECK-NOT: graph.select
// CHECK-NOT: dist.global_type
// CHECK: return
dist.mesh @mesh ["a"=2]
func.func @even(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>}) -> tensor<f32> {
  %0 = graph.reduce max, %x {dims = array<i64: 0>} : (tensor<6xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
