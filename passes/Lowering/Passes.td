//===- Passes.td - Passes from tensors to a program -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_PASSES_TD
#define PASSES_LOWERING_PASSES_TD
include "mlir/Pass/PassBase.td"

def WidenContractionsPass : Pass<"graph-widen-contractions", "::mlir::ModuleOp"> {
  let summary = "contractions of narrow floats that the CPU cannot multiply are computed in f32";
  let description = [{
    Sums of products of bf16 or f16 are f32 sums, rounded once. Where the CPU has
    no instructions for them, the library takes each number apart in its inner
    loop, several times as slow as f32; conversions outside are parts of the
    kernels around, and the result is the same up to the order of the sum.
    ```mlir
    %0 = graph.dot_general %x, %w {...} : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
    // becomes
    %1 = graph.convert %x : (tensor<8x4xbf16>) -> tensor<8x4xf32>
    %2 = graph.convert %w : (tensor<4x2xbf16>) -> tensor<4x2xf32>
    %3 = graph.dot_general %1, %2 {...} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %0 = graph.convert %3 : (tensor<8x2xf32>) -> tensor<8x2xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
  let options = [
    Option<"types", "types", "std::string", "\"auto\"",
           "auto: those that this machine's CPU cannot multiply; bf16, f16, narrow (both) or none">,
  ];
}

def FoldNormalizationPass : Pass<"graph-fold-normalization", "::mlir::ModuleOp"> {
  let summary = "a normalization by given statistics becomes part of the weights before it";
  let description = [{
    A `graph.batch_norm_inference` of f32 along the channels of a convolution or of
    a product with a matrix, with or without a bias between them, becomes a
    factor of the filter and a bias, where weights that the entry does not change
    decide both: rt-hoist-preparation computes them once. Another reader of the
    contraction, or weights that a step updates, leave it as it is.
    ```mlir
    %0 = graph.conv %x, %w {...} : (tensor<1x8x8x4xf32>, tensor<16x4x3x3xf32>) -> tensor<1x8x8x16xf32>
    %1 = graph.batch_norm_inference %0, %scale, %bias, %mean, %variance {axis = 3 : i64, ...}
    // becomes, with factor = %scale * rsqrt(%variance + epsilon)
    %v = graph.mul %w, %factor_broadcast : tensor<16x4x3x3xf32>
    %0 = graph.conv %x, %v {...} : (tensor<1x8x8x4xf32>, tensor<16x4x3x3xf32>) -> tensor<1x8x8x16xf32>
    %1 = graph.add %0, %offset_broadcast : tensor<1x8x8x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def AssignDevicesPass : Pass<"rt-assign-devices", "::mlir::ModuleOp"> {
  let summary = "functions say which kind of device runs them";
  let description = [{
    As `rt.device`. Those of the mesh's host, which is a machine's CPUs whatever
    its devices are, run on "cpu".
    ```mlir
    func.func @train_step(...) {...}
    // becomes
    func.func @train_step(...) attributes {rt.device = "cpu"} {...}
    ```
  }];
  let dependentDialects = ["::mlir::dist::rt::RtDialect"];
  let options = [Option<"kind", "kind", "std::string", "\"cpu\"",
                        "of the devices: cpu">];
}

def GraphToKernelsPass : Pass<"graph-to-kernels", "::mlir::ModuleOp"> {
  let summary = "contractions and convolutions become library kernels";
  let description = [{
    `graph.dot_general`, `graph.conv` and its gradients become `rt.library`
    where the library has a kernel for the type and the strides; transposes of
    their operands become strides, a bias and a relu behind a forward kernel
    become its post-ops, and weights are reordered once where the library wants
    a layout of its own. What it does not take stays and is generated. Where the
    library has no more than plain loops for a contraction of narrow floats, or
    nothing, it is computed in f32; where it has no more for f32, its kernel is
    marked as a `reference`. So are generated
    3x3 convolutions of stride 1, and gradients of their inputs, where
    Winograd's F(4x4, 3x3) is faster (`rt.winograd`) or `convolution` says so;
    in bf16 and f16, too, unless the machine multiplies those many times faster.
    ```mlir
    %0 = graph.dot_general %x, %w {...} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    // becomes
    %0 = rt.library(%x, %w) {kind = "matmul", ...} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::rt::RtDialect", "::mlir::dist::graph::GraphDialect"];
  let options = [
    Option<"threads", "threads", "int64_t", "1", "threads of a device">,
    Option<"convolution", "convolution", "std::string", "\"auto\"",
           "3x3 convolutions of stride 1: auto, direct or winograd">,
    Option<"vectorBits", "vector-bits", "int64_t", "0",
           "bits of a vector register; 0: of this machine's">,
    Option<"narrowSpeed", "narrow-speed", "double", "0",
           "how fast bf16 and f16 are multiplied beside f32; 0: as on this machine">,
    Option<"widen", "widen", "bool", "true",
           "contractions of narrow floats that the library has but plain loops for are computed in f32">,
  ];
}

def DropUnitDimsPass : Pass<"graph-drop-unit-dims", "::mlir::ModuleOp"> {
  let summary = "dims of size 1 leave element-wise ops, reductions and broadcasts";
  let description = [{
    A partitioned program is full of dims of which a rank has one element: the
    groups of a per-replica batch norm, a batch of one example. With them a
    reduction over all rows is one over inner dims, which becomes another, slower
    kernel. Reshapes are views; those between two ops cancel out.
    ```mlir
    %1 = graph.reduce sum, %0 {dims = array<i64: 1>} : (tensor<1x32x8xf32>) -> tensor<1x8xf32>
    // becomes
    %1 = graph.reduce sum, %r {dims = array<i64: 0>} : (tensor<32x8xf32>) -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def SinkReshapesPass : Pass<"graph-sink-reshapes", "::mlir::ModuleOp"> {
  let summary = "what follows an op that makes rows computes in those rows";
  let description = [{
    A kernel that reads what `graph.scatter_rows` gives makes a row of it at a
    time, if its own rows are those. Top-k compression cuts gradients into rows;
    the update that reads such a gradient is computed in these rows and only its
    results are reshaped, which costs nothing.
    ```mlir
    %0 = graph.scatter_rows %u, %i {size = 1024 : i64} : (tensor<4x20xf32>, tensor<4x20xi16>) -> tensor<4x1024xf32>
    %1 = graph.reshape %0 : (tensor<4x1024xf32>) -> tensor<64x64xf32>
    %2 = graph.sub %w, %1 : tensor<64x64xf32>
    // becomes
    %1 = graph.reshape %w : (tensor<64x64xf32>) -> tensor<4x1024xf32>
    %3 = graph.sub %1, %0 : tensor<4x1024xf32>
    %2 = graph.reshape %3 : (tensor<4x1024xf32>) -> tensor<64x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def FormClustersPass : Pass<"graph-form-clusters", "::mlir::ModuleOp"> {
  let summary = "groups elemental ops into kernels";
  let description = [{
    Ops that share an iteration space become one `rt.fused`: chains of
    element-wise ops with all their results, reductions over the inner dims
    followed by their uses (softmax, layer norm), and reductions over the rows
    (bias gradients, losses), which get partial results a chunk and a second
    kernel that adds them up. Broadcasts, reshapes, slices and constants are
    repeated in each kernel that reads them.
    ```mlir
    %1 = graph.mul %0, %0 : tensor<8xf32>
    %2 = graph.add %1, %0 : tensor<8xf32>
    // becomes
    %2 = rt.fused(%0) domain [8] row_dims 0 chunks 1 : (tensor<8xf32>) -> tensor<8xf32> {...}
    ```
  }];
  let dependentDialects = ["::mlir::dist::rt::RtDialect", "::mlir::dist::graph::GraphDialect"];
  let options = [
    Option<"threads", "threads", "int64_t", "1", "threads of a device">,
    Option<"fuse", "fuse", "bool", "true", "false: each op a kernel of its own">,
  ];
}

def RecomputeElementsPass : Pass<"rt-recompute-elements", "::mlir::ModuleOp"> {
  let summary = "kernels compute again what is further away in memory";
  let description = [{
    What a kernel stores for others is chosen by a minimum cut between what it
    reads and what they want of it: bytes written and read, against instructions
    that are repeated. Reductions and contractions run once. What others read
    as well (a contraction, a collective) is stored in any case.
    ```mlir
    %0:2 = rt.fused(%x) ... { %a = graph.mul %x, %x; %b = graph.exp %a; rt.yield %a, %b }
    %1 = rt.fused(%0#0, %g) ... { (%a, %g): %c = graph.mul %a, %g; rt.yield %c }
    // becomes
    %0 = rt.fused(%x) ... { %a = graph.mul %x, %x; %b = graph.exp %a; rt.yield %b }
    %1 = rt.fused(%x, %g) ... { (%x, %g): %a = graph.mul %x, %x; %c = graph.mul %a, %g; rt.yield %c }
    ```
  }];
  let dependentDialects = ["::mlir::dist::rt::RtDialect", "::mlir::dist::graph::GraphDialect"];
}

def FlattenKernelsPass : Pass<"rt-flatten-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels whose elements are all computed alike run over one dim, or two";
  let description = [{
    Loops over it are long whatever the shape: filters end in dims of 3. Where the
    kernel sums all elements up besides, as an update does that looks for what is
    not finite, the first dim stays: its rows are divided into chunks.
    ```mlir
    %0 = rt.fused(%x) domain [64, 32, 3, 3] ...
    // becomes
    %1 = graph.reshape %x : (tensor<64x32x3x3xf32>) -> tensor<18432xf32>
    %0 = rt.fused(%1) domain [18432] ...
    ```
  }];
  let dependentDialects = ["::mlir::dist::rt::RtDialect", "::mlir::dist::graph::GraphDialect"];
  let options = [
    Option<"threads", "threads", "int64_t", "1", "threads of a device">,
  ];
}

def ExpandMicrobatchesPass : Pass<"rt-expand-microbatches", "::mlir::ModuleOp"> {
  let summary = "the copies of microbatches that were not shown are made of those that were";
  let description = [{
    Of a stage's function that dist-unroll-microbatches has shown few microbatches
    of (`dist.shown_microbatches`), the kernels of all are made: what comes before
    is as long as the model, whatever the number of microbatches. The second and
    the third microbatch must be the same kernels, which read values of all, of
    their own or of the one before, and the numbers in which they differ (where a
    slice starts, the tag of a send) go on as they begin. A function where this
    does not hold is left as it was; it has to be unrolled whole.
    ```mlir
    func.func @f_stage0(%x: tensor<64x8xf32>) attributes {dist.shown_microbatches = 4 : i64, ...} {
      %x1 = graph.slice %x {starts = array<i64: 8, 0>, ...}   // of microbatch 1
      %x2 = graph.slice %x {starts = array<i64: 16, 0>, ...}  // of microbatch 2
      %x7 = graph.slice %x {starts = array<i64: 56, 0>, ...}  // of microbatch 7, the last
    // becomes
    func.func @f_stage0(%x: tensor<64x8xf32>) {
      ...
      %x3 = graph.slice %x {starts = array<i64: 24, 0>, ...}
      %x4 = graph.slice %x {starts = array<i64: 32, 0>, ...}
      ...
    ```
  }];
}

def ReadPeersPass : Pass<"rt-read-peers", "::mlir::ModuleOp"> {
  let summary = "sums of gradients are computed where they are read";
  let description = [{
    The devices of one process share memory; those of several (`processes` of the
    mesh) publish nothing, not even within a process: their communicators move
    bytes. Where one kernel reads the result of
    an `all_reduce` or a `reduce_scatter` element by element (an optimizer's
    update does), it reads what is to be added from all ranks itself: the ranks
    meet before it, and again at the function's end, when all have read. Published
    are sums in f32 and f64, in groups so small that less memory is moved in this
    way (all-reduces between two ranks), from 64 KiB on, and of collectives that
    have their numbers and ask for no algorithm. The sums are in the order of
    positions, as a communicator's: the same bits.
    ```mlir
    %1 = dist.all_reduce %0 over @mesh ["data"] {op_id = 0, ...} : (tensor<65536xf32>) -> tensor<65536xf32>
    %2 = rt.fused(%w, %1) domain [65536] ... {
    ^bb0(%a: tensor<65536xf32>, %b: tensor<65536xf32>):
      %3 = graph.sub %a, %b : tensor<65536xf32>
      rt.yield %3 : tensor<65536xf32>
    }
    // becomes
    %1:2 = rt.publish all_reduce op 0 over [0] peers 2 (%0) [...] : (tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>)
    %2 = rt.fused(%w, %1#0, %1#1) domain [65536] ... {
    ^bb0(%a: tensor<65536xf32>, %b: tensor<65536xf32>, %c: tensor<65536xf32>):
      %4 = graph.add %b, %c : tensor<65536xf32>
      %3 = graph.sub %a, %4 : tensor<65536xf32>
      rt.yield %3 : tensor<65536xf32>
    }
    rt.release op 0 over [0] (%0) : tensor<65536xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::rt::RtDialect", "::mlir::dist::graph::GraphDialect"];
}

def OutlineKernelsPass : Pass<"rt-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "equal rt.fused ops become calls of one rt.kernel";
  let description = [{
    Bodies are compared by structure, so that a model with 96 equal layers has
    the kernels of one.
    ```mlir
    %1 = rt.fused(%0) ... {...}
    // becomes
    rt.kernel @kernel_0 ... {...}
    %1 = rt.call @kernel_0(%0) : (tensor<8xf32>) -> tensor<8xf32>
    ```
    Ops with loops of their own (scans, top-k, scatters) become kernels, too.
    Slices of an entry's data that are one piece in memory (the microbatches of a
    batch) become views outside of the kernel: their starts make no difference
    between bodies.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"1",
           "threads of a device: in how many parts ops with loops of their own "
           "are run">
  ];
  let dependentDialects = ["::mlir::dist::rt::RtDialect"];
}

def BindConstantsPass : Pass<"rt-bind-constants", "::mlir::ModuleOp"> {
  let summary = "constants that kernels do not hold become variables";
  let description = [{
    Each becomes an argument bound to a variable of the group `constant`; equal
    constants are one variable.
    ```mlir
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    // becomes
    graph.variable @constant : tensor<2xf32> {group = "constant"} = dense<[1.0, 2.0]> : tensor<2xf32>
    func.func @f(%x: tensor<2xf32>, %0: tensor<2xf32> {graph.role = "variable", graph.variable = @constant}) -> tensor<2xf32> {
    ```
  }];
  let dependentDialects = ["::mlir::dist::graph::GraphDialect"];
}

def HoistPreparationPass : Pass<"rt-hoist-preparation", "::mlir::ModuleOp"> {
  let summary = "what weights alone decide is computed once, not at every call";
  let description = [{
    What an entry computes from weights that it does not change itself (packed
    filters, folded scales) moves into a function of its own, which the runtime
    runs before the entry when a variable has changed since the last time. The
    results are buffers of the device's state, bound to arguments of the role
    `prepared`; entries that prepare the same share the buffer. Training steps
    change their weights, so they keep packing them.
    ```mlir
    func.func @predict(%x: tensor<8xf32>, %w: tensor<8xf32> {graph.variable = @w}) {
      %0 = rt.library(%w) {kind = "reorder", ...} : (tensor<8xf32>) -> tensor<64xi8>
      %1 = rt.library(%x, %0) {kind = "conv", ...}
    // becomes
    func.func @predict(%x: tensor<8xf32>, %w: tensor<8xf32> {graph.variable = @w},
                       %0: tensor<64xi8> {graph.name = "prepared_0", graph.role = "prepared"}) {
      %1 = rt.library(%x, %0) {kind = "conv", ...}
    func.func @predict_prepare(...) -> (tensor<64xi8> {graph.name = "prepared_0", graph.role = "prepared"})
        attributes {rt.prepares = @predict} {
      %0 = rt.library(%w) {kind = "reorder", ...} : (tensor<8xf32>) -> tensor<64xi8>
    ```
  }];
  let dependentDialects = ["::mlir::dist::rt::RtDialect", "::mlir::func::FuncDialect"];
}

def PlanMemoryPass : Pass<"rt-plan-memory", "::mlir::ModuleOp"> {
  let summary = "functions over tensors become programs over an arena";
  let description = [{
    Each value gets an address: of a binding or a piece of it, or an offset in the
    arena chosen from the values' lifetimes, in the memory of the device, or of
    the host for its functions. Updated variables are written in place where no
    later kernel reads the old value, and copied at the end where one does.
    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = rt.call @kernel_0(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // becomes
    rt.program @f arena 0 arguments [...] results [...] {
      %0 = rt.binding 0
      %1 = rt.binding 1
      rt.launch @kernel_0(%0, %1) rows 1 chunks 1
    }
    ```
  }];
  let dependentDialects = ["::mlir::dist::rt::RtDialect"];
}

def EmitKernelsPass : Pass<"rt-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "kernel bodies become loops over memrefs";
  let description = [{
    An `rt.kernel` becomes a function of its buffers and of a range of rows,
    whose loops are put together from the ops' `emitElement`.
    ```mlir
    rt.kernel @kernel_0 domain [8] row_dims 1 chunks 2 -> [tensor<8xf32>] {...}
    // becomes
    func.func private @kernel_0(%in: memref<8xf32>, %out: memref<8xf32>,
                                %lo: index, %hi: index, %chunk: index) {
      scf.for %i = %lo to %hi step %c1 {...}
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def ApproximateMathPass : Pass<"rt-approximate-math"> {
  let summary = "f32 exp, log, tanh and erf become polynomials that vectorise";
  let description = [{
    Scalar polynomials before the loop vectoriser run at the speed of vector
    code; calls of the C library would keep loops scalar. f64 keeps the library.
    ```mlir
    %0 = math.exp %x : f32
    // becomes arith and math.fma ops on f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def RtToLLVMPass : Pass<"rt-to-llvm", "::mlir::ModuleOp"> {
  let summary = "programs become functions that call kernels and the runtime";
  let description = [{
    An `rt.program` becomes `i32 (ptr context, ptr arenas, ptr bindings)`; each
    kernel gets a wrapper of the runtime's kernel type. The runtime is reached
    through the table that `dist_program_init` is given, so that the shared
    object has no undefined symbols of ours. A call that fails returns at once.
    Runs of calls between transfers that differ only in where their buffers lie
    (what a stage does for each microbatch) are one function, called with a list
    of offsets.
    ```mlir
    rt.launch @kernel_0(%0, %1) rows 8 chunks 1
    // becomes
    llvm.call @kernel_0_entry(%buffers, %c0, %c8, %c0) : (!llvm.ptr, i64, i64, i64) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect"];
}
#endif
