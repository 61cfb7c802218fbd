// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-count-own-examples))" -split-input-file -verify-diagnostics

// expected-error @+1 {{has a count of examples, but no mask that tells which they are}}
func.func @train_step_partial(%s: tensor<f32> {graph.role = "variable", graph.name = "w"}, %c: tensor<f32> {graph.role = "count", graph.name = "count"}) -> tensor<f32> {
  %0 = graph.div %s, %c : tensor<f32>
  return %0 : tensor<f32>
}
