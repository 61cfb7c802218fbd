// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards{error-on-implicit-reshard=true}))" -split-input-file -verify-diagnostics

dist.mesh @mesh ["data"=2, "model"=2]
func.func @moves(%x: tensor<8x4xf32> {graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                 %y: tensor<8x4xf32> {graph.name = "y", dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x4xf32> {
  // expected-error @+1 {{'graph.add' op would move 'y' ('tensor<8x4xf32>', split over 'model') to another layout: 'x' is split over 'data'; ask for it with a layout of its own, or leave out --error-on-implicit-reshard}}
  %0 = graph.add %x, %y : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----
// A cut of what every rank has moves nothing.
dist.mesh @mesh ["data"=2]
func.func @cut(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
               %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> tensor<8x4xf32> {
  %0 = graph.add %x, %y : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
