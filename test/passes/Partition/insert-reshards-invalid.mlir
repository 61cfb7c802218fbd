// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards{allow-replicate=false}))" -split-input-file -verify-diagnostics

// An activation that every rank would have whole.
dist.mesh @mesh ["data"=2, "model"=2] {why = {model = "'--split w=1:model'"}}
func.func @whole_dim(%x: tensor<4x8xf32> {graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) -> tensor<4x8xf32> {
  // expected-error @+1 {{'graph.softmax' op would gather all of 'x' ('tensor<4x8xf32>', split over 'model' ('--split w=1:model')) on every rank: it needs dim 1 whole; ask for it with a layout of its own, or allow replication (--allow-replicate)}}
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// The two annotations that met.
dist.mesh @mesh ["data"=2]
func.func @axis_twice(%x: tensor<8x4xf32> {graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                      %w: tensor<4x2xf32> {graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}) -> tensor<8x2xf32> {
  // expected-error @+1 {{would gather all of 'w' ('tensor<4x2xf32>', split over 'data') on every rank: 'x' is split over 'data' along another dim}}
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----
// A variable that is stored in parts is gathered by intent; so is what a result asks for, or the program itself.
dist.mesh @mesh ["data"=2]
func.func @asked_for(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                     %w: tensor<4x2xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>})
    -> (tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
        tensor<8x4xf32>) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = dist.reshard %x to <@mesh, [{}, {}]> because "asked for" : tensor<8x4xf32>
  %2 = graph.softmax %1 {axis = 0 : i64} : tensor<8x4xf32>
  return %0, %2 : tensor<8x2xf32>, tensor<8x4xf32>
}
