// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced))" | FileCheck %s
dist.mesh @mesh ["data"=2, "model"=2] {why = {data = "the user splits the batch"}}

// CHECK-LABEL: func @gradient
func.func @gradient(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                    %dy: tensor<8x2xf32>, %w: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[G:.+]] = graph.dot_general {{.*}}unreduced = {"data"}
  %0 = graph.dot_general %x, %dy {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32> loc("fc1")
  // CHECK: %[[R:.+]] = dist.all_reduce %[[G]] over @mesh ["data"] {{.*}}origin = "fc1", reason = "a reduction over a dim that is split over 'data' (the user splits the batch)"
  // CHECK: graph.sub %{{.+}}, %[[R]]
  %1 = graph.sub %w, %0 : tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// Summands that meet are added before the transfer.
// CHECK-LABEL: func @fan_in
func.func @fan_in(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                  %y: tensor<8x4xf32>) -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %z = graph.mul %x, %y : tensor<8x4xf32>
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %1 = graph.reduce sum, %z {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  // CHECK: %[[S:.+]] = graph.add {{.*}}unreduced = {"data"}
  // CHECK-NEXT: dist.all_reduce %[[S]]
  // CHECK-NOT: dist.all_reduce
  // CHECK: return
  %2 = graph.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Several users, one of them not linear: reduced once, for all.
// CHECK-LABEL: func @shared
func.func @shared(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // CHECK: %[[G:.+]] = graph.reduce
  // CHECK-NEXT: %[[R:.+]] = dist.all_reduce %[[G]]
  %g = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  // CHECK: graph.mul %[[R]], %[[R]]
  %0 = graph.mul %g, %g : tensor<4xf32>
  // CHECK: graph.neg %[[R]]
  %1 = graph.neg %g : tensor<4xf32>
  // CHECK-NOT: dist.all_reduce
  // CHECK: return
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Where the chain is narrowest: after a second sum, before a broadcast.
// CHECK-LABEL: func @fewest_bytes
func.func @fewest_bytes(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  // CHECK: %[[S:.+]] = graph.reduce sum, %{{.+}} -> tensor<f32>
  // CHECK-NEXT: dist.all_reduce %[[S]] {{.*}}: (tensor<f32>)
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %2 = graph.broadcast %1 {dims = array<i64>} : (tensor<f32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}

// A maximum is no sum: completed at once, by its own kind.
// CHECK-LABEL: func @maximum
func.func @maximum(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // CHECK: %[[M:.+]] = graph.reduce max
  // CHECK-NEXT: %[[R:.+]] = dist.all_reduce %[[M]] over @mesh ["data"] by max
  // CHECK: graph.neg %[[R]]
  %0 = graph.reduce max, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %1 = graph.neg %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// State kept as a sum costs nothing; the loss that shares its sum is reduced.
// CHECK-LABEL: func @metric
func.func @metric(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
                  %total: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}, tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>}) {
  // CHECK: %[[S:.+]] = graph.reduce
  // CHECK: %[[R:.+]] = dist.all_reduce %[[S]]
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  // CHECK: %[[T:.+]] = graph.add %{{.+}}, %[[S]]
  %1 = graph.add %total, %0 : tensor<f32>
  // CHECK: return %[[R]], %[[T]]
  return %0, %1 : tensor<f32>, tensor<f32>
}

// A whole summand of such state: each rank adds its share.
// CHECK-LABEL: func @shares
func.func @shares(%total: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>},
                  %count: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>}, tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>}) {
  // CHECK: %[[C:.+]] = dist.reshard %{{.+}} to <@mesh, [], unreduced = {"data"}> because "each rank's share
  // CHECK: graph.add %arg0, %[[C]]
  %c = graph.constant dense<8.0> : tensor<f32>
  %0 = graph.add %total, %c : tensor<f32>
  // CHECK: %[[SHARE:.+]] = dist.reshard %arg1
  // CHECK: graph.add %arg0, %[[SHARE]]
  // CHECK-NOT: dist.all_reduce
  // CHECK: return
  %1 = graph.add %total, %count : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// A reset to zero is a sum of zeros.
// CHECK-LABEL: func @reset
func.func @reset() -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"data"}>}) {
  // CHECK-NOT: dist.all_reduce
  // CHECK: return
  %0 = graph.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Two axes at one place are one transfer.
// CHECK-LABEL: func @two_axes
func.func @two_axes(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // CHECK: dist.all_reduce %{{.+}} over @mesh ["data", "model"]
  // CHECK-NOT: dist.all_reduce
  // CHECK: return
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Row-split product: the result is whole on each rank only after the sum.
// CHECK-LABEL: func @row_split
func.func @row_split(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>},
                     %w: tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) -> tensor<4x2xf32> {
  // CHECK: %[[D:.+]] = graph.dot_general {{.*}}[{"data"}, {}], unreduced = {"model"}
  // CHECK: %[[R:.+]] = dist.all_reduce %[[D]] over @mesh ["model"]
  // CHECK: graph.relu %[[R]]
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %1 = graph.relu %0 : tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// A minimum cut: where the partial sum is scaled, and summed again for another
// purpose, reducing it once before is less than reducing both after.
// CHECK-LABEL: func @reduced_before_its_branches
// CHECK: %[[DOT:.*]] = graph.dot_general
// CHECK-NEXT: %[[WHOLE:.*]] = dist.all_reduce %[[DOT]] over @mesh ["data"]
// CHECK-NOT: dist.all_reduce
// CHECK: return
func.func @reduced_before_its_branches(
    %x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>},
    %w: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %s: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
        tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = graph.mul %0, %s : tensor<4x6xf32>
  %2 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<6xf32>
  return %1, %2 : tensor<4x6xf32>, tensor<6xf32>
}

// A sum over two axes: what the second axis completes, the first one's reduction sees whole.
// CHECK-LABEL: func @two_axes_two_uses
func.func @two_axes_two_uses(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
                             %s: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"data", "model"}>}) -> tensor<4x6xf32> {
  // CHECK: %[[R:.+]] = dist.all_reduce %arg1 over @mesh ["data", "model"] {dist.shardings = [#dist.sharding<@mesh, [{}]>]
  // CHECK-NOT: dist.all_reduce
  // CHECK: graph.layer_norm %arg0, %[[R]], %[[R]]
  %0:3 = graph.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4x6xf32>
}

