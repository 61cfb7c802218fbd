// RUN: dist-opt %s --test-explain -o /dev/null | FileCheck %s

// What is alike in all layers is one row; two of a kind stay apart.
// CHECK: @predict
// CHECK: tanh layer{0-3}.up 4xf32 all_reduce data (2 ranks) 16 B each batch x 4 a sum in layer{0-3} layer{0-3}.up
// CHECK-NEXT: exp head0 4xf32 all_reduce {{.*}} each batch a head head0
// CHECK-NEXT: exp head1 4xf32 all_reduce {{.*}} each batch a head head1
// A number with gaps is listed.
// CHECK-NEXT: log block{1,5,9} 4xf32 {{.*}} each batch x 3
// CHECK-NEXT: 9 transfers, of which a rank sends 144 B
dist.mesh @mesh ["data"=2]
func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a0 = graph.tanh %x : tensor<4xf32> loc("layer0.up")
  %b0 = dist.all_reduce %a0 over @mesh ["data"] {reason = "a sum in layer0", origin = "layer0.up"} : (tensor<4xf32>) -> tensor<4xf32>
  %a1 = graph.tanh %b0 : tensor<4xf32> loc("layer1.up")
  %b1 = dist.all_reduce %a1 over @mesh ["data"] {reason = "a sum in layer1", origin = "layer1.up"} : (tensor<4xf32>) -> tensor<4xf32>
  %c0 = graph.exp %b1 : tensor<4xf32> loc("head0")
  %d0 = dist.all_reduce %c0 over @mesh ["data"] {reason = "a head", origin = "head0"} : (tensor<4xf32>) -> tensor<4xf32>
  %c1 = graph.exp %d0 : tensor<4xf32> loc("head1")
  %d1 = dist.all_reduce %c1 over @mesh ["data"] {reason = "a head", origin = "head1"} : (tensor<4xf32>) -> tensor<4xf32>
  %a2 = graph.tanh %d1 : tensor<4xf32> loc("layer2.up")
  %b2 = dist.all_reduce %a2 over @mesh ["data"] {reason = "a sum in layer2", origin = "layer2.up"} : (tensor<4xf32>) -> tensor<4xf32>
  %a3 = graph.tanh %b2 : tensor<4xf32> loc("layer3.up")
  %b3 = dist.all_reduce %a3 over @mesh ["data"] {reason = "a sum in layer3", origin = "layer3.up"} : (tensor<4xf32>) -> tensor<4xf32>
  %e1 = graph.log %b3 : tensor<4xf32> loc("block1")
  %f1 = dist.all_reduce %e1 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  %e5 = graph.log %f1 : tensor<4xf32> loc("block5")
  %f5 = dist.all_reduce %e5 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  %e9 = graph.log %f5 : tensor<4xf32> loc("block9")
  %f9 = dist.all_reduce %e9 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return %f9 : tensor<4xf32>
}
