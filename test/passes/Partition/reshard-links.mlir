// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced),dist-partition)" | FileCheck %s

// Bytes between hosts cost eight times those within one.
dist.mesh @mesh ["host"=2, "data"=4] {link_costs = {host = 8.0}}

// With equal links both axes would go in one step; here little goes over the dear one.
// CHECK-LABEL: func @gather_near_first(
func.func @gather_near_first(%v: tensor<1024x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "host"}, {}]>})
    -> (tensor<1024x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["host"] {{.*}} : (tensor<128x1024xf32>) -> tensor<256x1024xf32>
  // CHECK-NEXT: dist.all_gather %{{.+}} over @mesh ["data"] {{.*}} : (tensor<256x1024xf32>) -> tensor<1024x1024xf32>
  // CHECK-NEXT: return
  return %v : tensor<1024x1024xf32>
}

// Scattered within the host before anything goes between hosts.
// CHECK-LABEL: func @scatter_near_first(
func.func @scatter_near_first(%v: tensor<1024x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"data", "host"}>})
    -> (tensor<1024x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "host"}, {}]>}) {
  // CHECK: dist.reduce_scatter %{{.+}} over @mesh ["data"] {{.*}} : (tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  // CHECK-NEXT: dist.reduce_scatter %{{.+}} over @mesh ["host"] {{.*}} : (tensor<256x1024xf32>) -> tensor<128x1024xf32>
  // CHECK-NEXT: return
  return %v : tensor<1024x1024xf32>
}

// Small tensors still go in one step.
// CHECK-LABEL: func @small(
func.func @small(%v: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "host"}, {}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["data", "host"]
  // CHECK-NEXT: return
  return %v : tensor<8x8xf32>
}
