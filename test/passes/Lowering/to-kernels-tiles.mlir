// REQUIRES: tiles
// RUN: dist-opt %s --graph-to-kernels=threads=2 | FileCheck %s
// RUN: env ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 dist-opt %s --graph-to-kernels=threads=2 | FileCheck %s --check-prefix=NONE

graph.variable @w : tensor<256x128xf32> trainable {group = "parameter"} = dense<0.0> : tensor<256x128xf32>

// A weight that changes each step is rounded where the product packs it; both
// ways to read it.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[^:]+]]: tensor<64x256xbf16>, %[[W:[^:]+]]: tensor<256x128xf32>
// CHECK: %[[Y:.+]] = rt.library(%[[X]], %[[W]]) {kind = "matmul", memories = [{{.*}}type = "bf16"}, {dims = array<i64: 256, 128>, strides = array<i64: 128, 1>, type = "f32"}, {{.*}}type = "bf16"}]}
// CHECK: rt.library(%[[Y]], %[[W]]) {kind = "matmul", memories = [{{.*}}type = "bf16"}, {dims = array<i64: 128, 256>, strides = array<i64: 1, 128>, type = "f32"}, {{.*}}type = "bf16"}]}
// CHECK-NOT: graph.convert
// CHECK: graph.add %[[W]]
// NONE-LABEL: func.func @step
// NONE: %[[C:.+]] = graph.convert
// NONE: rt.library(%{{.+}}, %[[C]])
// NONE: rt.library(%{{.+}}, %[[C]])
func.func @step(%x: tensor<64x256xbf16>, %w: tensor<256x128xf32> {graph.variable = @w}) -> (tensor<64x256xbf16>, tensor<256x128xf32> {graph.variable = @w}) {
  %0 = graph.convert %w : (tensor<256x128xf32>) -> tensor<256x128xbf16>
  %1 = graph.dot_general %x, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x256xbf16>, tensor<256x128xbf16>) -> tensor<64x128xbf16>
  %2 = graph.dot_general %1, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<64x128xbf16>, tensor<256x128xbf16>) -> tensor<64x256xbf16>
  %3 = graph.add %w, %w : tensor<256x128xf32>
  return %2, %3 : tensor<64x256xbf16>, tensor<256x128xf32>
}

// Weights that stay are rounded once, for all steps.
// CHECK-LABEL: func.func @predict
// CHECK: %[[C:.+]] = graph.convert
// CHECK: rt.library(%{{.+}}, %[[C]])
func.func @predict(%x: tensor<64x256xbf16>, %w: tensor<256x128xf32> {graph.variable = @w}) -> tensor<64x128xbf16> {
  %0 = graph.convert %w : (tensor<256x128xf32>) -> tensor<256x128xbf16>
  %1 = graph.dot_general %x, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x256xbf16>, tensor<256x128xbf16>) -> tensor<64x128xbf16>
  return %1 : tensor<64x128xbf16>
}
