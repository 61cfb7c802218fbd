// RUN: dist-opt %s --rt-emit-kernels | FileCheck %s
// RUN: dist-opt %s --rt-hoist-preparation | FileCheck %s --check-prefix=HOIST
// RUN: dist-opt %s --rt-hoist-preparation --rt-plan-memory | FileCheck %s --check-prefix=MEMORY

// A filter whose output channels lie apart is read as it lies, the windows of 16
// input channels at a time, and transposed in registers.
// CHECK-LABEL: func.func private @filter(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<16x16x3x3xf32> {llvm.noalias}, %[[U:[a-z0-9]+]]: memref<36x1x16x16xf32> {llvm.noalias}, %[[LO:[a-z0-9]+]]: index, %[[HI:[a-z0-9]+]]: index
// CHECK: %[[FLAT:.+]] = memref.collapse_shape %[[W]]
// CHECK: %[[WINDOWS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<144x16xf32>
// CHECK-NOT: vector.gather
// CHECK: scf.for %{{.+}} = %[[LO]] to %[[HI]]
// CHECK-COUNT-16: vector.load %[[FLAT]]
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23] : vector<16xf32>, vector<16xf32>
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xf32>, vector<16xf32>
// CHECK-COUNT-62: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.+}}, %[[WINDOWS]]
// CHECK-COUNT-9: vector.load %[[WINDOWS]]
// CHECK-COUNT-36: vector.store %{{.+}}, %[[U]][{{[^]]+}}] :
// CHECK: return
rt.kernel @filter domain [1] row_dims 1 chunks 1 -> [tensor<36x1x16x16xf32>] {
^bb0(%w: tensor<16x16x3x3xf32>):
  %0 = rt.winograd_filter %w {lanes = 16 : i64, strides = array<i64: 144, 9, 3, 1>} : (tensor<16x16x3x3xf32>) -> tensor<36x1x16x16xf32>
  rt.yield %0 : tensor<36x1x16x16xf32>
}

// Turned, for the gradient of the input, the windows lie side by side: 15 are
// read with what follows, the last with what lies before it.
// CHECK-LABEL: func.func private @turned(
// CHECK: %[[FLAT:.+]] = memref.collapse_shape
// CHECK-NOT: memref.alloca
// CHECK: arith.constant 126 : index
// CHECK: arith.constant 128 : index
// CHECK: %[[LAST:.+]] = vector.load
// CHECK: vector.shuffle %[[LAST]], %[[LAST]] [7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6]
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-36: vector.store
rt.kernel @turned domain [1] row_dims 1 chunks 1 -> [tensor<36x1x16x16xf32>] {
^bb0(%w: tensor<16x16x3x3xf32>):
  %0 = rt.winograd_filter %w {lanes = 16 : i64, rotate, strides = array<i64: 9, 144, 3, 1>} : (tensor<16x16x3x3xf32>) -> tensor<36x1x16x16xf32>
  rt.yield %0 : tensor<36x1x16x16xf32>
}

// Windows that are not contiguous are gathered.
// CHECK-LABEL: func.func private @apart(
// CHECK-COUNT-9: vector.gather
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-36: vector.store
rt.kernel @apart domain [1] row_dims 1 chunks 1 -> [tensor<36x1x16x16xf32>] {
^bb0(%w: tensor<3x16x16x3xf32>):
  %0 = rt.winograd_filter %w {lanes = 16 : i64, strides = array<i64: 48, 3, 768, 1>} : (tensor<3x16x16x3xf32>) -> tensor<36x1x16x16xf32>
  rt.yield %0 : tensor<36x1x16x16xf32>
}

// What the cache does not keep until it is read is written past it.
// CHECK-LABEL: func.func private @large_filter(
// CHECK-SAME: %[[U:[a-z0-9]+]]: memref<36x4x256x64xf32>
// CHECK-COUNT-36: vector.store %{{.+}}, %[[U]][{{[^]]+}}] {alignment = 64 : i64, nontemporal = true}
rt.kernel @large_filter domain [64] row_dims 1 chunks 1 -> [tensor<36x4x256x64xf32>] {
^bb0(%w: tensor<3x3x256x256xf32>):
  %0 = rt.winograd_filter %w {lanes = 16 : i64, strides = array<i64: 1, 256, 196608, 65536>} : (tensor<3x3x256x256xf32>) -> tensor<36x4x256x64xf32>
  rt.yield %0 : tensor<36x4x256x64xf32>
}

