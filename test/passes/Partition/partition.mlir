// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-number-ops),dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce),dist-partition)" | FileCheck %s
dist.mesh @mesh ["data"=2, "model"=4]

// CHECK-LABEL: func @local_shapes
// CHECK-SAME: %{{[^:]+}}: tensor<4x8xf32> {dist.global_type = tensor<8x8xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
// CHECK-SAME: -> (tensor<8xf32> {dist.global_type = tensor<8xf32>
func.func @local_shapes(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // CHECK: graph.exp {{.*}}dist.origin = 0 : i64, dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]{{.*}}: tensor<4x8xf32>
  %0 = graph.exp %x : tensor<8x8xf32>
  // CHECK: dims = array<i64: 0>, dist.origin = 1{{.*}}(tensor<4x8xf32>) -> tensor<8xf32>
  // CHECK: dist.all_reduce {{.*}}op_id = 0{{.*}} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func @slice
func.func @slice(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}]>}) {
  // CHECK: dist.all_slice %{{.+}} over @mesh ["data", "model"] {dims = array<i64: 0>{{.*}}(tensor<8xf32>) -> tensor<1xf32>
  return %x : tensor<8xf32>
}

// Only the axes that must go are gathered.
// CHECK-LABEL: func @gather
func.func @gather(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["model"] {dims = array<i64: 0>{{.*}}(tensor<1xf32>) -> tensor<4xf32>
  return %x : tensor<8xf32>
}

// An axis that moves to another dim.
// CHECK-LABEL: func @exchange
func.func @exchange(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["model"] {concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}}(tensor<2x4xf32>) -> tensor<8x1xf32>
  return %x : tensor<8x4xf32>
}

// Two axes of one dim swap places: whole shards move.
// CHECK-LABEL: func @swap
func.func @swap(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model", "data"}]>}) {
  // CHECK: dist.permute %{{.+}} over @mesh ["data", "model"] {{.*}}sources = array<i64: 0, 2, 4, 6, 1, 3, 5, 7>
  // CHECK-NEXT: return
  return %x : tensor<8xf32>
}

// A partial sum that is to be split over the same axis.
// CHECK-LABEL: func @scatter
func.func @scatter(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // CHECK: dist.reduce_scatter %{{.+}} over @mesh ["data"] {dims = array<i64: 0>{{.*}}(tensor<4xf32>) -> tensor<2xf32>
  // CHECK-NOT: dist.all_reduce
  // CHECK: return
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A whole value that joins a sum: each rank takes its share.
// CHECK-LABEL: func @share
func.func @share(%total: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>},
                 %count: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>}) {
  // CHECK: %[[TWO:.+]] = graph.constant {{.*}}dense<2.0
  // CHECK: %[[SHARE:.+]] = graph.div %arg1, %[[TWO]]
  // CHECK: graph.add %arg0, %[[SHARE]]
  %0 = graph.add %total, %count : tensor<f32>
  return %0 : tensor<f32>
}
