// RUN: dist-opt %s --dist-simplify-collectives="sum-first=microbatch" | FileCheck %s
// RUN: dist-opt %s --dist-simplify-collectives | FileCheck %s --check-prefix=PARTS

// Gradients of microbatches are added, and scattered once: not each. Without the
// option parts are added, of which fewer bytes are there.
// CHECK-LABEL: func @gradient
// CHECK: %[[SUM:.+]] = dist.all_reduce %{{.+}} over @mesh ["microbatch"] {{.*}}unreduced = {"data"}{{.*}}reason = "sums"{{.*}} : (tensor<8x4xf32>)
// CHECK-NEXT: %[[PART:.+]] = dist.reduce_scatter %[[SUM]] over @mesh ["data"] {{.*}}reason = "parts"
// CHECK-NEXT: return %[[PART]]
// PARTS-LABEL: func @gradient
// PARTS: %[[PART:.+]] = dist.reduce_scatter %{{.+}} over @mesh ["data"]
// PARTS-NEXT: %[[SUM:.+]] = dist.all_reduce %[[PART]] over @mesh ["microbatch"]
// PARTS-NEXT: return %[[SUM]]
dist.mesh @mesh ["data"=2, "microbatch"=4]
func.func @gradient(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"data", "microbatch"}>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = dist.reduce_scatter %x over @mesh ["data"] {dims = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}], unreduced = {"microbatch"}>], reason = "parts", origin = "w"} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = dist.all_reduce %0 over @mesh ["microbatch"] {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>], reason = "sums", origin = "w"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// What another reads as it is stays.
// CHECK-LABEL: func @read_twice
// CHECK: dist.reduce_scatter
// CHECK-NEXT: dist.all_reduce
func.func @read_twice(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"data", "microbatch"}>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}, tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}], unreduced = {"microbatch"}>}) {
  %0 = dist.reduce_scatter %x over @mesh ["data"] {dims = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}], unreduced = {"microbatch"}>], reason = "parts", origin = "w"} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = dist.all_reduce %0 over @mesh ["microbatch"] {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>], reason = "sums", origin = "w"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %0 : tensor<4x4xf32>, tensor<4x4xf32>
}