// Rows and columns that no tile has outside of the image are read as they are,
// the others (20 of 36 elements) are zeros there; sums over 4 tiles' channels stay in registers.
// CHECK-LABEL: func.func private @convolution(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<1x8x8x16xf32> {llvm.noalias}
// CHECK-COUNT-20: arith.select
// CHECK-NOT: arith.select
// CHECK: scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: vector.fma
// CHECK-NOT: vector.fma
// CHECK: arith.maximumf
// CHECK: return
rt.kernel @convolution domain [1] row_dims 1 chunks 1 -> [tensor<1x8x8x16xf32>, tensor<1x5760xf32>] {
^bb0(%x: tensor<1x8x8x16xf32>, %u: tensor<36x1x16x16xf32>):
  %0:2 = rt.winograd %x, %u {lanes = 16 : i64, pad_low = array<i64: 1, 1>, relu, tiles = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<36x1x16x16xf32>) -> (tensor<1x8x8x16xf32>, tensor<5760xf32>)
  rt.yield %0#0, %0#1 : tensor<1x8x8x16xf32>, tensor<5760xf32>
}

graph.variable @w : tensor<16x16x3x3xf32> trainable {group = "parameter"} = dense<0.0> : tensor<16x16x3x3xf32>
// The filter is transformed once, though that makes it four times as large.
// HOIST-LABEL: func.func @predict(
// HOIST-SAME: %[[U:[a-z0-9]+]]: tensor<36x1x16x16xf32> {graph.name = "prepared_0", graph.role = "prepared"}
// HOIST-NEXT: rt.call @convolution(%{{.+}}, %[[U]])
// HOIST-LABEL: func.func @predict_prepare(
// HOIST: rt.call @filter

// MEMORY-LABEL: rt.program @predict
// MEMORY-SAME: arena 23040
// MEMORY-SAME: parts = {"scratch of kernels" = 23040
func.func @predict(%x: tensor<1x8x8x16xf32>, %w: tensor<16x16x3x3xf32> {graph.role = "variable", graph.variable = @w}) -> tensor<1x8x8x16xf32> {
  %u = rt.call @filter(%w) : (tensor<16x16x3x3xf32>) -> tensor<36x1x16x16xf32>
  %y:2 = rt.call @convolution(%x, %u) : (tensor<1x8x8x16xf32>, tensor<36x1x16x16xf32>) -> (tensor<1x8x8x16xf32>, tensor<1x5760xf32>)
  return %y#0 : tensor<1x8x8x16xf32>
}

// The factors of 32 input channels and 64 output channels are made in the
// scratch; the sums of the first panel start with zeros, those of others with
// what the scratch has of them.
// CHECK-LABEL: func.func private @panels(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<64x64x3x3xf32> {llvm.noalias}, %[[Y:[a-z0-9]+]]: memref<1x8x8x64xf32> {llvm.noalias}, %[[S:[a-z0-9]+]]: memref<
// CHECK: %[[WINDOWS:.+]] = memref.alloca()
// CHECK: scf.for
// CHECK: %[[COUNT:.+]] = arith.minui
// CHECK-COUNT-36: vector.store %{{.+}}, %[[S]]
// CHECK: vector.load %{{.+}} : memref<36864xf32>
// CHECK-COUNT-36: vector.store %{{.+}}, %[[S]]
// CHECK: scf.if %{{.+}} -> (vector<16xf32>
// CHECK-COUNT-16: vector.load %[[S]]
// CHECK: vector.fma
// CHECK: vector.store %{{.+}}, %[[Y]]
// CHECK: return
rt.kernel @panels domain [1] row_dims 1 chunks 1 -> [tensor<1x8x8x64xf32>, tensor<93888xf32>] {
^bb0(%x: tensor<1x8x8x64xf32>, %w: tensor<64x64x3x3xf32>):
  %0:2 = rt.winograd_panels %x, %w {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 4 : i64} : (tensor<1x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<1x8x8x64xf32>, tensor<93888xf32>)
  rt.yield %0#0, %0#1 : tensor<1x8x8x64xf32>, tensor<93888xf32>
}

// Windows that lie side by side are transposed in registers before they are
// written, 16 lines of 16 input channels.
// CHECK-LABEL: func.func private @panels_grad(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<64x64x3x3xf32> {llvm.noalias}, %[[S:[a-z0-9]+]]: memref<
// CHECK: %[[FLAT:.+]] = memref.collapse_shape %[[W]]
// CHECK: %[[WINDOWS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<144x16xf32>
// CHECK-NOT: vector.scatter
// CHECK-COUNT-9: vector.store %{{.+}}, %[[WINDOWS]]
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.+}}, %[[FLAT]]
// CHECK: return
rt.kernel @panels_grad domain [2] row_dims 1 chunks 1 -> [tensor<64x64x3x3xf32>, tensor<89280xf32>] {
^bb0(%x: tensor<1x8x8x64xf32>, %g: tensor<1x8x8x64xf32>):
  %0:2 = rt.winograd_panels_grad %x, %g {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 4 : i64} : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<89280xf32>)
  rt.yield %0#0, %0#1 : tensor<64x64x3x3xf32>, tensor<89280xf32>
}
