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

// -----

func.func @winograd_filter_c1(%w: tensor<3x3x64x64xf32>) -> tensor<36x2x64x64xf32> {
  %0 = rt.fused(%w) domain [64] row_dims 1 chunks 1 : (tensor<3x3x64x64xf32>) -> tensor<36x2x64x64xf32> {
  ^bb0(%f: tensor<3x3x64x64xf32>):
    // expected-error @+1 {{expected a result of 4 dims, the first 36, and 147456 elements, but got 'tensor<36x2x64x64xf32>'}}
    %1 = rt.winograd_filter %f {lanes = 16 : i64, strides = array<i64: 1, 64, 12288, 4096>} : (tensor<3x3x64x64xf32>) -> tensor<36x2x64x64xf32>
    rt.yield %1 : tensor<36x2x64x64xf32>
  }
  return %0 : tensor<36x2x64x64xf32>
}

// -----

func.func @winograd_filter_c2(%w: tensor<3x3x64x64xf32>) -> tensor<36x1x64x64xf32> {
  %0 = rt.fused(%w) domain [64] row_dims 1 chunks 1 : (tensor<3x3x64x64xf32>) -> tensor<36x1x64x64xf32> {
  ^bb0(%f: tensor<3x3x64x64xf32>):
    // expected-error @+1 {{expected lanes that divide the 64 input channels and the 64 channels of a block, but got 48}}
    %1 = rt.winograd_filter %f {lanes = 48 : i64, strides = array<i64: 1, 64, 12288, 4096>} : (tensor<3x3x64x64xf32>) -> tensor<36x1x64x64xf32>
    rt.yield %1 : tensor<36x1x64x64xf32>
  }
  return %0 : tensor<36x1x64x64xf32>
}

// -----

func.func @winograd_c1(%x: tensor<2x8x8x64xf32>, %u: tensor<36x1x32x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>) {
  %0:2 = rt.fused(%x, %u) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<36x1x32x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %f: tensor<36x1x32x64xf32>):
    // expected-error @+1 {{expected input [N, H, W, C], filter [36, B, C, K / B], bias [K] and output [N, H', W', K], but got 'tensor<2x8x8x64xf32>', 'tensor<36x1x32x64xf32>' and 'tensor<2x8x8x64xf32>'}}
    %1:2 = rt.winograd %i, %f {lanes = 16 : i64, pad_low = array<i64: 1, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<36x1x32x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<19584xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<19584xf32>
}

// -----

func.func @winograd_c2(%x: tensor<2x8x8x64xf32>, %u: tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>) {
  %0:2 = rt.fused(%x, %u) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %f: tensor<36x1x64x64xf32>):
    // expected-error @+1 {{expected lanes that divide 64 and 64, but got 48}}
    %1:2 = rt.winograd %i, %f {lanes = 48 : i64, pad_low = array<i64: 1, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<19584xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<19584xf32>
}

// -----

func.func @winograd_c3(%x: tensor<2x8x8x64xf32>, %u: tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>) {
  %0:2 = rt.fused(%x, %u) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %f: tensor<36x1x64x64xf32>):
    // expected-error @+1 {{expected a multiple of 4 tiles, but got 6}}
    %1:2 = rt.winograd %i, %f {lanes = 16 : i64, pad_low = array<i64: 1, 1>, tiles = 6 : i64} : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19584xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<19584xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<19584xf32>
}

// -----

func.func @winograd_c4(%x: tensor<2x8x8x64xf32>, %u: tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19580xf32>) {
  %0:2 = rt.fused(%x, %u) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19580xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %f: tensor<36x1x64x64xf32>):
    // expected-error @+1 {{expected a scratch of 19584 elements, but got 'tensor<19580xf32>'}}
    %1:2 = rt.winograd %i, %f {lanes = 16 : i64, pad_low = array<i64: 1, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<36x1x64x64xf32>) -> (tensor<2x8x8x64xf32>, tensor<19580xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<19580xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<19580xf32>
}

// -----

func.func @winograd_panels_c1(%x: tensor<2x8x8x64xf32>, %f: tensor<64x32x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>) {
  %0:2 = rt.fused(%x, %f) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<64x32x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %w: tensor<64x32x3x3xf32>):
    // expected-error @+1 {{expected images [N, H, W, C] and [N, H', W', K] and a filter of 9 * C * K elements, but got}}
    %1:2 = rt.winograd_panels %i, %w {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<64x32x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
}

