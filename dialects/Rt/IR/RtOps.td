//===- RtOps.td - Ops of the rt dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_RT_IR_RTOPS_TD
#define DIALECTS_RT_IR_RTOPS_TD
include "dialects/Rt/IR/RtBase.td"

//===----------------------------------------------------------------------===//
// Over tensors
//===----------------------------------------------------------------------===//

def Rt_FusedOp : Rt_Op<"fused", [IsolatedFromAbove, Pure, SingleBlock]> {
  let summary = "a group of elemental ops that one generated kernel computes";
  let description = [{
    The kernel's outer loop runs over `rows`, the first `row_dims` dims of the
    iteration `domain`; `chunks` ranges of rows run at once. A yielded value
    that is reduced over rows comes out once a chunk when chunks > 1: its result
    has a leading dim of that size, and the accumulator's type.

    Constraints: (C1) one block argument an operand, of its type. (C2) one
    yielded value a result; equal types, but for results with a chunk dim. (C3)
    row_dims is at most the number of dims of the domain.
    ```mlir
    %1 = rt.fused(%0) domain [32, 10] row_dims 1 chunks 2
        : (tensor<32x10xf32>) -> tensor<32x10xf32> {
    ^bb0(%x: tensor<32x10xf32>):
      %y = graph.relu %x : tensor<32x10xf32>
      rt.yield %y : tensor<32x10xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, DenseI64ArrayAttr:$domain,
    I64Attr:$row_dims, I64Attr:$chunks);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` `domain` $domain `row_dims` $row_dims `chunks` $chunks
    attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
}

def Rt_YieldOp : Rt_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["FusedOp", "KernelOp"]>]> {
  let summary = "the values a kernel writes";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Rt_LibraryOp : Rt_Op<"library", [Pure]> {
  let summary = "a kernel of the device's library";
  let description = [{
    `kernel` is a LibraryKernel of runtime/core/manifest.proto as a dictionary:
    `kind`, `memories` (each `type`, `dims`, and `strides` unless the layout is
    the library's), and the attributes of its kind. Operands and result are the
    memories in order. A packed memory is a tensor of i8. A reorder with a
    packed side names the kernel it packs for as `packed_kernel`, and which of
    its memories as `packed_memory`. A kernel for which the library has nothing
    but plain loops is marked as a `reference`.

    Constraints: (C1) `kind` is one of LibraryKind. (C2) the `type` of each of
    the `memories` is one of LibraryType.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, DictionaryAttr:$kernel);
  let results = (outs AnyType:$output);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `(` $inputs `)` $kernel attr-dict `:` functional-type($inputs, $output)
  }];
}

def Rt_CallOp : Rt_Op<"call", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs an rt.kernel over tensors";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)
  }];
}

def Rt_PublishOp : Rt_Op<"publish"> {
  let summary = "where the ranks of a group have what a collective would move";
  let description = [{
    Over tensors and over buffers alike. The ranks meet; then each reads the
    inputs of all `peers` where they lie, until the group's `rt.release`: the
    results are what the rank at position 0 has of the first input for this one,
    what position 1 has, and so on; then those of the second input. `kind`, `axes`,
    `op` and `pieces` are those of the `rt.collective` that it stands for, and
    `transfer` is its row of the package. Of an all_slice there is one peer,
    and no rank waits.

    Constraints: (C1) an all_reduce, a reduce_scatter or an all_slice. (C2) a
    piece an input, each one block. (C3) `peers` results an input, of its type
    over buffers.
    ```mlir
    %0:2 = rt.publish all_reduce op 3 over [0] peers 2 (%g)
        [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>]
        : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    ```
  }];
  let arguments = (ins Rt_CollectiveKind:$kind, I64Attr:$op, DenseI64ArrayAttr:$axes,
    ConfinedAttr<I64Attr, [IntPositive]>:$peers,
    Variadic<AnyTypeOf<[AnyRankedTensor, Rt_Buffer]>>:$inputs,
    TypedArrayAttrBase<Rt_PieceAttr, "pieces">:$pieces,
    OptionalAttr<DictionaryAttr>:$transfer);
  let results = (outs Variadic<AnyTypeOf<[AnyRankedTensor, Rt_Buffer]>>:$outputs);
  let assemblyFormat = [{
    $kind `op` $op `over` custom<Numbers>($axes) `peers` $peers `(` $inputs `)`
    $pieces attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

def Rt_ReleaseOp : Rt_Op<"release"> {
  let summary = "the ranks of a group have read what was published";
  let description = [{
    Until here the inputs of the `rt.publish` ops over these axes stay as they
    are; then the ranks meet. `op` is the transfer that errors and traces name.
    ```mlir
    rt.release op 3 over [0] (%g) : tensor<16xf32>
    ```
  }];
  let arguments = (ins I64Attr:$op, DenseI64ArrayAttr:$axes,
    Variadic<AnyRankedTensor>:$inputs);
  let assemblyFormat = "`op` $op `over` custom<Numbers>($axes) `(` $inputs `)` attr-dict `:` type($inputs)";
}

def Rt_KernelOp : Rt_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "the body that equal rt.fused ops share";
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$domain,
    I64Attr:$row_dims, I64Attr:$chunks, TypeArrayAttr:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `domain` $domain `row_dims` $row_dims `chunks` $chunks
    `->` $outputs attr-dict-with-keyword $body
  }];
}

