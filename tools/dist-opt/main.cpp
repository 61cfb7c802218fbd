//===- main.cpp - The compiler's command line -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "passes/InitAllPasses.h"
#include "tools/dist-opt/Driver.h"
#include "tools/dist-opt/FatalErrors.h"
#include "tools/options/interrupt.h"
#include "tools/options/streams.h"
#include "tools/options/truncation.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;

#ifdef DIST_TEST_PASSES
namespace mlir::dist {
void registerTestPasses();
} // namespace mlir::dist
#endif

/// Whether the command line is mlir-opt's: it names a registered pass or
/// pipeline or one of mlir-opt's own switches, or it has no option at all and
/// reads MLIR.
static bool isMlirOpt(ArrayRef<StringRef> arguments) {
  static const char *const switches[] = {
      "pass-pipeline",         "split-input-file",
      "verify-diagnostics",    "verify-roundtrip",
      "show-dialects",         "allow-unregistered-dialect",
      "mlir-print-op-generic", "verify-each",
      "emit-bytecode",         "mlir-print-debuginfo",
      "dump-pass-pipeline"};
  bool options = false, model = false;
  for (StringRef word : arguments) {
    if (!word.starts_with("-") || word == "-") {
      model |= word != "-" && !word.ends_with(".mlir");
      continue;
    }
    StringRef name = word.ltrim('-').split('=').first;
    if (PassInfo::lookup(name) || PassPipelineInfo::lookup(name) ||
        llvm::is_contained(switches, name))
      return true;
    options = true;
  }
  return !options && !model && !arguments.empty();
}

int main(int argc, char **argv) {
  ::dist::tools::holdStandardStreams();
  ::dist::tools::reportFailedWrites();
  mlir::dist::endWithErrorLines();
  DialectRegistry registry;
  mlir::dist::registerAllDialects(registry);
  mlir::dist::registerAllPasses();
#ifdef DIST_TEST_PASSES
  mlir::dist::registerTestPasses();
#endif
  ::dist::tools::guardMappedFiles("dist-opt");
  SmallVector<StringRef> arguments(argv + 1, argv + argc);
  if (isMlirOpt(arguments))
    return asMainReturnCode(
        MlirOptMain(argc, argv, "dist-mlir compiler\n", registry));
  return mlir::dist::runDriver({argv + 1, argv + argc}, registry);
}
