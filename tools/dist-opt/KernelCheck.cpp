//===- KernelCheck.cpp - Compiled kernels against the evaluator -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler has no runtime inside: it writes a package with an entry for
// each kernel, and dist-run runs them, on the threads and by the library calls
// of a session. The program itself is run entry by entry as well.
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/KernelCheck.h"
#include "passes/Lowering/Check/KernelProbes.h"
#include "passes/Lowering/Check/KernelReference.h"
#include "tools/dist-opt/EntryCheck.h"
#include "tools/dist-opt/Replay.h"
#include "tools/dist-opt/Reports.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::StatusCode;

namespace {
/// What is found of the kernels of one program.
struct ProgramCheck {
  int64_t compared = 0;
  double largest = 0;
  const KernelProbe *at = nullptr;
  const KernelProbe *firstProbe = nullptr;
  KernelDifference first;
};

/// All kernels of one lowering of the program.
class KernelChecker {
public:
  KernelChecker(ModuleOp global, ModuleOp local, ModuleOp few,
                const LoweringOptions &options, StringRef folder)
      : global(global), local(local), options(options), folder(folder),
        entries(local, few, options, folder.str()) {}

  /// Fails after an error was emitted, or with a status.
  LogicalResult run(uint64_t seed);
  const Status &getStatus() const { return status; }
  std::string format() const;
  void formatEntries(llvm::raw_ostream &os) const;
  bool isEqual() const {
    return llvm::none_of(checks,
                         [](auto &check) { return check.second.firstProbe; }) &&
           llvm::all_of(entries.getFound(),
                        [](auto &found) { return found.first.empty(); });
  }

private:
  LogicalResult compile();
  LogicalResult add(KernelCase test);
  /// Runs the cases that wait, and compares.
  LogicalResult flush();
  LogicalResult compare(const KernelCase &test,
                        const ::dist::SafetensorsFile &results);
  LogicalResult fail(Status error) {
    status = std::move(error);
    return failure();
  }

  ModuleOp global, local;
  LoweringOptions options;
  std::string folder;
  OwningOpRef<ModuleOp> kernels;
  KernelProbes probes;
  std::vector<KernelCase> waiting;
  int64_t waitingBytes = 0;
  llvm::MapVector<std::string, ProgramCheck, std::map<std::string, unsigned>>
      checks;
  EntryChecker entries;
  Status status;
};
} // namespace

/// Of the files that cases are in: a large model's do not fit into one.
static constexpr int64_t kMostBytes = 256 << 20;

static std::string nameOf(const KernelProbe &probe) {
  return func::FuncOp(probe.function).getSymName().str();
}

LogicalResult KernelChecker::compile() {
  kernels = OwningOpRef<ModuleOp>(local.clone());
  PassManager pm(kernels->getContext(), ModuleOp::getOperationName());
  buildKernelsPipeline(pm, options);
  if (failed(pm.run(*kernels)))
    return failure();
  probes = makeKernelProbes(*kernels, options.threads);
  // One device runs one kernel at a time, whatever the strategy.
  LoweringOptions lowering = options;
  lowering.metadata = ::dist::manifest::Manifest();
  lowering.metadata.set_model_name("kernels");
  lowering.metadata.set_ranks(1);
  lowering.metadata.set_producer(options.metadata.producer());
  lowering.readPeers = false;
  OwningOpRef<ModuleOp> programs(probes.module->clone());
  if (failed(lowerToPackage(*programs, lowering, folder + "/package")))
    return failure();
  return entries.compile();
}

LogicalResult KernelChecker::add(KernelCase test) {
  for (const auto *list : {&test.inputs, &test.expected})
    for (const HostTensor &tensor : *list)
      waitingBytes += getByteSize(tensor.getType());
  waiting.push_back(std::move(test));
  return waitingBytes > kMostBytes ? flush() : success();
}

LogicalResult KernelChecker::flush() {
  if (waiting.empty())
    return success();
  std::string cases = folder + "/cases.safetensors";
  {
    ReplayFile file(cases);
    for (const KernelCase &test : waiting) {
      std::string name = nameOf(*test.probe);
      file.addEntry(name);
      for (auto [i, input] : llvm::enumerate(test.inputs))
        file.add(name + "/" + std::to_string(i), input);
    }
    if (Status written = file.finish(); !written.ok())
      return fail(written);
  }
  std::unique_ptr<::dist::SafetensorsFile> file;
  if (Status read = replay(folder + "/package", cases, folder, &file);
      !read.ok())
    return fail(read);
  for (const KernelCase &test : waiting)
    if (failed(compare(test, *file)))
      return failure();
  waiting.clear();
  waitingBytes = 0;
  return success();
}

