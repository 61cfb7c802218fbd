// Where no pattern of layers fits, variables are split each by itself, and what
// that costs is told.
// RUN: dist-opt %s --dist-create-mesh=axes=model:2 --dist-tensor-split -split-input-file 2>/dev/null | FileCheck %s
// RUN: dist-opt %s --dist-create-mesh=axes=model:2 --dist-tensor-split -split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WARNING
// RUN: dist-opt %s --dist-create-mesh=axes=model:2 --dist-tensor-split --test-check-partition -split-input-file 2>/dev/null | FileCheck %s --check-prefix=EQUAL
// Another preset goes before: variables are split one by one where none finds
// anything.
// RUN: dist-opt %s --dist-create-mesh=axes=model:2 --dist-tensor-split=preset=auto,vocab -split-input-file 2>/dev/null | FileCheck %s --check-prefix=VOCAB
// VOCAB: graph.variable @w {{.*}}dist.why = {model = "--split-preset vocab splits dim 1 over 'model'"}
// EQUAL-COUNT-3: equal
// EQUAL-NOT: diverges

// One layer, along the dim whose parts need not be summed up.
// CHECK: dist.mesh @mesh ["model"=2] {why = {model = "--split-preset auto splits variables"}}
// CHECK: graph.variable @w {{.*}}dist.why = {model = "--split-preset auto (by itself: it keeps 8.0 KiB less on each rank and sends some 256 B a step) splits dim 1 over 'model'"}{{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model"}]>
// CHECK: graph.variable @b {{.*}}sharding = #dist.sharding<@mesh, [{?}]>
graph.variable @w : tensor<64x64xf32> trainable = dense<0.5> : tensor<64x64xf32>
graph.variable @b : tensor<64xf32> trainable = dense<0.5> : tensor<64xf32>
func.func @predict(
    %x: tensor<2x64xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %w: tensor<64x64xf32> {graph.role = "variable", graph.variable = @w},
    %b: tensor<64xf32> {graph.role = "variable", graph.variable = @b})
    -> (tensor<2x64xf32> {graph.role = "output", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
  %1 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<64xf32>) -> tensor<2x64xf32>
  %2 = graph.add %0, %1 : tensor<2x64xf32>
  return %2 : tensor<2x64xf32>
}

// -----

// A table behind a transpose, whose rows no op splits, along its width. What
// saves less than it sends stays whole beside it.
// CHECK: graph.variable @table {{.*}}sharding = #dist.sharding<@mesh, [{"model"}, {?}]>
// CHECK: graph.variable @small {{.*}}sharding = #dist.sharding<@mesh, [{?}, {?}]>
graph.variable @table : tensor<8x1024xf32> trainable = dense<0.5> : tensor<8x1024xf32>
graph.variable @small : tensor<8x2xf32> trainable = dense<0.5> : tensor<8x2xf32>
func.func @predict(
    %ids: tensor<16xi64> {graph.role = "input", graph.batch_dim = 0 : i64},
    %x: tensor<16x8xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %t: tensor<8x1024xf32> {graph.role = "variable", graph.variable = @table},
    %s: tensor<8x2xf32> {graph.role = "variable", graph.variable = @small})
    -> (tensor<16x8xf32> {graph.role = "output", graph.batch_dim = 0 : i64}, tensor<16x2xf32> {graph.role = "output", graph.batch_dim = 0 : i64}) {
  %0 = graph.transpose %t {permutation = array<i64: 1, 0>} : (tensor<8x1024xf32>) -> tensor<1024x8xf32>
  %1 = graph.gather %0, %ids {axis = 0 : i64} : (tensor<1024x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
  %2 = graph.dot_general %x, %s {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x8xf32>, tensor<8x2xf32>) -> tensor<16x2xf32>
  return %1, %2 : tensor<16x8xf32>, tensor<16x2xf32>
}

// -----

// Asked for, one is split even where it does not pay, and that is said.
// WARNING-COUNT-1: warning: --split-preset auto: no pattern of layers fits, and no variable keeps more bytes off a rank than its split sends; 'w' along dim 1 comes nearest: it keeps 64 B less on each rank and sends some 1.0 KiB a step
// CHECK: graph.variable @w {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model"}]>
graph.variable @w : tensor<4x8xf32> trainable = dense<0.5> : tensor<4x8xf32>
func.func @predict(
    %x: tensor<64x4xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<64x8xf32> {graph.role = "output", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x4xf32>, tensor<4x8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
