// RUN: dist-opt %s --dist-create-mesh=axes=model:4 --dist-tensor-split | FileCheck %s
// RUN: dist-opt %s --dist-create-mesh=axes=model:4 --dist-tensor-split=whole-axes=true | FileCheck %s --check-prefix=WHOLE
// RUN: dist-opt %s --dist-create-mesh=axes=model:4 --dist-tensor-split=preset=mlp | FileCheck %s --check-prefix=WHOLE
// RUN: dist-opt %s --dist-create-mesh=axes=model:4 --dist-tensor-split=strict-divisibility=true | FileCheck %s
// RUN: dist-opt %s --dist-create-mesh=axes=model:12 --dist-tensor-split | FileCheck %s --check-prefix=TWELVE
// RUN: dist-opt %s --dist-create-mesh=axes=model:5 --dist-tensor-split | FileCheck %s --check-prefix=FIVE
// RUN: dist-opt %s --dist-create-mesh=axes=model:5 --dist-tensor-split 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: dist-opt %s --dist-create-mesh=axes=model:4 --dist-tensor-split 2>&1 >/dev/null | FileCheck %s --check-prefix=UNSAID --allow-empty
// RUN: dist-opt %s --dist-create-mesh=axes=model:5 --dist-tensor-split=whole-axes=true 2>&1 >/dev/null | FileCheck %s --check-prefix=UNSAID --allow-empty
// RUN: dist-opt %s --dist-create-mesh=axes=model:5 --dist-tensor-split=preset=mlp 2>&1 >/dev/null | FileCheck %s --check-prefix=UNSAID --allow-empty

// 6 heads of 2 over 4 ranks: two of the ranks share them, 3 each, and the other
// two do the same. Layers that 4 divides are split over all of them. Over 12,
// the largest part that divides the heads has 6. No part of 5 does, which is
// said where nobody asked for whole heads.
// SAID: warning: --split-preset auto: attention stays whole on each of the 5 ranks of 'model': no part of the axis divides its heads
// UNSAID-NOT: warning
// CHECK: dist.mesh @mesh ["model:(1)2"=2, "model:(2)2"=2]
// WHOLE: dist.mesh @mesh ["model"=4]
// TWELVE: dist.mesh @mesh ["model:(1)6"=6, "model:(6)2"=2]
// FIVE: dist.mesh @mesh ["model"=5]
// CHECK: graph.variable @q {{.*}}--split-preset auto (heads do not divide by 4) splits dim 1 over 'model:(1)2'{{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model:(1)2"}]>
// WHOLE: graph.variable @q {{.*}}sharding = #dist.sharding<@mesh, [{?}, {?}]>
// TWELVE: graph.variable @q {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model:(1)6"}]>
// FIVE: graph.variable @q {{.*}}sharding = #dist.sharding<@mesh, [{?}, {?}]>
graph.variable @q : tensor<8x12xf32> trainable = dense<0.5> : tensor<8x12xf32>
// CHECK: graph.variable @k {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model:(1)2"}]>
graph.variable @k : tensor<8x12xf32> trainable = dense<0.5> : tensor<8x12xf32>
// CHECK: graph.variable @out {{.*}}sharding = #dist.sharding<@mesh, [{"model:(1)2"}, {?}]>
graph.variable @out : tensor<12x8xf32> trainable = dense<0.5> : tensor<12x8xf32>
// CHECK: graph.variable @up {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model:(1)2", "model:(2)2"}]>
// WHOLE: graph.variable @up {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model"}]>
// TWELVE: graph.variable @up {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model:(1)6", "model:(6)2"}]>
// FIVE: graph.variable @up {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model"}]>
graph.variable @up : tensor<8x24xf32> trainable = dense<0.5> : tensor<8x24xf32>
graph.variable @down : tensor<24x8xf32> trainable = dense<0.5> : tensor<24x8xf32>

// So is what the program takes.
// CHECK-LABEL: func.func @predict
// CHECK-SAME: tensor<8x12xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"model:(1)2"}]>, graph.role = "variable", graph.variable = @q}
// CHECK-SAME: tensor<8x24xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"model:(1)2", "model:(2)2"}]>, graph.role = "variable", graph.variable = @up}
func.func @predict(
    %x: tensor<3x8xf32> {graph.role = "input"},
    %q: tensor<8x12xf32> {graph.role = "variable", graph.variable = @q},
    %k: tensor<8x12xf32> {graph.role = "variable", graph.variable = @k},
    %out: tensor<12x8xf32> {graph.role = "variable", graph.variable = @out},
    %up: tensor<8x24xf32> {graph.role = "variable", graph.variable = @up},
    %down: tensor<24x8xf32> {graph.role = "variable", graph.variable = @down})
    -> (tensor<3x8xf32> {graph.role = "output"}) {
  %0 = graph.dot_general %x, %q {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %1 = graph.dot_general %x, %k {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %2 = graph.reshape %0 : (tensor<3x12xf32>) -> tensor<3x6x2xf32>
  %3 = graph.reshape %1 : (tensor<3x12xf32>) -> tensor<3x6x2xf32>
  %4 = graph.dot_general %2, %3 {lhs_batch = array<i64: 1>, rhs_batch = array<i64: 1>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>} : (tensor<3x6x2xf32>, tensor<3x6x2xf32>) -> tensor<6x3x3xf32>
  %5 = graph.dot_general %4, %3 {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 1>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>} : (tensor<6x3x3xf32>, tensor<3x6x2xf32>) -> tensor<6x3x2xf32>
  %6 = graph.transpose %5 {permutation = array<i64: 1, 0, 2>} : (tensor<6x3x2xf32>) -> tensor<3x6x2xf32>
  %7 = graph.reshape %6 : (tensor<3x6x2xf32>) -> tensor<3x12xf32>
  %8 = graph.dot_general %7, %out {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x12xf32>, tensor<12x8xf32>) -> tensor<3x8xf32>
  %sum = graph.add %8, %x : tensor<3x8xf32>
  %9 = graph.dot_general %sum, %up {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x8xf32>, tensor<8x24xf32>) -> tensor<3x24xf32>
  %10 = graph.dot_general %9, %down {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<3x24xf32>, tensor<24x8xf32>) -> tensor<3x8xf32>
  return %10 : tensor<3x8xf32>
}
