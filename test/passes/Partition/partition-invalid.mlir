// RUN: dist-opt %s --dist-partition -split-input-file -verify-diagnostics

dist.mesh @mesh ["data"=2]
// expected-error @+1 {{has a value without a sharding; run dist-propagate-sharding first}}
func.func @no_sharding(%x: tensor<4xf32>) { return }

// -----
dist.mesh @mesh ["data"=2]
func.func @disagree(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  // expected-error @+1 {{has operands and results that are split differently; run dist-insert-reshards first}}
  %0 = graph.exp %x {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return
}

// -----
dist.mesh @mesh ["data"=2]
func.func @no_rule(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{cannot be partitioned: it has no sharding rule}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return
}

// -----
// expected-error @+1 {{'dist.mesh' op has a link cost for 'host', which is none of its axes}}
dist.mesh @mesh ["data"=2] {link_costs = {host = 8.0}}

// -----
// expected-error @+1 {{'dist.mesh' op expected the link cost of 'data' to be a positive float, but got 0}}
dist.mesh @mesh ["data"=2] {link_costs = {data = 0.0}}

// -----
// expected-error @+1 {{'dist.mesh' op expected 'link_costs' to be a dictionary of axes, but got 2 : i64}}
dist.mesh @mesh ["data"=2] {link_costs = 2 : i64}

// -----
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
func.func @train_step(%w: tensor<4xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) { return }
// expected-error @+1 {{splits the variable 'w' as #dist.sharding<@mesh, [{}]>, but @train_step as #dist.sharding<@mesh, [{"data"}]>; give it one layout in all functions}}
func.func @train_step_partial(%w: tensor<4xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{}]>}) { return }
