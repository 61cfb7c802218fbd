//===- Lowering.h - From a partitioned module to a package -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_LOWERING_LOWERING_H
#define PASSES_LOWERING_LOWERING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/core/manifest.pb.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mlir::dist {

/// Threads that this process may use: its affinity, cut to its cgroup's quota.
int64_t countUsableThreads();

struct ServerProgram;

struct LoweringOptions {
  /// Threads of a device: decides chunks, and what the library would do.
  int64_t threads = 1;
  /// CPU to generate code for; empty: this one.
  std::string cpu;
  /// Further ones, each with code of its own over the same weights; named as
  /// setTargetCpu takes them.
  std::vector<std::string> furtherCpus;
  /// Code generation jobs at once; 0: one a core.
  int64_t jobs = 0;
  /// False: each op a kernel of its own.
  bool fuse = true;
  /// How 3x3 convolutions of stride 1 are computed: auto, direct or winograd.
  std::string convolution = "auto";
  /// Bits of a vector register, for what is blocked by it; 0: this machine's.
  int64_t vectorBits = 0;
  /// Contractions of narrow floats that are computed in f32: auto (those that
  /// this CPU has no instructions for), bf16, f16, narrow (both) or none.
  std::string widen = "auto";
  /// False: collectives move what devices could read in each other's memory.
  bool readPeers = true;
  /// Floating-point operations of an entry on one device, by its name.
  std::map<std::string, double> entryFlops;
  /// Predicted seconds of an entry, by its name, once `describeKernels` has
  /// looked; 0: unknown.
  std::function<double(StringRef name)> entrySeconds;
  /// What the manifest says of the model and the training; the lowering fills
  /// in the rest.
  ::dist::manifest::Manifest metadata;
  /// Looks at the module when it is kernels, and adds what it says of them.
  std::function<void(ModuleOp module, ::dist::manifest::Manifest &manifest)>
      describeKernels;
  /// Looks at the module when it is programs, of which nothing is written yet;
  /// reports its own failure.
  std::function<LogicalResult(ModuleOp module)> checkPrograms;
  /// Adds the caller's own files to the package's folder before it takes its
  /// place; reports its own failure.
  std::function<LogicalResult(const std::string &folder)> addFiles;
  /// Programs of the parameter servers that hold the variables.
  std::vector<ServerProgram> servers;
};

/// One server's, for a package of its own within that of the workers.
struct ServerProgram {
  ModuleOp module;
  LoweringOptions options;
};

/// Sets what the CPU that code is generated for decides: `native`, or LLVM's
/// name of one of this architecture. Gives what is wrong with the name, or
/// nothing.
std::string setTargetCpu(LoweringOptions &options, StringRef name);

/// From graph and dist ops with local shapes to kernels and collectives.
void buildKernelsPipeline(OpPassManager &pm, const LoweringOptions &options);
/// From there to rt.program and rt.kernel.
void buildProgramsPipeline(OpPassManager &pm, const LoweringOptions &options);
/// The two, one after the other.
void buildGraphToRtPipeline(OpPassManager &pm, const LoweringOptions &options);
/// From there to the LLVM dialect.
void buildRtToLLVMPipeline(OpPassManager &pm, const LoweringOptions &options);

/// The two as pipelines of dist-opt.
void registerLoweringPipelines();

/// Lowers the module (which is left in the LLVM dialect) and writes the package
/// folder: program.so, weights.safetensors, manifest, `addFiles`; a program and
/// manifest for each further CPU (runtime/core/variants.h); and the packages of
/// `servers` (runtime/core/package_files.h). An existing
/// package or empty folder is replaced, in one step, when the new one is
/// complete; anything else is refused. Emits an error on failure.
/// `few`: the module with copies of few microbatches (dialects/Dist/IR/
/// CopyPlace.h), which is lowered in its place where these show the others.
LogicalResult lowerToPackage(ModuleOp module, const LoweringOptions &options,
                             StringRef folder, ModuleOp few = {});

} // namespace mlir::dist

#endif // PASSES_LOWERING_LOWERING_H
