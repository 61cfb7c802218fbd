// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-hierarchical-collectives{always=true}))" -split-input-file | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-hierarchical-collectives{always=true inner=host}))" -split-input-file | FileCheck %s --check-prefix=HOST
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-hierarchical-collectives))" -split-input-file | FileCheck %s --check-prefix=PAYS
// RUN: not dist-opt %s --pass-pipeline="builtin.module(func.func(dist-hierarchical-collectives{inner=room}))" -split-input-file 2>&1 | FileCheck %s --check-prefix=ROOM
// ROOM: expected `inner` to be an axis of the mesh, but got 'room'
dist.mesh @mesh ["host"=2, "data"=4]

// What no dim of which divides goes at once, and says so.
// CHECK-LABEL: func @levels
// CHECK: %[[S:.+]]:2 = dist.reduce_scatter %arg0, %arg2 over @mesh ["data"] by max {dims = array<i64: 1, 0>, op_id = 0 : i64, origin = "o", reason = "r, in levels"} : (tensor<3x8xf32>, tensor<4xf32>) -> (tensor<3x2xf32>, tensor<1xf32>)
// CHECK: %[[R:.+]]:2 = dist.all_reduce %[[S]]#0, %[[S]]#1 over @mesh ["host"] by max {op_id = 1 : i64
// CHECK: %[[G:.+]]:2 = dist.all_gather %[[R]]#0, %[[R]]#1 over @mesh ["data"] {dims = array<i64: 1, 0>, op_id = 2 : i64
// CHECK: %[[W:.+]] = dist.all_reduce %arg1 over @mesh ["host", "data"] by max {op_id = 3 : i64, origin = "o", reason = "r, at once: no dim divides by 'data'"}
// CHECK: return %[[G]]#0, %[[W]], %[[G]]#1
// HOST-LABEL: func @levels
// HOST: dist.reduce_scatter {{.*}} over @mesh ["host"]
// HOST: dist.all_reduce {{.*}} over @mesh ["data"]
// HOST: dist.all_gather {{.*}} over @mesh ["host"]
// Over links that cost the same it is as many bytes in more steps.
// PAYS-LABEL: func @levels
// PAYS-NEXT: dist.all_reduce %arg0, %arg1, %arg2 over @mesh ["host", "data"] by max
// PAYS-NEXT: return
func.func @levels(%a: tensor<3x8xf32>, %b: tensor<f32>, %c: tensor<4xf32>) -> (tensor<3x8xf32>, tensor<f32>, tensor<4xf32>) {
  %0:3 = dist.all_reduce %a, %b, %c over @mesh ["host", "data"] by max {reason = "r", origin = "o"}
    : (tensor<3x8xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<3x8xf32>, tensor<f32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<3x8xf32>, tensor<f32>, tensor<4xf32>
}

// One level already.
// CHECK-LABEL: func @one_axis
// CHECK-NEXT: dist.all_reduce {{.*}} over @mesh ["data"]
// CHECK-NEXT: return
func.func @one_axis(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.all_reduce %a over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A dear axis between two cheap ones is the outermost level; an axis of one
// rank is none.
dist.mesh @mesh ["rack"=2, "host"=2, "one"=1, "data"=2] {link_costs = {host = 16.0}}

// PAYS-LABEL: func @links
// PAYS-NEXT: %[[A:.+]] = dist.reduce_scatter %arg0 over @mesh ["data"] {dims = array<i64: 0>{{.*}} -> tensor<4096xf32>
// PAYS-NEXT: %[[B:.+]] = dist.reduce_scatter %[[A]] over @mesh ["rack"] {dims = array<i64: 0>{{.*}} -> tensor<2048xf32>
// PAYS-NEXT: %[[C:.+]] = dist.all_reduce %[[B]] over @mesh ["host", "one"]
// PAYS-NEXT: %[[D:.+]] = dist.all_gather %[[C]] over @mesh ["rack"]
// PAYS-NEXT: %[[E:.+]] = dist.all_gather %[[D]] over @mesh ["data"]
// Few bytes: the steps cost more than what they save.
// PAYS-NEXT: %[[F:.+]] = dist.all_reduce %arg1 over @mesh ["rack", "host", "one", "data"]
// PAYS-NEXT: return %[[E]], %[[F]]
func.func @links(%a: tensor<8192xf32>, %b: tensor<8xf32>) -> (tensor<8192xf32>, tensor<8xf32>) {
  %0 = dist.all_reduce %a over @mesh ["rack", "host", "one", "data"] {reason = "r", origin = "o"} : (tensor<8192xf32>) -> tensor<8192xf32>
  %1 = dist.all_reduce %b over @mesh ["rack", "host", "one", "data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8192xf32>, tensor<8xf32>
}
