// RUN: dist-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @fused
// CHECK: rt.fused(%{{.*}}) domain [32, 10] row_dims 1 chunks 2 : (tensor<32x10xf32>) -> (tensor<32x10xf32>, tensor<2x10xf32>)
// CHECK: rt.yield
func.func @fused(%x: tensor<32x10xf32>) -> (tensor<32x10xf32>, tensor<2x10xf32>) {
  %0:2 = rt.fused(%x) domain [32, 10] row_dims 1 chunks 2 : (tensor<32x10xf32>) -> (tensor<32x10xf32>, tensor<2x10xf32>) {
  ^bb0(%a: tensor<32x10xf32>):
    %y = graph.relu %a : tensor<32x10xf32>
    %s = graph.reduce sum, %y {dims = array<i64: 0>} : (tensor<32x10xf32>) -> tensor<10xf32>
    rt.yield %y, %s : tensor<32x10xf32>, tensor<10xf32>
  }
  return %0#0, %0#1 : tensor<32x10xf32>, tensor<2x10xf32>
}

// CHECK-LABEL: func.func @library
// CHECK: rt.library(%{{.*}}, %{{.*}}) {kind = "matmul", memories = []} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
func.func @library(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %0 = rt.library(%a, %b) {kind = "matmul", memories = []} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// CHECK-LABEL: rt.kernel @kernel_0 domain [8] row_dims 0 chunks 1 -> [tensor<8xf32>]
rt.kernel @kernel_0 domain [8] row_dims 0 chunks 1 -> [tensor<8xf32>] {
^bb0(%a: tensor<8xf32>):
  %y = graph.relu %a : tensor<8xf32>
  rt.yield %y : tensor<8xf32>
}

// CHECK-LABEL: rt.program @step arena 128 arguments [{type = tensor<8xf32>}] results [{type = tensor<8xf32>}]
rt.program @step arena 128 arguments [{type = tensor<8xf32>}] results [{type = tensor<8xf32>}] {
  // CHECK: %[[IN:.+]] = rt.binding 0
  %0 = rt.binding 0
  %1 = rt.binding 1
  // CHECK: rt.binding 0 offset 16
  %piece = rt.binding 0 offset 16
  // CHECK: %[[A:.+]] = rt.arena 64 bytes 32
  %2 = rt.arena 64 bytes 32
  // CHECK: rt.launch @kernel_0(%[[IN]], %[[A]]) rows 1 chunks 1
  rt.launch @kernel_0(%0, %2) rows 1 chunks 1
  // CHECK: rt.library_call {kind = "reorder", memories = []}(%[[IN]], %[[A]])
  rt.library_call {kind = "reorder", memories = []}(%0, %2)
  // CHECK: rt.collective all_reduce op 3 over [0](%[[A]]) to(%[[A]]) [#rt.piece<f32[1, 1, 32] from[0, 0, 0] to[0, 0, 0]>]
  rt.collective all_reduce op 3 over [0] (%2) to (%2) [#rt.piece<f32 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
  // CHECK: rt.collective permute op 4 over [1, 0](%[[IN]]) to(%[[A]]) [{{.*}}] {sources = array<i64: 1, -1>}
  rt.collective permute op 4 over [1, 0] (%0) to (%2) [#rt.piece<f32 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
    {sources = array<i64: 1, -1>}
  // CHECK: rt.collective recv op 5 over [0]() to(%[[A]]) [{{.*}}] {peer = 1 : i64, tag = 7 : i64}
  rt.collective recv op 5 over [0] () to (%2) [#rt.piece<f32 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
    {peer = 1 : i64, tag = 7 : i64}
  // CHECK: rt.collective start all_gather op 6 over [0](%[[IN]]) to(%[[A]])
  rt.collective start all_gather op 6 over [0] (%0) to (%2) [#rt.piece<f32 [1, 1, 16] from [0, 0, 0] to [0, 0, 16]>]
  // CHECK: rt.wait op 6
  rt.wait op 6
  // CHECK: rt.copy %[[A]] to %{{.*}} bytes 32
  rt.copy %2 to %1 bytes 32
}

// CHECK-LABEL: rt.program @both arena 64 host_arena 32 arguments [] results [{type = tensor<8xf32>}] attributes {rt.device = "cpu"}
rt.program @both arena 64 host_arena 32 arguments [] results [{type = tensor<8xf32>}] attributes {rt.device = "cpu"} {
  %0 = rt.arena 0 bytes 32
  // CHECK: %[[H:.+]] = rt.arena 0 bytes 32 in host
  %1 = rt.arena 0 bytes 32 in host
  // CHECK: %[[R:.+]] = rt.binding 0 offset 16 in host
  %2 = rt.binding 0 offset 16 in host
  // CHECK: rt.copy %{{.+}} to %[[H]] in host bytes 32
  rt.copy %0 to %1 in host bytes 32
  // CHECK: rt.launch @kernel_0(%[[H]] in host, %[[R]] in host) rows 1 chunks 1
  rt.launch @kernel_0(%1 in host, %2 in host) rows 1 chunks 1
  // CHECK: rt.library_call {kind = "reorder", memories = []}(%[[H]] in host, %[[R]] in host)
  rt.library_call {kind = "reorder", memories = []}(%1 in host, %2 in host)
  // CHECK: rt.collective all_reduce op 3 over [0](%{{.+}}) to(%[[H]] in host)
  rt.collective all_reduce op 3 over [0] (%0) to (%1 in host) [#rt.piece<f32 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
  // CHECK: rt.publish all_reduce op 4 over [0] peers 1(%[[H]]) {{.*}} : (!rt.buffer<host>) -> !rt.buffer<host>
  %3 = rt.publish all_reduce op 4 over [0] peers 1 (%1) [#rt.piece<f32 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
    : (!rt.buffer<host>) -> !rt.buffer<host>
}

// CHECK-LABEL: func.func @shared
// CHECK: %[[P:.+]]:2 = rt.publish reduce_scatter op 3 over [0] peers 2(%{{.+}}) [#rt.piece<f32[1, 1, 32] from[0, 0, 32] to[0, 0, 0]>] {transfer = {id = 3 : i64}} : (tensor<16xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: rt.release op 3 over [0](%{{.+}}) : tensor<16xf32>
// CHECK: return %[[P]]#0, %[[P]]#1
func.func @shared(%g: tensor<16xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = rt.publish reduce_scatter op 3 over [0] peers 2 (%g) [#rt.piece<f32 [1, 1, 32] from [0, 0, 32] to [0, 0, 0]>]
    {transfer = {id = 3 : i64}} : (tensor<16xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  rt.release op 3 over [0] (%g) : tensor<16xf32>
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @winograd
// CHECK: rt.winograd_filter %{{.*}} {lanes = 16 : i64, rotate, strides = array<i64: 1, 64, 12288, 4096>} : (tensor<3x3x64x64xf32>) -> tensor<36x1x64x64xf32>
// CHECK: rt.winograd %{{.*}}, %{{.*}}, %{{.*}} {lanes = 16 : i64, pad_low = array<i64: 1, 1>, relu, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>, tensor<64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>)
func.func @winograd(%x: tensor<2x8x8x64xf32>, %w: tensor<3x3x64x64xf32>, %b: tensor<64xf32>) -> (tensor<2x8x8x64xf32>, tensor<2x19584xf32>) {
  %u = rt.fused(%w) domain [64] row_dims 1 chunks 2 : (tensor<3x3x64x64xf32>) -> tensor<36x1x64x64xf32> {
  ^bb0(%f: tensor<3x3x64x64xf32>):
    %0 = rt.winograd_filter %f {lanes = 16 : i64, rotate, strides = array<i64: 1, 64, 12288, 4096>} : (tensor<3x3x64x64xf32>) -> tensor<36x1x64x64xf32>
    rt.yield %0 : tensor<36x1x64x64xf32>
  }
  %y:2 = rt.fused(%x, %u, %b) domain [2] row_dims 1 chunks 2 : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>, tensor<64xf32>) -> (tensor<2x8x8x64xf32>, tensor<2x19584xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %f: tensor<36x1x64x64xf32>, %c: tensor<64xf32>):
    %0:2 = rt.winograd %i, %f, %c {lanes = 16 : i64, pad_low = array<i64: 1, 1>, relu, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>, tensor<64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>)
    rt.yield %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<19584xf32>
  }
  return %y#0, %y#1 : tensor<2x8x8x64xf32>, tensor<2x19584xf32>
}

// CHECK-LABEL: func.func @winograd_panels
// CHECK: rt.winograd_panels %{{.*}}, %{{.*}} {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, rotate, strides = array<i64: 9, 576, 3, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>)
// CHECK: rt.winograd_panels_grad %{{.*}}, %{{.*}} {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 8 : i64} : (tensor<2x8x8x64xf32>, tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<103104xf32>)
func.func @winograd_panels(%x: tensor<2x8x8x64xf32>, %w: tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<2x93888xf32>, tensor<64x64x3x3xf32>, tensor<2x103104xf32>) {
  %y:2 = rt.fused(%x, %w) domain [2] row_dims 1 chunks 2 : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<2x93888xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %f: tensor<64x64x3x3xf32>):
    %0:2 = rt.winograd_panels %i, %f {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, rotate, strides = array<i64: 9, 576, 3, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>)
    rt.yield %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
  }
  %g:2 = rt.fused(%x, %y#0) domain [2] row_dims 1 chunks 2 : (tensor<2x8x8x64xf32>, tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<2x103104xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %d: tensor<2x8x8x64xf32>):
    %0:2 = rt.winograd_panels_grad %i, %d {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 8 : i64} : (tensor<2x8x8x64xf32>, tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<103104xf32>)
    rt.yield %0#0, %0#1 : tensor<64x64x3x3xf32>, tensor<103104xf32>
  }
  return %y#0, %y#1, %g#0, %g#1 : tensor<2x8x8x64xf32>, tensor<2x93888xf32>, tensor<64x64x3x3xf32>, tensor<2x103104xf32>
}