//===----------------------------------------------------------------------===//
// Winograd convolutions, the only op of their kernel
//===----------------------------------------------------------------------===//

def Rt_F32Tensor : StaticShapeTensorOf<[F32]>;
/// Images and filters as the program has them; the arithmetic is f32.
def Rt_ImageTensor : StaticShapeTensorOf<[F32, BF16, F16]>;

def Rt_WinogradFilterOp : Rt_Op<"winograd_filter", [Pure,
    ParentOneOf<["FusedOp", "KernelOp"]>]> {
  let summary = "3x3 filters as the 6x6 factors of F(4x4, 3x3)";
  let description = [{
    `strides` are the filter's, in elements: of output channels, input channels,
    rows and columns of the window. With `rotate` the window is turned by half a
    turn, as the gradient of the input wants it. The result is [36, blocks of
    output channels, input channels, output channels of a block]; the kernel's
    rows are its blocks times the vectors of its input channels.

    Constraints: (C1) the result has 4 dims, the first 36, and 4 times the
    filter's elements. (C2) `lanes` divides the input channels and those of a
    block.
    ```mlir
    %1 = rt.winograd_filter %0 {lanes = 16, strides = [1, 64, 12288, 4096]}
        : (tensor<3x3x64x64xf32>) -> tensor<36x1x64x64xf32>
    ```
  }];
  let arguments = (ins Rt_ImageTensor:$filter, DenseI64ArrayAttr:$strides,
    ConfinedAttr<I64Attr, [IntPositive]>:$lanes, UnitAttr:$rotate);
  let results = (outs Rt_F32Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Rt_WinogradOp : Rt_Op<"winograd", [Pure,
    ParentOneOf<["FusedOp", "KernelOp"]>]> {
  let summary = "a 3x3 convolution of stride 1 as F(4x4, 3x3)";
  let description = [{
    Over channels-last images, with the filter that `rt.winograd_filter` made,
    then the bias and the relu. A row of the kernel is a block of `tiles` output
    tiles of 4x4, small enough that what the input becomes (36 matrices) and
    their products with the filter's stay in a core's cache: they are the
    `scratch`, which nothing else reads. Each output has the same bits however the
    tiles are blocked.

    Constraints: (C1) input [N, H, W, C], filter [36, B, C, K / B], bias [K] and
    output [N, H', W', K] agree. (C2) `lanes` divides C and K / B. (C3) `tiles` is
    a multiple of 4. (C4) the scratch has 36 * ((C + K / B) * tiles + 32)
    elements.
    ```mlir
    %1, %scratch = rt.winograd %x, %u {lanes = 16, pad_low = [1, 1], tiles = 32}
        : (tensor<8x32x32x64xf32>, tensor<36x1x64x64xf32>) -> (tensor<8x32x32x64xf32>, tensor<148608xf32>)
    ```
  }];
  let arguments = (ins Rt_ImageTensor:$input, Rt_F32Tensor:$filter,
    Optional<Rt_ImageTensor>:$bias, DenseI64ArrayAttr:$pad_low,
    ConfinedAttr<I64Attr, [IntPositive]>:$tiles,
    ConfinedAttr<I64Attr, [IntPositive]>:$lanes, UnitAttr:$relu);
  let results = (outs Rt_ImageTensor:$output, Rt_F32Tensor:$scratch);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Tiles of 4x4 of images [N, H, W, C].
    static int64_t countTiles(RankedTensorType images);
    /// Elements of the scratch that such a kernel needs, with a panel of so many
    /// elements or none.
    static int64_t getScratchElements(int64_t tiles, int64_t channels, int64_t columns,
                                      int64_t panel = 0);
  }];
}

