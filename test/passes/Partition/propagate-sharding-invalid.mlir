// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding{strict-divisibility=true})" -split-input-file -verify-diagnostics

dist.mesh @mesh ["data"=2]
// expected-error @+1 {{argument 0: dim 0 of 'tensor<3xf32>' has 3 elements, which 'data' cannot split into 2 equal parts; sizes that work are 2 and 4}}
func.func @argument(%x: tensor<3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) { return }

// -----
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{result 0: dim 0 of 'tensor<3xf32>' has 3 elements, which 'data' cannot split into 2 equal parts}}
func.func @result(%x: tensor<3xf32>) -> (tensor<3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  return %x : tensor<3xf32>
}

// -----
dist.mesh @mesh ["data"=2]
func.func @no_rule(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot be partitioned: it has no sharding rule; compile it for one device}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
