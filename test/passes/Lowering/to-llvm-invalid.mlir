// RUN: dist-opt %s --rt-to-llvm -split-input-file -verify-diagnostics

// expected-error @below {{kernel "kernel" is no LLVM function yet}}
module {
  rt.kernel @kernel domain [16] row_dims 0 chunks 1 -> [tensor<16xf32>] {
  ^bb0(%a: tensor<16xf32>):
    %y = graph.relu %a : tensor<16xf32>
    rt.yield %y : tensor<16xf32>
  }
  rt.program @step arena 0 arguments [] results [] {
    %0 = rt.binding 0
    rt.launch @kernel(%0, %0) rows 1 chunks 1
  }
}

// -----

rt.program @step arena 0 arguments [] results [] {
  // expected-error @below {{waits for transfer 6, which nothing before it starts}}
  rt.wait op 6
}
