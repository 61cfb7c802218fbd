// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce),dist-split-portions{weights=3,1},func.func(dist-pad-indivisible),dist-partition)" -split-input-file -verify-diagnostics

// expected-error @+1 {{dist-split-portions: expected a mesh}}
module {
  func.func @f() { return }
}

// -----
// expected-error @+1 {{dist-split-portions: the mesh has no axis 'data'}}
module {
  dist.mesh @mesh ["model"=2]
}

// -----
// expected-error @+1 {{dist-split-portions: expected a weight for each of the 3 positions along 'data', but got 2}}
module {
  dist.mesh @mesh ["data"=3]
}

// -----
// expected-error @+1 {{dist-split-portions: expected 'data', which has weights, to be the mesh's first axis}}
module {
  dist.mesh @mesh ["model"=2, "data"=2]
}

// -----
// 6 examples are no multiple of 4.
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{cannot split 'tensor<6xf32>' as #dist.sharding<@mesh, [{"data"}]> by the weights 3, 1}}
func.func @indivisible(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) { return }

// -----
// The whole of the examples is nowhere.
dist.mesh @mesh ["data"=2]
func.func @gathered(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // expected-error @+2 {{changes how dim 0 of 'tensor<8xf32>' is split, which holds examples: positions along 'data' have unequal parts of them, and none has the others'; leave --device-weights out}}
  // expected-note @+1 {{it needs dim 0 whole}}
  %0 = graph.softmax %x {axis = 0 : i64} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
// A row of the state for each example: shards of variables are equal.
dist.mesh @mesh ["data"=2]
graph.variable @state : tensor<8xf32> {sharding = #dist.sharding<@mesh, [{"data"}]>} = dense<1.0> : tensor<8xf32>
func.func @state_of_examples(
    %x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
    %s: tensor<8xf32> {graph.variable = @state, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // expected-error @+1 {{splits examples, which 'data' takes by weight, together with a dim that it takes in equal parts; leave --device-weights out}}
  %0 = graph.add %x, %s : tensor<8xf32>
  return
}

// -----
dist.mesh @mesh ["data"=2, "model"=2]
// expected-error @+1 {{dim 0 of the examples is split over 'model,data', but 'data' has weights and must come first; leave --device-weights out}}
func.func @minor(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"model", "data"}]>}) { return }
