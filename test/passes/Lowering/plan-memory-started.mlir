// RUN: dist-opt %s --rt-plan-memory -split-input-file | FileCheck %s

dist.mesh @mesh ["data"=2]
rt.kernel @relu domain [16] row_dims 0 chunks 1 -> [tensor<16xf32>] {
^bb0(%a: tensor<16xf32>):
  %y = graph.relu %a : tensor<16xf32>
  rt.yield %y : tensor<16xf32>
}

// Between start and wait nothing is put where the collective reads and writes:
// what runs meanwhile has other addresses, behind the wait the same.
// CHECK-LABEL: rt.program @gather arena 192
// CHECK-SAME: op = "all_gather"
// CHECK: %[[A:.+]] = rt.arena 0 bytes 64
// CHECK: rt.launch @relu(%{{.+}}, %[[A]])
// CHECK: rt.collective start all_gather op 0 over [0](%[[A]]) to(%[[G:.+]]) [
// CHECK: %[[B:.+]] = rt.arena 64 bytes 64
// CHECK: rt.launch @relu(%{{.+}}, %[[B]]) rows
// CHECK: rt.wait op 0
// CHECK: rt.launch @relu(%[[B]], %[[A]])
func.func @gather(%x: tensor<16xf32>) -> (tensor<32xf32>, tensor<16xf32>) {
  %0 = rt.call @relu(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %t = dist.all_gather_start %0 over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"}
      : (tensor<16xf32>) -> !dist.token<tensor<32xf32>>
  %1 = rt.call @relu(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = dist.wait %t : (!dist.token<tensor<32xf32>>) -> tensor<32xf32>
  %3 = rt.call @relu(%1) : (tensor<16xf32>) -> tensor<16xf32>
  %4 = rt.call @relu(%3) : (tensor<16xf32>) -> tensor<16xf32>
  %5 = dist.all_gather %4 over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<16xf32>) -> tensor<32xf32>
  %6 = dist.all_reduce %2 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<32xf32>) -> tensor<32xf32>
  %7 = dist.reduce_scatter %5 over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<32xf32>) -> tensor<16xf32>
  return %6, %7 : tensor<32xf32>, tensor<16xf32>
}

// -----

dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
rt.kernel @relu domain [16] row_dims 0 chunks 1 -> [tensor<16xf32>] {
^bb0(%a: tensor<16xf32>):
  %y = graph.relu %a : tensor<16xf32>
  rt.yield %y : tensor<16xf32>
}

// In place, as without a start; a variable that is in flight is not written.
// CHECK-LABEL: rt.program @in_place
// CHECK: rt.launch @relu(%{{.+}}, %[[A:.+]]) rows
// CHECK: rt.collective start all_reduce op 0 over [0](%[[A]]) to(%[[A]])
// CHECK: %[[W:.+]] = rt.binding 0
// CHECK: rt.collective start all_gather op 1 over [0](%[[W]]) to(
// CHECK: rt.launch @relu(%{{.+}}, %[[N:.+]]) rows
// CHECK: rt.wait op 0
// CHECK: rt.wait op 1
// CHECK: rt.copy %[[N]] to %[[W]]
func.func @in_place(%w: tensor<16xf32> {graph.role = "variable", graph.variable = @w}, %x: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<32xf32>, tensor<16xf32> {graph.role = "variable", graph.variable = @w}) {
  %0 = rt.call @relu(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %t = dist.all_reduce_start %0 over @mesh ["data"] {reason = "r", origin = "o"}
      : (tensor<16xf32>) -> !dist.token<tensor<16xf32>>
  %u = dist.all_gather_start %w over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"}
      : (tensor<16xf32>) -> !dist.token<tensor<32xf32>>
  %1 = rt.call @relu(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = dist.wait %t : (!dist.token<tensor<16xf32>>) -> tensor<16xf32>
  %3 = dist.wait %u : (!dist.token<tensor<32xf32>>) -> tensor<32xf32>
  %4 = rt.call @relu(%2) : (tensor<16xf32>) -> tensor<16xf32>
  return %4, %3, %1 : tensor<16xf32>, tensor<32xf32>, tensor<16xf32>
}