// A statistic is read whole and also kept as a sum: the way to the kept one stays partial.
// CHECK-LABEL: func @read_and_kept
func.func @read_and_kept(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"data"}>}) {
  // CHECK: %[[S:.+]] = graph.reduce sum
  // CHECK-NEXT: %[[C:.+]] = graph.constant
  // CHECK-NEXT: %[[M:.+]] = graph.mul %[[S]], %[[C]] {{.*}}unreduced = {"data"}
  // CHECK-NEXT: %[[R:.+]] = dist.all_reduce %[[M]]
  // CHECK-NEXT: %[[E:.+]] = graph.exp %[[R]]
  // CHECK-NEXT: %[[K:.+]] = graph.reshape %[[M]]
  // CHECK-NEXT: return %[[E]], %[[K]]
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %c = graph.constant dense<0.125> : tensor<4xf32>
  %1 = graph.mul %0, %c : tensor<4xf32>
  %2 = graph.exp %1 : tensor<4xf32>
  %3 = graph.reshape %1 : (tensor<4xf32>) -> tensor<1x4xf32>
  return %2, %3 : tensor<4xf32>, tensor<1x4xf32>
}

// Zero is zero in another type and shape, too, and -0 is as well: a partial sum stays one beside it.
// CHECK-LABEL: func @zero_behind_views
func.func @zero_behind_views(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                             %y: tensor<8x4xf32>) -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // CHECK-NOT: dist.all_reduce
  // CHECK: graph.add {{.*}}unreduced = {"data"}
  // CHECK-NEXT: %[[S:.+]] = graph.add {{.*}}unreduced = {"data"}
  // CHECK-NEXT: dist.all_reduce %[[S]]
  // CHECK-NOT: dist.all_reduce
  // CHECK: return
  %z = graph.mul %x, %y : tensor<8x4xf32>
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %1 = graph.reduce sum, %z {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %c = graph.constant dense<-0.0> : tensor<1x4xf16>
  %w = graph.convert %c : (tensor<1x4xf16>) -> tensor<1x4xf32>
  %r = graph.reshape %w : (tensor<1x4xf32>) -> tensor<4xf32>
  %2 = graph.add %0, %r : tensor<4xf32>
  %3 = graph.add %2, %1 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
