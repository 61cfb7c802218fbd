// RUN: dist-opt %s --graph-functionalize-state -split-input-file -verify-diagnostics

graph.variable @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>

func.func @nested(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{expected to stand in the function's own block}}
    %0 = graph.read @w : tensor<4xf32>
    graph.assign @w, %0 : tensor<4xf32>
  }
  return
}

// -----

graph.variable @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>

// expected-error @+1 {{graph-functionalize-state: expected 'blocks' to have one block, but got 2}}
func.func @blocks() -> tensor<4xf32> {
  %0 = graph.read @w : tensor<4xf32>
  graph.assign @w, %0 : tensor<4xf32>
  cf.br ^bb1
^bb1:
  return %0 : tensor<4xf32>
}
