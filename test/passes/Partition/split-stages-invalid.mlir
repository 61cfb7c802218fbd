// RUN: dist-opt %s --split-input-file --dist-split-stages -verify-diagnostics
// RUN: not dist-opt %s --split-input-file --dist-split-stages=schedule=zigzag 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dist-opt %s --split-input-file --dist-split-stages=schedule=interleaved 2>&1 | FileCheck %s --check-prefix=ROUNDS
// NAME: dist-split-stages: expected a schedule of gpipe, 1f1b, interleaved, but got 'zigzag'
// ROUNDS: schedule 'interleaved' goes in rounds of as many microbatches as stages; make the microbatches a multiple of 2

// expected-error @+1 {{expected variables with stages; run dist-pipeline-stages first}}
module {
}

// -----

// expected-error @+1 {{expected no axis 'stage': the pipeline's stages make it}}
dist.mesh @mesh ["stage"=2]
graph.variable @a : tensor<4xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<4xf32>

// -----

// One microbatch is no round of two.
graph.variable @a : tensor<4xf32> trainable {dist.stage = 0 : i64} = dense<0.1> : tensor<4xf32>
graph.variable @b : tensor<4xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<4xf32>
func.func @predict(%x: tensor<4xf32>, %a: tensor<4xf32> {graph.variable = @a}, %b: tensor<4xf32> {graph.variable = @b}) -> tensor<4xf32> {
  %0 = graph.mul %x, %a : tensor<4xf32>
  %1 = graph.mul %0, %b : tensor<4xf32>
  return %1 : tensor<4xf32>
}
