// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=bf16})" -verify-diagnostics

// What ends in the first block is no step's result.
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{'func.func' op dist-compress-collectives: expected one block, but got 2}}
func.func @train_step(%x: tensor<2xf32>) -> tensor<2xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<2xf32>
}
