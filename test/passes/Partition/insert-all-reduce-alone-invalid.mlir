// RUN: dist-opt %s -split-input-file --pass-pipeline="builtin.module(func.func(dist-insert-all-reduce))" -verify-diagnostics

// The pass alone, without those that say how values are laid out.
dist.mesh @mesh ["x"=2]
func.func @sum(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{is a sum over 'x', but has no sharding; run dist-propagate-sharding and dist-insert-reshards first}}
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// A batch dim that there is not.
dist.mesh @mesh ["x"=2]
func.func @batch(%x: tensor<64x32xf32> {graph.batch_dim = 16 : i64, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{is a sum over 'x', but has no sharding}}
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// What is no sum has no layout either.
dist.mesh @mesh ["x"=2]
func.func @maximum(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<32xf32> {
  // expected-error @+1 {{is a reduction over 'x', but has no sharding; run dist-propagate-sharding and dist-insert-reshards first}}
  %0 = graph.reduce max, %x {dims = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

dist.mesh @mesh ["x"=2]
func.func @whole(%total: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"x"}>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"x"}>}) {
  %c = graph.constant dense<8.0> : tensor<f32>
  // expected-error @+1 {{adds a value without a sharding to one that is a sum over 'x'; run dist-propagate-sharding first}}
  %0 = graph.add %total, %c {dist.shardings = [#dist.sharding<@mesh, [], unreduced = {"x"}>]} : tensor<f32>
  return %0 : tensor<f32>
}
