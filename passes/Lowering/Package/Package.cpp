//===- Package.cpp - Writes the package folder -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Microbatch.h"
#include "dialects/Rt/IR/Rt.h"
#include "passes/Lowering/Lowering.h"
#include "passes/Lowering/Package/CodeGen.h"
#include "passes/Lowering/Package/FileError.h"
#include "passes/Lowering/Package/Manifest.h"
#include "mlir/IR/Verifier.h"
#include "runtime/core/manifest_bytes.h"
#include "runtime/core/digest.h"
#include "runtime/core/package_files.h"
#include "runtime/formats/file.h"
#include "runtime/formats/links.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace mlir::dist;

/// Says which kernels are hundreds of times as slow as one would expect.
static void warnOfPlainLoops(ModuleOp module) {
  rt::LibraryOp first;
  int64_t count = 0;
  module.walk([&](rt::LibraryOp op) {
    if (!op.getKernel().contains("reference"))
      return;
    if (!first)
      first = op;
    ++count;
  });
  if (!first)
    return;
  InFlightDiagnostic warning =
      first.emitWarning("slow kernel (")
      << first.getKernel().getAs<StringAttr>("kind").getValue() << " to "
      << first.getOutput().getType()
      << "): the library has but plain loops for it";
  if (count > 1)
    warning << ", and for " << count - 1 << " more";
  warning << "; with other pads, strides or element types it may have a fast "
             "one";
}

/// Runs passes that are not verified: a step is as long as the model times its
/// microbatches, and to look at all of it after each pass took a third of the
/// time.
static LogicalResult run(ModuleOp module, const LoweringOptions &options,
                         void (*build)(OpPassManager &,
                                       const LoweringOptions &)) {
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  build(pm, options);
  return pm.run(module);
}

/// Writes the program and the manifest of one CPU, with the first's the
/// weights.
static LogicalResult writeVariant(ModuleOp module, ModuleOp few,
                                  const LoweringOptions &options,
                                  const std::string &folder,
                                  const std::string &variant) {
  ::dist::manifest::Manifest manifest = options.metadata;
  if (variant.empty())
    for (const std::string &name : options.furtherCpus)
      manifest.add_variants(name);
  if (few && failed(run(few, options, buildKernelsPipeline)))
    return failure();
  if (few && !showsFew(few))
    module = few;
  else if (failed(run(module, options, buildKernelsPipeline)))
    return failure();
  warnOfPlainLoops(module);
  if (options.describeKernels)
    options.describeKernels(module, manifest);
  // Once each kernel's body stands there once, not at each of its calls.
  if (failed(run(module, options, buildProgramsPipeline)) ||
      failed(mlir::verify(module)))
    return failure();
  if (options.checkPrograms && failed(options.checkPrograms(module)))
    return failure();
  if (failed(fillManifest(module, options, &manifest)) ||
      (variant.empty() &&
       failed(writeWeights(module, folder + "/weights.safetensors"))))
    return failure();
  if (failed(run(module, options, buildRtToLLVMPipeline)) ||
      failed(mlir::verify(module)) ||
      failed(generateSharedObject(module, options,
                                  ::dist::programPath(folder, variant))))
    return failure();
  std::string digest;
  ::dist::Status status = ::dist::digestPackage(folder, variant, &digest);
  manifest.set_digest(digest);
  for (size_t server = 0; server < options.servers.size() && status.ok();
       ++server) {
    status = ::dist::digestPackage(::dist::serverPath(folder, int(server)),
                                   variant, &digest);
    manifest.mutable_servers(int(server))->set_digest(digest);
  }
  if (!status.ok())
    return emitFileError(module, status.message());
  std::string path = ::dist::manifestPath(folder, variant);
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    stream << ::dist::toBytes(manifest);
    stream.flush();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    return emitFileError(module, "cannot write ")
           << path << ": " << code.message();
  return success();
}

/// For whom the umask says, as files are: LLVM leaves others out by itself.
static std::error_code makeFolders(const std::string &path) {
  return llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true,
                                           llvm::sys::fs::perms::all_all);
}

static LogicalResult writePackage(ModuleOp module, ModuleOp few,
                                  const LoweringOptions &options,
                                  const std::string &folder) {
  // The workers' manifest has their digests.
  for (auto [number, server] : llvm::enumerate(options.servers)) {
    std::string place = ::dist::serverPath(folder, int(number));
    if (std::error_code code = makeFolders(place))
      return emitFileError(module, "cannot make the folder ")
             << place << ": " << code.message();
    if (failed(writePackage(server.module, {}, server.options, place)))
      return failure();
  }
  // Lowering replaces the modules.
  std::vector<OwningOpRef<ModuleOp>> copies, fewCopies;
  for (size_t i = 0; i < options.furtherCpus.size(); ++i) {
    copies.push_back(module.clone());
    fewCopies.push_back(few ? few.clone() : ModuleOp());
  }
  if (failed(writeVariant(module, few, options, folder, "")))
    return failure();
  for (auto [copy, fewCopy, cpu] :
       llvm::zip(copies, fewCopies, options.furtherCpus)) {
    LoweringOptions variant = options;
    std::string why = setTargetCpu(variant, cpu);
    if (!why.empty())
      return copy->emitError("cannot generate code for '")
             << cpu << "': " << why;
    if (failed(writeVariant(*copy, fewCopy.get(), variant, folder, cpu)))
      return failure();
  }
  return options.addFiles ? options.addFiles(folder) : success();
}

LogicalResult mlir::dist::lowerToPackage(ModuleOp module,
                                         const LoweringOptions &options,
                                         StringRef folder, ModuleOp few) {
  std::string target = ::dist::withoutLinks(folder.str());
  while (target.size() > 1 && target.back() == '/')
    target.pop_back();
  // Of the user's own files none is for us to remove.
  if (std::string why = ::dist::whyNotReplaced(target); !why.empty())
    return module.emitError("cannot make the package ")
           << target << ": " << why << "; give another folder, or remove it";
  std::string fresh =
      target + ".new-" + std::to_string(llvm::sys::Process::getProcessId());
  if (std::error_code code = makeFolders(fresh))
    return emitFileError(module, "cannot make the folder ")
           << fresh << ": " << code.message();
  LogicalResult result = writePackage(module, few, options, fresh);
  if (succeeded(result))
    if (::dist::Status placed = ::dist::replaceFolder(fresh, target);
        !placed.ok())
      result = emitFileError(module, "cannot make the package: ")
               << placed.message();
  // The new folder after a failure, the old one after a success.
  (void)llvm::sys::fs::remove_directories(fresh);
  return result;
}