def Rt_WinogradProductsOp : Rt_Op<"winograd_products", [Pure,
    ParentOneOf<["FusedOp", "KernelOp"]>]> {
  let summary = "what a filter's gradient is made of: sums over tiles";
  let description = [{
    The convolution is that of `rt.winograd`. Each block of tiles adds the
    products of what the input and the result's cotangent become to `sums`, [36,
    C, K], of which there is one a chunk. `scratch` is as in `rt.winograd`.

    Constraints: (C1) input [N, H, W, C], grad [N, H', W', K] and sums [36, C, K]
    agree. (C2) `lanes` divides C and K, 4 divides C, `columns` divides K. (C3)
    the scratch has 36 * ((C + K) * tiles + 32) elements.
    ```mlir
    %sums, %scratch = rt.winograd_products %x, %g {columns = 64, lanes = 16, pad_low = [1, 1], tiles = 32}
        : (tensor<8x32x32x64xf32>, tensor<8x32x32x64xf32>) -> (tensor<36x64x64xf32>, tensor<148608xf32>)
    ```
  }];
  let arguments = (ins Rt_ImageTensor:$input, Rt_ImageTensor:$grad,
    DenseI64ArrayAttr:$pad_low, ConfinedAttr<I64Attr, [IntPositive]>:$tiles,
    ConfinedAttr<I64Attr, [IntPositive]>:$columns,
    ConfinedAttr<I64Attr, [IntPositive]>:$lanes);
  let results = (outs Rt_F32Tensor:$sums, Rt_F32Tensor:$scratch);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Rt_WinogradFilterGradOp : Rt_Op<"winograd_filter_grad", [Pure,
    ParentOneOf<["FusedOp", "KernelOp"]>]> {
  let summary = "a filter's gradient from the sums over tiles";
  let description = [{
    Adds the chunks of `rt.winograd_products`, [chunks, 36, C, K], and turns them
    into a filter whose elements `strides` gives as in `rt.winograd_filter`. The
    kernel's rows are the input channels.

    Constraints: (C1) sums have 4 dims, the second 36, and 4 times the filter's
    elements a chunk. (C2) `lanes` divides K.
    ```mlir
    %1 = rt.winograd_filter_grad %0 {lanes = 16, strides = [1, 64, 12288, 4096]}
        : (tensor<2x36x64x64xf32>) -> tensor<3x3x64x64xf32>
    ```
  }];
  let arguments = (ins Rt_F32Tensor:$sums, DenseI64ArrayAttr:$strides,
    ConfinedAttr<I64Attr, [IntPositive]>:$lanes);
  let results = (outs Rt_ImageTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Rt_WinogradPanelsOp : Rt_Op<"winograd_panels", [Pure,
    ParentOneOf<["FusedOp", "KernelOp"]>]> {
  let summary = "a convolution of few tiles, which makes its filter's factors";
  let description = [{
    `rt.winograd` of what `rt.winograd_filter` would make of the filter, for which
    `strides` and `rotate` are: the factors of `depth` input channels and `columns`
    output channels at a time, in the scratch. Worthwhile where a filter's factors
    would be read by one block of tiles, or few.

    Constraints: (C1) input [N, H, W, C], filter of 9 C K elements, bias [K] and
    output [N, H', W', K] agree. (C2) `lanes` divides `depth`, which divides C, and
    `columns`, which divides K. (C3) `tiles` is a multiple of 4. (C4) the scratch
    has 36 * ((C + columns) * tiles + depth * columns + 48) elements.
    ```mlir
    %1, %scratch = rt.winograd_panels %x, %w {columns = 64, depth = 32, lanes = 16,
        pad_low = [1, 1], strides = [576, 9, 3, 1], tiles = 32}
        : (tensor<2x16x16x64xf32>, tensor<64x64x3x3xf32>) -> (tensor<2x16x16x64xf32>, tensor<222912xf32>)
    ```
  }];
  let arguments = (ins Rt_ImageTensor:$input, Rt_ImageTensor:$filter,
    Optional<Rt_ImageTensor>:$bias, DenseI64ArrayAttr:$pad_low,
    DenseI64ArrayAttr:$strides, UnitAttr:$rotate,
    ConfinedAttr<I64Attr, [IntPositive]>:$tiles,
    ConfinedAttr<I64Attr, [IntPositive]>:$columns,
    ConfinedAttr<I64Attr, [IntPositive]>:$depth,
    ConfinedAttr<I64Attr, [IntPositive]>:$lanes, UnitAttr:$relu);
  let results = (outs Rt_ImageTensor:$output, Rt_F32Tensor:$scratch);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Rt_WinogradPanelsGradOp : Rt_Op<"winograd_panels_grad", [Pure,
    ParentOneOf<["FusedOp", "KernelOp"]>]> {
  let summary = "a filter's gradient of few tiles";
  let description = [{
    What `rt.winograd_filter_grad` makes of the sums of `rt.winograd_products`. A row
    of the kernel is a panel of `depth` input channels, whose sums over all `tiles`
    are in the scratch, `columns` output channels at a time.

    Constraints: (C1) input [N, H, W, C], grad [N, H', W', K] and an output of 9 C K
    elements agree. (C2) `lanes` divides `depth`, which divides C, and `columns`,
    which divides K; 4 divides `depth`. (C3) `tiles` are all of the gradient's. (C4)
    the scratch has 36 * ((depth + K) * tiles + depth * columns + 48) elements.
    ```mlir
    %1, %scratch = rt.winograd_panels_grad %x, %g {columns = 64, depth = 32, lanes = 16,
        pad_low = [1, 1], strides = [576, 9, 3, 1], tiles = 32}
        : (tensor<2x16x16x64xf32>, tensor<2x16x16x64xf32>) -> (tensor<64x64x3x3xf32>, tensor<186048xf32>)
    ```
  }];
  let arguments = (ins Rt_ImageTensor:$input, Rt_ImageTensor:$grad,
    DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$strides,
    ConfinedAttr<I64Attr, [IntPositive]>:$tiles,
    ConfinedAttr<I64Attr, [IntPositive]>:$columns,
    ConfinedAttr<I64Attr, [IntPositive]>:$depth,
    ConfinedAttr<I64Attr, [IntPositive]>:$lanes);
  let results = (outs Rt_ImageTensor:$output, Rt_F32Tensor:$scratch);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Over buffers
//===----------------------------------------------------------------------===//

def Rt_ProgramOp : Rt_Op<"program", [IsolatedFromAbove, Symbol, NoTerminator,
    SingleBlock]> {
  let summary = "a step function: straight-line calls over buffers";
  let description = [{
    `arguments` and `results` describe the bindings, in order; behind them are
    those of `rt.slots`, buffers in the library's layouts. There is an arena in
    each memory, of so many bytes. `parts` says what the peak of the one is made
    of that the program computes in.

    Constraints: (C1) what an `rt.arena` gives lies in the arena of its memory.
    ```mlir
    rt.program @step arena 128 arguments [] results [] {...}
    rt.program @step arena 128 host_arena 64 arguments [] results [] {...}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena_bytes,
    DefaultValuedAttr<I64Attr, "0">:$host_arena_bytes,
    ArrayAttr:$arguments, ArrayAttr:$results,
    DefaultValuedAttr<DictionaryAttr, "{}">:$parts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `arena` $arena_bytes (`host_arena` $host_arena_bytes^)?
    `arguments` $arguments `results` $results attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getArenaBytes(MemorySpace space) {
      return space == MemorySpace::Host ? getHostArenaBytes() : getArenaBytes();
    }
  }];
}

def Rt_ArenaOp : Rt_Op<"arena", [Pure]> {
  let summary = "an address in the program's arena of a memory";
  let description = [{ Of the device's, where none is named. }];
  let arguments = (ins I64Attr:$offset, I64Attr:$bytes);
  let results = (outs Rt_Buffer:$buffer);
  let assemblyFormat = "$offset `bytes` $bytes `` custom<Space>(type($buffer)) attr-dict";
}

def Rt_BindingOp : Rt_Op<"binding", [Pure]> {
  let summary = "the address of an argument or result of the entry, or of a part of it";
  let description = [{
    The part begins `offset` bytes behind the start. It is in the device's memory,
    where none is named.
  }];
  let arguments = (ins I64Attr:$index, DefaultValuedOptionalAttr<I64Attr, "0">:$offset);
  let results = (outs Rt_Buffer:$buffer);
  let assemblyFormat = "$index (`offset` $offset^)? `` custom<Space>(type($buffer)) attr-dict";
}

def Rt_LaunchOp : Rt_Op<"launch", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a generated kernel over `rows` in `chunks` ranges";
  let description = [{
    With one chunk the kernel is called directly. Constraints: (C1) all buffers are
    in one memory.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Rt_Buffer>:$buffers,
    I64Attr:$rows, I64Attr:$chunks);
  let hasVerifier = 1;
  let assemblyFormat = "$kernel `(` custom<Buffers>($buffers, type($buffers)) `)` `rows` $rows `chunks` $chunks attr-dict";
}

def Rt_LibraryCallOp : Rt_Op<"library_call"> {
  let summary = "runs a kernel of the library, in the device's own scratchpad";
  let description = [{ Constraints: (C1) all buffers are in one memory. }];
  let arguments = (ins DictionaryAttr:$kernel, Variadic<Rt_Buffer>:$buffers);
  let hasVerifier = 1;
  let assemblyFormat = "$kernel `(` custom<Buffers>($buffers, type($buffers)) `)` attr-dict";
}

def Rt_CollectiveOp : Rt_Op<"collective", [AttrSizedOperandSegments]> {
  let summary = "takes part in a collective over the mesh's `axes`, by number";
  let description = [{
    `axes` are major to minor; `peer`, `tag`, `sources`, `reduction` and `algorithm` are
    those of the kinds that have them. With `start` it runs beside what comes
    behind it, up to the `rt.wait` of its op; nothing else touches its buffers
    until then. Constraints: (C1) one piece a buffer of
    `from` and of `to`; a send has no `to`, a recv no `from`, and what the
    host takes part in has one of them. (C2) the axes are
    distinct.
    ```mlir
    rt.collective all_reduce op 3 over [0] (%0) to (%0)
        [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>]
    ```
  }];
  let arguments = (ins Rt_CollectiveKind:$kind, I64Attr:$op, DenseI64ArrayAttr:$axes,
    Variadic<Rt_Buffer>:$from, Variadic<Rt_Buffer>:$to,
    TypedArrayAttrBase<Rt_PieceAttr, "pieces">:$pieces,
    DefaultValuedAttr<I64Attr, "0">:$reduction,
    DefaultValuedAttr<I64Attr, "0">:$algorithm,
    DefaultValuedAttr<I64Attr, "0">:$peer, DefaultValuedAttr<I64Attr, "0">:$tag,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$sources, UnitAttr:$start);
  let assemblyFormat = [{
    (`start` $start^)? $kind `op` $op `over` custom<Numbers>($axes)
    `(` custom<Buffers>($from, type($from)) `)` `to`
    `(` custom<Buffers>($to, type($to)) `)` $pieces attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_WaitOp : Rt_Op<"wait"> {
  let summary = "waits for the collective that was started as transfer `op`";
  let arguments = (ins I64Attr:$op);
  let assemblyFormat = "`op` $op attr-dict";
}

def Rt_CopyOp : Rt_Op<"copy"> {
  let summary = "copies bytes, from one memory to another, too";
  let arguments = (ins Rt_Buffer:$from, Rt_Buffer:$to, I64Attr:$bytes);
  let assemblyFormat = [{
    custom<Buffer>($from, type($from)) `to` custom<Buffer>($to, type($to))
    `bytes` $bytes attr-dict
  }];
}
#endif