// -----

func.func @winograd_panels_no_images(%x: tensor<f32>, %w: tensor<f32>) -> (tensor<f32>, tensor<16xf32>) {
  %0:2 = rt.fused(%x, %w) domain [2] row_dims 1 chunks 1 : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<16xf32>) {
  ^bb0(%i: tensor<f32>, %f: tensor<f32>):
    // expected-error @+1 {{expected images [N, H, W, C] and [N, H', W', K] and a filter of 9 * C * K elements, but got}}
    %1:2 = rt.winograd_panels %i, %f {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 9, 576, 3, 1>, tiles = 4 : i64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<16xf32>)
    rt.yield %1#0, %1#1 : tensor<f32>, tensor<16xf32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<16xf32>
}

// -----

func.func @winograd_panels_strides(%x: tensor<2x8x8x64xf32>, %f: tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>) {
  %0:2 = rt.fused(%x, %f) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %w: tensor<64x64x3x3xf32>):
    // expected-error @+1 {{expected 4 strides, but got 2}}
    %1:2 = rt.winograd_panels %i, %w {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 3, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
}

// -----

func.func @winograd_panels_c2(%x: tensor<2x8x8x64xf32>, %f: tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>) {
  %0:2 = rt.fused(%x, %f) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %w: tensor<64x64x3x3xf32>):
    // expected-error @+1 {{expected lanes that divide depth and columns, and these 64 and 64, but got 16, 48 and 64}}
    %1:2 = rt.winograd_panels %i, %w {columns = 64 : i64, depth = 48 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
}

// -----

func.func @winograd_panels_c3(%x: tensor<2x8x8x64xf32>, %f: tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>) {
  %0:2 = rt.fused(%x, %f) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %w: tensor<64x64x3x3xf32>):
    // expected-error @+1 {{expected a multiple of 4 tiles, but got 6}}
    %1:2 = rt.winograd_panels %i, %w {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 6 : i64} : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93888xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<93888xf32>
}

// -----

func.func @winograd_panels_c4(%x: tensor<2x8x8x64xf32>, %f: tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93884xf32>) {
  %0:2 = rt.fused(%x, %f) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93884xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %w: tensor<64x64x3x3xf32>):
    // expected-error @+1 {{expected a scratch of 93888 elements, but got 'tensor<93884xf32>'}}
    %1:2 = rt.winograd_panels %i, %w {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x8x8x64xf32>, tensor<93884xf32>)
    rt.yield %1#0, %1#1 : tensor<2x8x8x64xf32>, tensor<93884xf32>
  }
  return %0#0, %0#1 : tensor<2x8x8x64xf32>, tensor<93884xf32>
}

// -----

func.func @winograd_panels_grad_c2(%x: tensor<2x8x8x64xf32>, %f: tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<103104xf32>) {
  %0:2 = rt.fused(%x, %f) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<103104xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %w: tensor<2x8x8x64xf32>):
    // expected-error @+1 {{expected a depth that 4 divides, but got 2}}
    %1:2 = rt.winograd_panels_grad %i, %w {columns = 64 : i64, depth = 2 : i64, lanes = 2 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 8 : i64} : (tensor<2x8x8x64xf32>, tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<103104xf32>)
    rt.yield %1#0, %1#1 : tensor<64x64x3x3xf32>, tensor<103104xf32>
  }
  return %0#0, %0#1 : tensor<64x64x3x3xf32>, tensor<103104xf32>
}

// -----

func.func @winograd_panels_grad_c3(%x: tensor<2x8x8x64xf32>, %f: tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<103104xf32>) {
  %0:2 = rt.fused(%x, %f) domain [2] row_dims 1 chunks 1 : (tensor<2x8x8x64xf32>, tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<103104xf32>) {
  ^bb0(%i: tensor<2x8x8x64xf32>, %w: tensor<2x8x8x64xf32>):
    // expected-error @+1 {{expected all 8 tiles of the gradient, but got 4}}
    %1:2 = rt.winograd_panels_grad %i, %w {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 576, 9, 3, 1>, tiles = 4 : i64} : (tensor<2x8x8x64xf32>, tensor<2x8x8x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<103104xf32>)
    rt.yield %1#0, %1#1 : tensor<64x64x3x3xf32>, tensor<103104xf32>
  }
  return %0#0, %0#1 : tensor<64x64x3x3xf32>, tensor<103104xf32>
}

// -----

