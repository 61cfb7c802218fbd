//===- Pipelines.cpp - The order of the lowering's passes -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Lowering/Lowering.h"
#include "passes/Lowering/Passes.h"

using namespace mlir;
using namespace mlir::dist;

/// By name: the dialect's header takes longer to read than all of this.
static constexpr llvm::StringLiteral kLLVMFunction("llvm.func");

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<int64_t> threads{*this, "threads",
                          llvm::cl::desc("threads of a device"),
                          llvm::cl::init(1)};
  Option<bool> fuse{*this, "fuse",
                    llvm::cl::desc("false: each op a kernel of its own"),
                    llvm::cl::init(true)};
  Option<std::string> convolution{
      *this, "convolution",
      llvm::cl::desc("3x3 convolutions of stride 1: auto, direct or winograd"),
      llvm::cl::init("auto")};
  Option<int64_t> vectorBits{
      *this, "vector-bits",
      llvm::cl::desc("bits of a vector register; 0: of this machine's"),
      llvm::cl::init(0)};
  Option<std::string> widen{
      *this, "widen",
      llvm::cl::desc(
          "contractions to compute in f32: auto, bf16, f16, narrow or none"),
      llvm::cl::init("auto")};
  Option<bool> readPeers{
      *this, "read-peers",
      llvm::cl::desc("false: collectives move what devices could read in each "
                     "other's memory"),
      llvm::cl::init(true)};

  LoweringOptions get() const {
    LoweringOptions options;
    options.threads = threads;
    options.fuse = fuse;
    options.convolution = convolution;
    options.vectorBits = vectorBits;
    options.widen = widen;
    options.readPeers = readPeers;
    return options;
  }
};
} // namespace

void mlir::dist::registerLoweringPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "dist-graph-to-rt-pipeline", "local graph ops to programs and kernels",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildGraphToRtPipeline(pm, options.get());
      });
  PassPipelineRegistration<PipelineOptions>(
      "dist-rt-to-llvm-pipeline", "programs and kernels to the LLVM dialect",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildRtToLLVMPipeline(pm, options.get());
      });
}

/// For functions of one block: their regions need no look of their own, which
/// takes a third of the pass.
static std::unique_ptr<Pass> createBlockCanonicalizer() {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return createCanonicalizerPass(config);
}

void mlir::dist::buildKernelsPipeline(OpPassManager &pm,
                                      const LoweringOptions &options) {
  pm.addPass(createAssignDevicesPass());
  // Folds what the partitioner left, so that kernels see plain chains.
  pm.addPass(createBlockCanonicalizer());
  pm.addPass(createCSEPass());
  pm.addPass(createFoldNormalizationPass());
  WidenContractionsPassOptions widen;
  widen.types = options.widen;
  pm.addPass(createWidenContractionsPass(widen));
  GraphToKernelsPassOptions kernels;
  kernels.threads = options.threads;
  kernels.convolution = options.convolution;
  kernels.vectorBits = options.vectorBits;
  kernels.widen = options.widen != "none";
  pm.addPass(createGraphToKernelsPass(kernels));
  pm.addPass(createDropUnitDimsPass());
  // Behind it, since it would take the dim of a single row away again.
  pm.addPass(createSinkReshapesPass());
  // Decomposed composites repeat each other's parts (softmax and its
  // gradient), and one weight may have been reordered twice.
  pm.addPass(createBlockCanonicalizer());
  pm.addPass(createCSEPass());
  FormClustersPassOptions clusters;
  clusters.threads = options.threads;
  clusters.fuse = options.fuse;
  pm.addPass(createFormClustersPass(clusters));
  if (options.fuse)
    pm.addPass(createRecomputeElementsPass());
  FlattenKernelsPassOptions flat;
  flat.threads = options.threads;
  pm.addPass(createFlattenKernelsPass(flat));
  // Last of what looks at each kernel by itself.
  pm.addPass(createExpandMicrobatchesPass());
}

void mlir::dist::buildProgramsPipeline(OpPassManager &pm,
                                       const LoweringOptions &options) {
  // Each kernel cloned its own broadcasts and constants.
  pm.addPass(createCSEPass());
  // Before equal kernels become one: those that add up are others.
  if (options.readPeers)
    pm.addPass(createReadPeersPass());
  OutlineKernelsPassOptions outline;
  outline.threads = options.threads;
  pm.addPass(createOutlineKernelsPass(outline));
  // Constants are weights that never change: what is made of them is prepared
  // as well.
  pm.addPass(createBindConstantsPass());
  pm.addPass(createHoistPreparationPass());
  pm.addPass(createPlanMemoryPass());
}

void mlir::dist::buildGraphToRtPipeline(OpPassManager &pm,
                                        const LoweringOptions &options) {
  buildKernelsPipeline(pm, options);
  buildProgramsPipeline(pm, options);
}

void mlir::dist::buildRtToLLVMPipeline(OpPassManager &pm,
                                       const LoweringOptions &options) {
  pm.addPass(createEmitKernelsPass());
  // Nested wherever the pass allows it: no pass but the last has to look at
  // programs, which are as long as the model times its microbatches.
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createLoopInvariantCodeMotionPass());
  // On scalars, before loops become blocks: see codegen.md's measurements.
  functions.addPass(createApproximateMathPass());
  functions.addPass(createCSEPass());
  functions.addPass(createSCFToControlFlowPass());
  functions.addPass(createConvertMathToLLVMPass());
  // What has no intrinsic is a call of the C library.
  pm.addPass(createConvertMathToLibmPass());
  OpPassManager &loops = pm.nest<func::FuncOp>();
  loops.addPass(memref::createExpandStridedMetadataPass());
  loops.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functionOptions;
  // Bare pointers keep what is known of the arguments.
  functionOptions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functionOptions));
  OpPassManager &scalars = pm.nest(kLLVMFunction);
  scalars.addPass(createArithToLLVMConversionPass());
  scalars.addPass(createConvertIndexToLLVMPass());
  scalars.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.nest(kLLVMFunction).addPass(createReconcileUnrealizedCastsPass());
  // Last: programs call kernels, which are LLVM functions by now.
  pm.addPass(createRtToLLVMPass());
}
