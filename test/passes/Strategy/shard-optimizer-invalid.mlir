// RUN: dist-opt %s -split-input-file --dist-shard-optimizer=axis=data -verify-diagnostics

// Others are annotated, so that the pass leaves annotating alone.
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{has no sharding that dist-shard-optimizer could cut, though others have; annotate all, or none}}
graph.variable @w : tensor<4xf32> trainable = dense<0.1> : tensor<4xf32>
func.func @train_step(%x: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                      %w: tensor<4xf32> {graph.variable = @w})
    -> (tensor<4xf32> {graph.variable = @w}) {
  return %w : tensor<4xf32>
}

// -----

dist.mesh @mesh ["data"=2]
// expected-error @+1 {{dist-shard-optimizer: expected one block, but got 2}}
func.func @train_step(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<2x4xf32>
}