LogicalResult KernelChecker::compare(const KernelCase &test,
                                     const ::dist::SafetensorsFile &results) {
  const KernelProbe &probe = *test.probe;
  SmallVector<HostTensor> actual;
  for (auto [i, expected] : llvm::enumerate(test.expected)) {
    HostTensor &tensor = actual.emplace_back(expected.getType());
    if (Status read =
            readResult(results, nameOf(probe) + "/" + std::to_string(i),
                       expected.getType(), &tensor);
        !read.ok())
      return fail(read);
  }
  FailureOr<KernelDifference> difference = compareKernel(test, actual);
  if (failed(difference))
    return failure();
  ProgramCheck &check = checks[probe.program];
  ++check.compared;
  if (difference->largest > check.largest) {
    check.largest = difference->largest;
    check.at = &probe;
  }
  if (!difference->isAllowed && !check.firstProbe) {
    check.firstProbe = &probe;
    check.first = *difference;
  }
  return success();
}

LogicalResult KernelChecker::run(uint64_t seed) {
  if (failed(compile()))
    return failure();
  auto visit = [&](KernelCase test) { return add(std::move(test)); };
  auto visitEntry = [&](const EntryPrograms &programs, EntryCase test) {
    if (succeeded(entries.run(programs, test)))
      return success();
    return entries.getStatus().ok() ? failure() : fail(entries.getStatus());
  };
  if (failed(
          evaluateKernels(global, *kernels, probes, seed, visit, visitEntry)))
    return failure();
  return flush();
}

static std::string describe(const KernelProbe &probe) {
  std::string text = "kernel " + std::to_string(probe.number) + " (" +
                     probe.work + "; " + probe.implementation + ")";
  return probe.nodes.empty() ? text : text + " of " + probe.nodes;
}

/// "element [0, 1] is 2, but 3 by the evaluator (relative difference 3e-01)".
static void printElement(llvm::raw_ostream &os, ArrayRef<int64_t> index,
                         double actual, double expected, double relative) {
  os << "element [";
  llvm::interleaveComma(index, os);
  os << "] is " << llvm::format("%.9g", actual) << ", but "
     << llvm::format("%.9g", expected)
     << " by the evaluator (relative difference "
     << llvm::formatv("{0:e2}", relative) << ")";
}

void KernelChecker::formatEntries(llvm::raw_ostream &os) const {
  for (const EntryChecker::Found &found : entries.getFound()) {
    os << "@" << found.entry << " as a whole: " << found.compared
       << " results compared, largest difference "
       << llvm::formatv("{0:e2}", found.largest);
    if (!found.at.empty())
      os << " at " << found.at;
    os << "\n";
    if (found.first.empty())
      continue;
    os << "  " << found.first << " diverges: ";
    printElement(os, found.index, found.actual, found.expected,
                 found.difference);
    const KernelProbe *probe = nullptr;
    for (const auto &[program, check] : checks)
      if (!probe && llvm::is_contained(found.programs, program))
        probe = check.firstProbe;
    if (probe)
      os << "; the first kernel of it that does is " << describe(*probe);
    else
      os << ", though each kernel agrees: the memory plan or the collectives "
            "are wrong";
    os << "\n";
  }
}

std::string KernelChecker::format() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "at " << options.threads
     << (options.threads == 1 ? " thread:\n" : " threads:\n");
  for (const auto &[program, check] : checks) {
    os << "@" << program << ": " << check.compared
       << " kernels compared, largest difference "
       << llvm::formatv("{0:e2}", check.largest);
    if (check.at)
      os << " at " << describe(*check.at);
    os << "\n";
    if (!check.firstProbe)
      continue;
    const KernelDifference &first = check.first;
    os << "  diverges first at " << describe(*check.firstProbe) << ": ";
    if (check.firstProbe->results.size() > 1)
      os << "result " << first.result << ", ";
    printElement(os, first.index, first.actual, first.expected, first.largest);
    os << "\n";
  }
  formatEntries(os);
  return text;
}

std::string mlir::dist::getKernelCheckFolder() {
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  llvm::sys::path::append(
      folder,
      "dist-check-" + std::to_string(llvm::sys::Process::getProcessId()));
  return folder.str().str();
}

int mlir::dist::reportKernelCheck(ModuleOp global, ModuleOp local, ModuleOp few,
                                  const ::dist::tools::Options &options,
                                  ArrayRef<LoweringOptions> runs) {
  registerKernelReferences(*global.getContext());
  std::string folder = getKernelCheckFolder();
  if (std::error_code code = llvm::sys::fs::create_directory(
          folder, /*IgnoreExisting=*/false, llvm::sys::fs::owner_all))
    return reportError(Status::error(StatusCode::Unavailable,
                                     "cannot make a temporary folder", folder,
                                     code.message(), "give another TMPDIR"));
  llvm::scope_exit clean(
      [&] { (void)llvm::sys::fs::remove_directories(folder); });
  bool isEqual = true;
  for (const LoweringOptions &run : runs) {
    KernelChecker checker(global, local, few, run, folder);
    if (failed(checker.run(options.seed)))
      return checker.getStatus().ok() ? 1 : reportError(checker.getStatus());
    (options.explain.empty() || options.explain == "table" ? llvm::outs()
                                                           : llvm::errs())
        << checker.format();
    isEqual &= checker.isEqual();
  }
  return isEqual ? 0 : 1;
}
