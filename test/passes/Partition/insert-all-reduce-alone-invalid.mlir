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
