// RUN: dist-opt %s --rt-plan-memory | FileCheck %s

// Each collective is strided blocks: no op packs or unpacks.
dist.mesh @mesh ["a"=2, "b"=4]

// CHECK-LABEL: rt.program @reduce_out_of_place
// CHECK-SAME: transfers = [{axes = ["a", "b"], bytes = 64 : i64, id = 0 : i64, op = "all_reduce"
// CHECK: %[[X:.+]] = rt.binding 0
// CHECK: %[[Y:.+]] = rt.binding 1
// CHECK: rt.collective all_reduce op 0 over [0, 1](%[[X]]) to(%[[Y]]) [#rt.piece<f32[1, 1, 64] from[0, 0, 0] to[0, 0, 0]>] {reduction = 1 : i64}
func.func @reduce_out_of_place(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = dist.all_reduce %x over @mesh ["a", "b"] by max {reason = "r", origin = "o"} : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// The axes keep their order, which is that of places.
// CHECK-LABEL: rt.program @gather
// CHECK: rt.collective all_gather op 0 over [1, 0](%{{.+}}, %{{.+}}) to(%{{.+}}, %{{.+}})
// CHECK-SAME: [#rt.piece<f32[8, 1, 16] from[16, 0, 0] to[128, 0, 16]>, #rt.piece<bf16[1, 1, 6] from[6, 0, 0] to[48, 0, 6]>]
func.func @gather(%x: tensor<8x4xf32>, %y: tensor<3xbf16>) -> (tensor<8x32xf32>, tensor<24xbf16>) {
  %0:2 = dist.all_gather %x, %y over @mesh ["b", "a"] {dims = array<i64: 1, 0>, reason = "r", origin = "o"}
    : (tensor<8x4xf32>, tensor<3xbf16>) -> (tensor<8x32xf32>, tensor<24xbf16>)
  return %0#0, %0#1 : tensor<8x32xf32>, tensor<24xbf16>
}

// CHECK-LABEL: rt.program @scatter
// CHECK: rt.collective reduce_scatter op 0 over [1]{{.*}}[#rt.piece<f32[8, 1, 12] from[48, 0, 12] to[12, 0, 0]>]
func.func @scatter(%x: tensor<8x4x3xf32>) -> tensor<8x1x3xf32> {
  %0 = dist.reduce_scatter %x over @mesh ["b"] {dims = array<i64: 1>, reason = "r", origin = "o"} : (tensor<8x4x3xf32>) -> tensor<8x1x3xf32>
  return %0 : tensor<8x1x3xf32>
}

// A slice moves nothing between ranks: it is no transfer and has no number. In
// one block it is an address; blocks that lie apart are copied.
// CHECK-LABEL: rt.program @slice
// CHECK: %[[X:.+]] = rt.binding 0
// CHECK: %[[S:.+]] = rt.publish all_slice op -1 over [0] peers 1(%[[X]]) [#rt.piece<i8[1, 1, 16] from[32, 0, 16] to[16, 0, 0]>]
// CHECK: rt.collective broadcast op 0 over [1](%[[S]]) {{.*}}{peer = 3 : i64}
// CHECK: rt.collective all_slice op -1 over [0](%[[X]]) {{.*}}[#rt.piece<i8[8, 1, 2] from[4, 0, 2] to[2, 0, 0]>]
func.func @slice(%x: tensor<8x4xi8>) -> (tensor<4x4xi8>, tensor<8x2xi8>) {
  %0 = dist.all_slice %x over @mesh ["a"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<8x4xi8>) -> tensor<4x4xi8>
  %1 = dist.broadcast %0 over @mesh ["b"] {root = 3 : i64, reason = "r", origin = "o"} : (tensor<4x4xi8>) -> tensor<4x4xi8>
  %2 = dist.all_slice %x over @mesh ["a"] {dims = array<i64: 1>, reason = "r", origin = "o"} : (tensor<8x4xi8>) -> tensor<8x2xi8>
  return %1, %2 : tensor<4x4xi8>, tensor<8x2xi8>
}

// The outer of the two dims makes the outer blocks, the inner one the rows.
// CHECK-LABEL: rt.program @exchange
// CHECK: rt.collective all_to_all op 0 over [0]{{.*}}[#rt.piece<f32[1, 12, 20] from[480, 20, 240] to[480, 40, 20]>]
// CHECK: rt.collective all_to_all op 1 over [0]{{.*}}[#rt.piece<f32[1, 12, 20] from[480, 40, 20] to[480, 20, 240]>]
func.func @exchange(%x: tensor<8x3x5xf32>) -> tensor<8x3x5xf32> {
  %0 = dist.all_to_all %x over @mesh ["a"] {split_dims = array<i64: 0>, concat_dims = array<i64: 2>, reason = "r", origin = "o"}
    : (tensor<8x3x5xf32>) -> tensor<4x3x10xf32>
  %1 = dist.all_to_all %0 over @mesh ["a"] {split_dims = array<i64: 2>, concat_dims = array<i64: 0>, reason = "r", origin = "o"}
    : (tensor<4x3x10xf32>) -> tensor<8x3x5xf32>
  return %1 : tensor<8x3x5xf32>
}

// CHECK-LABEL: rt.program @pipeline
// CHECK: rt.collective send op 0 over [0](%{{.+}}) to() {{.*}}{peer = 1 : i64, tag = 3 : i64}
// CHECK: rt.collective recv op 1 over [0]() to(%{{.+}}) {{.*}}{peer = 1 : i64, tag = 4 : i64}
// CHECK: rt.collective permute op 2 over [0]{{.*}}{sources = array<i64: -1, 0>}
func.func @pipeline(%x: tensor<4xf32>) -> tensor<4xf32> {
  dist.send %x over @mesh ["a"] to 1 tag 3 {reason = "r", origin = "o"} : tensor<4xf32>
  %0 = dist.recv over @mesh ["a"] from 1 tag 4 {reason = "r", origin = "o"} : tensor<4xf32>
  %1 = dist.permute %0 over @mesh ["a"] {sources = array<i64: -1, 0>, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
