// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-import-sdy
// What Shardy has and we have not.

sdy.mesh @mesh = <["a"=4]>
// expected-error @below {{sharding <@mesh, [{"a":(1)2}]>: sub-axes have no counterpart; split the mesh axis in two}}
func.func @sub_axes(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)2}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["a"=4]>
// expected-error @below {{priorities have no counterpart}}
func.func @priority(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}p1]>}) {
  return
}

// -----

// expected-error @below {{a mesh that is written in place is not supported; give it a name}}
func.func @in_place(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["a"=4]>, [{"a"}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["a"=4]>
func.func @count(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{expected #sdy.sharding_per_value<[..]> of 1 shardings, but got #sdy.sharding_per_value<[<@mesh, [{"a"}]>, <@mesh, [{}]>]>}}
  %0 = graph.exp %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>, <@mesh, [{}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["a"=4]>
func.func @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{this op has no counterpart; only meshes, shardings and constraints are imported}}
  %0 = "sdy.all_gather"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{expected a mesh of axes alone: an order of device_ids has no counterpart}}
sdy.mesh @mesh = <["a"=2], device_ids=[1, 0]>
