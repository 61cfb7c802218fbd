// RUN: dist-opt %s --split-input-file --dist-separate-microbatches -verify-diagnostics

// expected-error @+1 {{expected 'microbatch' to be its last axis, whose ranks are neighbours}}
dist.mesh @mesh ["microbatch"=2, "data"=2]

// -----

dist.mesh @mesh ["data"=2, "microbatch"=2]
// expected-error @+1 {{argument 0: expected 'microbatch' to be the minor axis of dim 0}}
func.func @minor(%x: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"microbatch", "data"}]>}) {
  return
}

// -----

dist.mesh @mesh ["data"=2, "microbatch"=2]
// expected-error @+1 {{argument 0 has no sharding; run dist-partition first}}
func.func @argument(%x: tensor<2xf32>) {
  return
}

// -----

dist.mesh @mesh ["data"=2, "microbatch"=2]
// expected-error @+1 {{result 0 has no sharding; run dist-partition first}}
func.func @result(%x: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

dist.mesh @mesh ["data"=2, "microbatch"=2]
func.func @exchange(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // expected-error @+1 {{cannot be unrolled over 'microbatch'; split the batch, and nothing else, over it}}
  %0 = dist.all_to_all %x over @mesh ["data", "microbatch"] {split_dims = array<i64: 0>, concat_dims = array<i64: 1>, reason = "a test", origin = "w"} : (tensor<4x4xf32>) -> tensor<1x16xf32>
  return
}
