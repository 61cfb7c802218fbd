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

// -----
// A reshard to parts that are not equal: they are made so by padding, before.
dist.mesh @mesh ["data"=4]
func.func @reshard(%x: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}) {
  // expected-error @+1 {{'dist.reshard' op cannot split 'tensor<6x8xf32>' as #dist.sharding<@mesh, [{"data"}, {}]>: dim 0 has 6 elements, which 'data' cannot split into 4 equal parts; run dist-pad-indivisible first}}
  %0 = dist.reshard %x to <@mesh, [{"data"}, {}]> because "r" {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]} : tensor<6x8xf32>
  return
}

// -----
dist.mesh @mesh ["data"=2, "model"=2]
func.func @op(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  %0 = dist.reshard %x to <@mesh, [{}]> because "r" {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<6xf32>
  // expected-error @+1 {{'graph.constant' op cannot split 'tensor<6xf32>' as #dist.sharding<@mesh, [{"data", "model"}]>: dim 0 has 6 elements, which 'data,model' cannot split into 4 equal parts; run dist-pad-indivisible first}}
  %1 = graph.constant {dist.shardings = [#dist.sharding<@mesh, [{"data", "model"}]>]} dense<1.0> : tensor<6xf32>
  return
}

// -----
dist.mesh @mesh ["data"=4]
// expected-error @+1 {{'func.func' op cannot split 'tensor<6xf32>' as #dist.sharding<@mesh, [{"data"}]>: dim 0 has 6 elements, which 'data' cannot split into 4 equal parts; run dist-pad-indivisible first}}
func.func @argument(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) { return }

// -----
dist.mesh @mesh ["data"=2]
func.func @integers(%x: tensor<4xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'dist.reshard' op cannot make 'tensor<4xi32>' a sum over 'data': integers have no equal parts; make it a float, or leave the target reduced}}
  %0 = dist.reshard %x to <@mesh, [{}], unreduced = {"data"}> because "r" {dist.shardings = [#dist.sharding<@mesh, [{}], unreduced = {"data"}>]} : tensor<4xi32>
  return
}

// -----
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{dist-partition: expected one block, but got 2}}
func.func @blocks(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  cf.br ^bb1
^bb1:
  return
}
