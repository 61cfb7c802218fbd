// What has no known size is not taken for free: what moves or keeps it says so.
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-insert-all-reduce))" -split-input-file -verify-diagnostics
dist.mesh @mesh ["data"=2]

// expected-error @below {{argument 0: expected a sharding of a tensor whose dims have sizes, but got one of 'tensor<?x4xf32>'}}
func.func @unreduced(%x: tensor<?x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"data"}>}) {
  return
}

// -----

dist.mesh @mesh ["data"=2]
// expected-error @below {{has a value of 'tensor<?xf32>', whose size is not known; give its dims sizes}}
func.func @dynamic(%x: tensor<?xf32>) {
  return
}

// -----

dist.mesh @mesh ["data"=2]
// expected-error @below {{has a value of 'tensor<4xindex>', whose size is not known}}
func.func @elements(%x: tensor<4xindex>) {
  return
}
