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

// -----

rt.program @collective_c1 arena 64 arguments [] results [] {
  %0 = rt.arena 0 bytes 64
  // expected-error @+1 {{expected 1 buffers to read and 1 to write, but got 1 and 0}}
  rt.collective all_reduce op 0 over [0] (%0) to () [#rt.piece<f32 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
}

// -----

rt.program @collective_c1_recv arena 64 arguments [] results [] {
  %0 = rt.arena 0 bytes 64
  // expected-error @+1 {{expected 0 buffers to read and 1 to write, but got 1 and 1}}
  rt.collective recv op 0 over [0] (%0) to (%0) [#rt.piece<f32 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
}

// -----

rt.program @collective_c2 arena 64 arguments [] results [] {
  %0 = rt.arena 0 bytes 64
  // expected-error @+1 {{expected distinct axes, but got 1}}
  rt.collective all_reduce op 0 over [1, 1] (%0) to (%0) [#rt.piece<f32 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
}

// -----

// expected-error @+1 {{expected three numbers each of blocks, from and to}}
func.func private @piece() attributes {piece = #rt.piece<f32 [1, 1] from [0, 0, 0] to [0, 0, 0]>}

// -----

// expected-error @+1 {{expected blocks that are not negative}}
func.func private @piece() attributes {piece = #rt.piece<f32 [1, -1, 4] from [0, 0, 0] to [0, 0, 0]>}

// -----

// expected-error @+1 {{expected an element type, but got 'index'}}
func.func private @piece() attributes {piece = #rt.piece<index [1, 1, 4] from [0, 0, 0] to [0, 0, 0]>}
