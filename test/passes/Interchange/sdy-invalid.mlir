// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-import-sdy
// What Shardy has and we have not.

// expected-error @below {{axis 'a' of 4 ranks has no part that ends at 3; give (PRE)SIZE so that PRE x SIZE divides 4}}
sdy.mesh @mesh = <["a"=4]>
func.func @no_such_part(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)3}]>}) {
  return
}

// -----

// expected-error @below {{the parts of axis 'a' that end at 2 and at 3 ranks do not fit into one grid}}
sdy.mesh @mesh = <["a"=6]>
func.func @no_grid(%x: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)3}]>},
                   %y: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)2}]>}) {
  return
}

// -----

// expected-error @below {{expected axis 'a:(1)2' to be used once in a sharding}}
sdy.mesh @mesh = <["a"=4]>
func.func @twice(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"a":(1)2}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["a"=4]>
// expected-error @below {{expected an axis of @mesh, but got 'b:(1)2'}}
func.func @no_axis(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b":(1)2}]>}) {
  return
}

// -----

sdy.mesh @mesh = <["a"=4]>
// expected-error @below {{sharding <@mesh, [{}p1]>: expected no priority of a closed dim that is not split}}
func.func @priority(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}p1]>}) {
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
