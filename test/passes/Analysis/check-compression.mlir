// RUN: dist-opt %s --test-check-partition=compress=bf16 -o /dev/null | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %s --test-check-partition=compress=int8 -o /dev/null | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %s --test-check-partition=compress=topk:ratio=0.1 -o /dev/null | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %s --test-check-partition=compress=powersgd:rank=1 -o /dev/null | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %s --test-check-partition="compress=int8 mutate=forget-rest" -o /dev/null | FileCheck %s --check-prefix=LOST
// RUN: dist-opt %s --test-check-partition="compress=powersgd:rank=1 mutate=forget-rest" -o /dev/null | FileCheck %s --check-prefix=LOST
// RUN: dist-opt %s --test-check-partition="compress=topk:ratio=0.1 mutate=forget-rest" -o /dev/null | FileCheck %s --check-prefix=LOST
// RUN: dist-opt %s --test-check-partition="compress=topk:ratio=0.1 mutate=keep-all" -o /dev/null | FileCheck %s --check-prefix=LOST
// RUN: dist-opt %s --test-check-partition="compress=bf16 mutate=drop" -o /dev/null | FileCheck %s --check-prefix=LOST
// RUN: dist-opt %s --test-check-partition="compress=bf16 mutate=double" -o /dev/null | FileCheck %s --check-prefix=LOST
// RUN: dist-opt %s --test-check-partition="compress=bf16 mutate=scale" -o /dev/null | FileCheck %s --check-prefix=LATER

// What arrives of a gradient and what is left of it are together what there was,
// by every method; what is computed from it is what one device makes of what has
// arrived.
// EQUAL: equal
// EQUAL-NEXT: @train_step: {{[0-9]+}} values compared, {{.*}}; 1 compressed gradients and what is left of them add up
// Each mutation is found where it was made: something is added twice or lost ...
// LOST: different
// LOST: diverges first at compression of 'gradient': element [
// ... or the update is wrong.
// LATER: different
// LATER: diverges first at graph.div of 'step'

dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<64x20xf32> trainable = dense<1.0> : tensor<64x20xf32>
func.func @train_step(
    %x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %dy: tensor<8x20xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<64x20xf32> {graph.variable = @w, graph.role = "variable", dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<64x20xf32> {graph.variable = @w, graph.role = "variable", dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = graph.dot_general %x, %dy {lhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<8x64xf32>, tensor<8x20xf32>) -> tensor<64x20xf32> loc("gradient")
  %c = graph.constant dense<8.0> : tensor<64x20xf32>
  %1 = graph.div %0, %c : tensor<64x20xf32> loc("step")
  %2 = graph.sub %w, %1 : tensor<64x20xf32> loc("update")
  return %2 : tensor<64x20xf32>
}
