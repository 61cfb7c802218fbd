// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @fused_c1(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected block arguments of the operands' types}}
  %0 = rt.fused(%x) domain [8] row_dims 0 chunks 1 : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4xf32>):
    rt.yield %a : tensor<4xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @fused_c2(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected result type 'tensor<8xf32>', or that with a leading dim of chunks, but got 'tensor<4xf32>'}}
  %0 = rt.fused(%x) domain [8] row_dims 0 chunks 1 : (tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<8xf32>):
    rt.yield %a : tensor<8xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @fused_c3(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected row_dims of at most 1, but got 2}}
  %0 = rt.fused(%x) domain [8] row_dims 2 chunks 1 : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    rt.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

rt.program @launch arena 0 arguments [] results [] {
  // expected-error @+1 {{expected a kernel named @missing}}
  rt.launch @missing() rows 1 chunks 1
}
