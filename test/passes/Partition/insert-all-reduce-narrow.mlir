// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced))" | FileCheck %s
dist.mesh @mesh ["data"=2, "model"=2]

// In mixed precision gradients are summed over the examples as f32, though the
// product has fewer bytes.
// CHECK-LABEL: func @gradient
func.func @gradient(%x: tensor<8x4xbf16> {graph.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                    %dy: tensor<8x2xbf16>, %w: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: graph.dot_general
  // CHECK-NEXT: %[[G:.+]] = graph.convert {{.*}}unreduced = {"data"}
  // CHECK-NEXT: dist.all_reduce %[[G]] over @mesh ["data"] {{.*}}tensor<4x2xf32>
  %0 = graph.dot_general %x, %dy {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %1 = graph.convert %0 : (tensor<4x2xbf16>) -> tensor<4x2xf32>
  %2 = graph.sub %w, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// Partial products over a model axis are sent as they are.
// CHECK-LABEL: func @activation
func.func @activation(%x: tensor<8x4xbf16> {graph.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>},
                      %w: tensor<4x2xbf16> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  // CHECK: %[[P:.+]] = graph.dot_general
  // CHECK-NEXT: dist.all_reduce %[[P]] over @mesh ["model"] {{.*}}tensor<8x2xbf16>
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = graph.convert %0 : (tensor<8x2xbf16>) -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}