func.func @share_c1(%g: tensor<16xf32>) {
  // expected-error @+1 {{expected an all_reduce, a reduce_scatter or an all_slice, but got permute}}
  %0:2 = rt.publish permute op 3 over [0] peers 2 (%g) [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>] : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @share_c2(%g: tensor<16xf32>) {
  // expected-error @+1 {{expected a piece an input, but got 2 for 1}}
  %0:2 = rt.publish all_reduce op 3 over [0] peers 2 (%g) [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>, #rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>] : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @share_c2_blocks(%g: tensor<16xf32>) {
  // expected-error @+1 {{expected pieces of one block, but got #rt.piece<f32[2, 1, 32]}}
  %0:2 = rt.publish all_reduce op 3 over [0] peers 2 (%g) [#rt.piece<f32 [2, 1, 32] from [32, 0, 0] to [32, 0, 0]>] : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @share_c3(%g: tensor<16xf32>) {
  // expected-error @+1 {{expected 2 results an input, but got 1 for 1}}
  %0 = rt.publish all_reduce op 3 over [0] peers 2 (%g) [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>] : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

// Any number may stand there, those that hash tables keep for themselves too.
rt.program @collective_c3 arena 64 arguments [] results [] {
  %0 = rt.arena 0 bytes 64
  // expected-error @+1 {{expected distinct axes, but got 9223372036854775807}}
  rt.collective all_reduce op 0 over [9223372036854775807, 9223372036854775807] (%0) to (%0) [#rt.piece<i8 [1, 1, 32] from [0, 0, 0] to [0, 0, 0]>]
}

// -----

func.func @library_c1(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>) -> tensor<8x2xf32> {
  // expected-error @+1 {{expected the kernel's kind to be conv, conv_input_grad, conv_filter_grad, matmul or reorder, but got "matrix"}}
  %0 = rt.library(%a, %b) {kind = "matrix", memories = []} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

func.func @library_c2(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{expected the type of each memory to be f32, f64, f16, bf16 or i8, but got "i4"}}
  %0 = rt.library(%a) {kind = "reorder", memories = [{dims = array<i64: 8, 4>, type = "i4"}]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

rt.program @library_call_c1 arena 64 arguments [] results [] {
  %0 = rt.arena 0 bytes 64
  // expected-error @+1 {{expected the kernel's kind to be conv, conv_input_grad, conv_filter_grad, matmul or reorder, but got 3 : i64}}
  rt.library_call {kind = 3, memories = []}(%0, %0)
}

// -----

llvm.func @kernel(!llvm.ptr, !llvm.ptr)
rt.program @launch_c1 arena 64 host_arena 64 arguments [] results [] {
  %0 = rt.arena 0 bytes 64
  %1 = rt.arena 0 bytes 64 in host
  // expected-error @+1 {{expected all buffers to be in one memory; copy those that are not}}
  rt.launch @kernel(%0, %1 in host) rows 1 chunks 1
}

// -----

rt.program @library_call_c2 arena 64 host_arena 64 arguments [] results [] {
  %0 = rt.arena 0 bytes 64
  %1 = rt.arena 0 bytes 64 in host
  // expected-error @+1 {{expected all buffers to be in one memory}}
  rt.library_call {kind = "reorder", memories = []}(%0, %1 in host)
}

// -----

rt.program @program_c1 arena 128 host_arena 64 arguments [] results [] {
  %0 = rt.arena 64 bytes 64
  // expected-error @+1 {{expected to lie in the 64 bytes of the arena in the memory of the host, but got 64 from 64 on}}
  %1 = rt.arena 64 bytes 64 in host
}

// -----

rt.program @program_c1_negative arena 128 arguments [] results [] {
  // expected-error @+1 {{expected to lie in the 128 bytes of the arena in the memory of the device, but got 64 from -64 on}}
  %0 = rt.arena -64 bytes 64
}

// -----

// A value of another memory than is said.
rt.program @copy arena 64 arguments [] results [] {
  // expected-note @+1 {{prior use here}}
  %0 = rt.arena 0 bytes 64
  // expected-error @+1 {{use of value '%0' expects different type than prior uses: '!rt.buffer<host>' vs '!rt.buffer<device>'}}
  rt.copy %0 in host to %0 bytes 64
}

// -----

// expected-error @+1 {{rt.device says which kind of device runs it: expected "cpu", but got "tpu"}}
func.func private @device() attributes {rt.device = "tpu"}
