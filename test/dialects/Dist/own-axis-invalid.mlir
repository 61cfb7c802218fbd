// RUN: dist-opt %s -split-input-file -verify-diagnostics

dist.mesh @mesh ["host"=2, "data"=2]
// What differs between workers is in no sum with another's.
// expected-note @+1 {{by dist.own_axis of this function}}
func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.own_axis = "host"} {
  // Each may take its part of what all have: nothing is sent.
  %part = dist.all_slice %x over @mesh ["host"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<2xf32>
  %0 = dist.all_reduce %x over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{is along "host", over which each position's values are its own}}
  %1 = dist.all_reduce %0 over @mesh ["host", "data"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{expected dist.own_axis to be an axis of the mesh, but got "host"}}
func.func @train_step() attributes {dist.own_axis = "host"} {
  return
}

// -----
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{expected a text as dist.own_axis, but got 2 : i64}}
func.func @train_step() attributes {dist.own_axis = 2 : i64} {
  return
}
