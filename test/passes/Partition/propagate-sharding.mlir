// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding)" | FileCheck %s
dist.mesh @mesh ["data"=2, "model"=2]

// CHECK-LABEL: func @forward
func.func @forward(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x4xf32> {
  // CHECK: graph.exp {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]
  %0 = graph.exp %x : tensor<4x8xf32>
  // CHECK: graph.transpose {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"data"}]>]
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// From the result's annotation back to the argument.
// CHECK-LABEL: func @backward
// CHECK-SAME: %{{.+}}: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}
func.func @backward(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) {
  // CHECK: graph.exp {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model"}, {}]>]
  %0 = graph.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A closed dim stays as it is.
// CHECK-LABEL: func @closed
// CHECK-SAME: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}, %{{.+}}: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}, %{{.+}}: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}
func.func @closed(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
                  %w: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
                  %open: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{?}]>}) -> tensor<4xf32> {
  %0 = graph.add %x, %w : tensor<4xf32>
  %1 = graph.add %0, %open : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A batch merged into rows, and out of them again.
// CHECK-LABEL: func @merged_dims
func.func @merged_dims(%x: tensor<4x6x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}]>}) -> tensor<4x30xf32> {
  // CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]
  %0 = graph.reshape %x : (tensor<4x6x5xf32>) -> tensor<24x5xf32>
  // CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]
  %1 = graph.reshape %0 : (tensor<24x5xf32>) -> tensor<4x30xf32>
  return %1 : tensor<4x30xf32>
}

// Column-split and row-split products; the contracted dim carries over.
// CHECK-LABEL: func @two_products
// CHECK-SAME: %[[W2:[^:]+]]: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}
func.func @two_products(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                        %w1: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
                        %w2: tensor<16x8xf32>) -> tensor<4x8xf32> {
  // CHECK: graph.dot_general {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {"model"}]>]
  %0 = graph.dot_general %x, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // CHECK: graph.dot_general {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]
  %1 = graph.dot_general %0, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// One constant in two places does not carry a split from one to the other.
// CHECK-LABEL: func @shared_constant
func.func @shared_constant(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
                           %w: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: graph.constant {{.*}}[{"data"}]
  // CHECK-DAG: graph.constant {{.*}}[{}]
  %c = graph.constant dense<2.0> : tensor<4xf32>
  // CHECK: graph.mul {{.*}}[{"data"}]
  %0 = graph.mul %x, %c : tensor<4xf32>
  // CHECK: graph.mul {{.*}}[{}]
  %1 = graph.mul %w, %c : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Sources that disagree: the larger tensor decides.
// CHECK-LABEL: func @conflict
func.func @conflict(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                    %y: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
                    %z: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>}) -> tensor<4xf32> {
  %0 = graph.reduce sum, %x {dims = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  // CHECK: graph.broadcast
  %1 = graph.broadcast %z {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x8xf32>
  // CHECK: graph.add {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]
  %2 = graph.add %x, %1 : tensor<4x8xf32>
  %3 = graph.reduce sum, %2 {dims = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Axes that do not divide stay out.
// CHECK-LABEL: func @indivisible
func.func @indivisible(%x: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<12xf32> {
  // CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}]>]
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = graph.reshape %0 : (tensor<3x4xf32>) -> tensor<12xf32>
  return %1 : tensor<12xf32>
}

// A constant that nobody reads.
// CHECK-LABEL: func @unused
func.func @unused(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<4xf32> {
  // CHECK: graph.constant
  %0 = graph.constant dense<1.0> : tensor<6xf32>
  return %x : tensor<4xf32>
}
