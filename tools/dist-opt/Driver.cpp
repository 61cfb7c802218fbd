//===- Driver.cpp - From the command line to a compiled package -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Driver.h"
#include "tools/dist-opt/CheckOptions.h"
#include "tools/dist-opt/Compilation.h"
#include "tools/dist-opt/DebugOptions.h"
#include "tools/dist-opt/KernelCheck.h"
#include "tools/dist-opt/Machine.h"
#include "tools/dist-opt/Planner.h"
#include "tools/dist-opt/Reports.h"
#include "runtime/formats/file.h"
#include "tools/options/interrupt.h"
#include "tools/options/piped_files.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <unistd.h>

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::tools::Options;

static int run(const std::vector<std::string> &words,
               const DialectRegistry &registry) {
  Options options;
  std::string answer;
  std::vector<std::string> arguments = words;
  Status status = ::dist::tools::keepPipedFiles(words);
  if (status.ok())
    status = takeDebugOptions(arguments);
  if (status.ok())
    status = ::dist::tools::parseOptions(::dist::tools::Tool::Opt, arguments,
                                         &options, &answer);
  if (!status.ok())
    return reportError(status);
  if (options.helpPasses) {
    printRegisteredPasses();
    return 0;
  }
  if (!answer.empty()) {
    llvm::outs() << answer;
    return 0;
  }
  // A package is put together in a folder beside its place. Renamed, nothing is
  // added to a folder while it is removed.
  std::string package = llvm::StringRef(options.outFile).rtrim('/').str() +
                        ".new-" + std::to_string(getpid());
  ::dist::tools::watchInterrupts("dist-opt", [package] {
    for (const std::string &folder : {package, getKernelCheckFolder()}) {
      std::string gone = folder + ".gone";
      if (std::rename(folder.c_str(), gone.c_str()) == 0)
        ::dist::removeAll(gone);
    }
  });
  ::dist::tools::setActivity("compiling the model");
  if (options.printStrategies || options.printOps || options.printCluster)
    return printTables(options, registry);
  if (failed(checkOptions(options)))
    return 2;
  Machine machine;
  if (Status read = machine.read(options); !read.ok())
    return reportError(read);
  if (!options.diff.empty())
    return reportDiff(arguments, options, registry, machine);
  if (options.strategies.front().name == "auto")
    if (int code = chooseStrategy(options, registry, machine))
      return code;
  return Compilation(options, registry, machine).run();
}

int mlir::dist::runDriver(const std::vector<std::string> &words,
                          const DialectRegistry &registry) {
  int code = run(words, registry);
  ::dist::tools::waitIfEnding();
  // What else is on stdout are reports (see Compilation::print).
  llvm::outs().flush();
  if (llvm::outs().error() == std::errc::broken_pipe &&
      ::dist::tools::endsWithReader())
    ::dist::tools::endWithReader();
  return code;
}
