// RUN: dist-opt %s --dist-compress-collectives=method=bf16 | FileCheck %s
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<7x512xf32> trainable {sharding = #dist.sharding<@mesh, [{"data"}, {}]>} = dense<1.0> : tensor<7x512xf32>

// Eight rows are sent; what is left of the seven is kept, whatever the number of
// devices made of them.
// CHECK: graph.variable @"compression/error/w" : tensor<7x512xf32>
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[LEFT:[a-z0-9]+]]: tensor<7x512xf32> {dist.global_type = tensor<7x512xf32>, {{.*}}graph.name = "compression/error/w"
// CHECK: %[[G:.+]] = graph.pad %arg1,
// CHECK: %[[L:.+]] = graph.pad %[[LEFT]], {{.*}}high = array<i64: 1, 0>
// CHECK: %[[P:.+]] = graph.add %[[G]], %[[L]] {{.*}}: tensor<8x512xf32>
// CHECK: %[[REST:.+]] = graph.sub %[[P]], %{{.+}} : tensor<8x512xf32>
// CHECK: %[[KEPT:.+]] = graph.pad %[[REST]], {{.*}}high = array<i64: -1, 0>{{.*}} -> tensor<7x512xf32>
// CHECK: return %{{.+}}, %[[KEPT]]
func.func @train_step(
    %w: tensor<4x512xf32> {graph.variable = @w, graph.role = "variable"},
    %x: tensor<7x512xf32>) ->
   (tensor<4x512xf32> {graph.variable = @w, graph.role = "variable"}) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.pad %x, %zero {low = array<i64: 0, 0>, high = array<i64: 1, 0>, interior = array<i64: 0, 0>} : (tensor<7x512xf32>, tensor<f32>) -> tensor<8x512xf32>
  %1 = dist.reduce_scatter %0 over @mesh ["data"] {dims = array<i64: 0>, reason = "sum", origin = "w"} : (tensor<8x512xf32>) -> tensor<4x512xf32>
  %2 = graph.sub %w, %1 : tensor<4x512xf32>
  return %2 : tensor<4x512xf32>
}
