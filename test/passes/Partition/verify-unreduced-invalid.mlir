// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-verify-unreduced))" -split-input-file -verify-diagnostics

dist.mesh @mesh ["data"=2]
func.func @not_linear(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"data"}>}) {
  // expected-error @+1 {{uses a partial sum over 'data' as if it were whole; a dist.all_reduce is missing before it}}
  %0 = graph.exp %x {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return
}

// -----
// An unreduced and a whole summand.
dist.mesh @mesh ["data"=2]
func.func @mixed(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"data"}>},
                 %y: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{uses a partial sum over 'data' as if it were whole}}
  %0 = graph.add %x, %y {dist.shardings = [#dist.sharding<@mesh, [{}], unreduced = {"data"}>]} : tensor<4xf32>
  return
}

// -----
dist.mesh @mesh ["data"=2]
func.func @twice(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"data"}>}) {
  %0 = dist.all_reduce %x over @mesh ["data"] {reason = "r", origin = "o", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{sums a value over 'data' that is not unreduced over it: it would be counted 2 times}}
  %1 = dist.all_reduce %0 over @mesh ["data"] {reason = "r", origin = "o", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @mesh ["data"=2]
func.func @undeclared(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // expected-error @+1 {{gives a partial sum over 'data', but its sharding says otherwise}}
  %0 = graph.reduce sum, %x {dims = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, []>]} : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{result 0 is a partial sum over 'data', but is declared otherwise}}
func.func @escapes(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"data"}>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  return %x : tensor<4xf32>
}

// -----
dist.mesh @mesh ["data"=2]
func.func @maximum(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<f32> {
  // expected-error @+1 {{gives a partial result over 'data' that is not reduced at once}}
  %0 = graph.reduce max, %x {dims = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, []>]} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
