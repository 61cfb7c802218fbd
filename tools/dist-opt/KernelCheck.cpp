//===- KernelCheck.cpp - Compiled kernels against the evaluator -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler has no runtime inside: it writes a package with an entry for
// each kernel, and dist-run runs them, on the threads and by the library calls
// of a session.
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/KernelCheck.h"
#include "passes/Lowering/Check/KernelProbes.h"
#include "passes/Lowering/Check/KernelReference.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "runtime/formats/safetensors.h"
#include "tools/dist-opt/Reports.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>

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
  KernelChecker(ModuleOp global, ModuleOp local, const LoweringOptions &options,
                StringRef folder)
      : global(global), local(local), options(options), folder(folder) {}

  /// Fails after an error was emitted, or with a status.
  LogicalResult run(uint64_t seed);
  const Status &getStatus() const { return status; }
  std::string format() const;
  bool isEqual() const {
    return llvm::none_of(checks,
                         [](auto &check) { return check.second.firstProbe; });
  }

private:
  LogicalResult compile();
  LogicalResult add(KernelCase test);
  /// Runs the cases that wait, and compares.
  LogicalResult flush();
  LogicalResult runEntries(const std::string &cases,
                           const std::string &results);
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
  lowering.shareReductions = false;
  OwningOpRef<ModuleOp> programs(probes.module->clone());
  return lowerToPackage(*programs, lowering, folder + "/package");
}

LogicalResult KernelChecker::runEntries(const std::string &cases,
                                        const std::string &results) {
  // dist-run beside this program, else the one on PATH.
  std::string self = llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&reportKernelCheck));
  llvm::SmallString<256> beside(llvm::sys::path::parent_path(self));
  llvm::sys::path::append(beside, "dist-run");
  std::string tool = beside.str().str();
  if (!llvm::sys::fs::can_execute(tool)) {
    auto found = llvm::sys::findProgramByName("dist-run");
    if (!found)
      return fail(Status::error(
          StatusCode::Unavailable, "cannot run the kernels", "--check=kernels",
          "no dist-run is beside dist-opt or on PATH", "install it there"));
    tool = *found;
  }
  std::string package = folder + "/package", words = folder + "/stderr";
  StringRef arguments[] = {tool,  "predict",  package, "--replay",
                           cases, "--output", results};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(""),
                                          StringRef(words)};
  std::string why;
  int code = llvm::sys::ExecuteAndWait(tool, arguments, std::nullopt, redirects,
                                       0, 0, &why);
  if (code == 0)
    return success();
  if (auto text = llvm::MemoryBuffer::getFile(words, /*IsText=*/true))
    if (StringRef line = (*text)->getBuffer().trim(); !line.empty())
      why = line.str();
  return fail(Status::error(
      StatusCode::Unavailable, "cannot run the kernels", "--check=kernels",
      why.empty() ? "dist-run ended with code " + std::to_string(code) : why,
      "check the machine that runs them"));
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
  std::string results = folder + "/results.safetensors";
  {
    ::dist::SafetensorsWriter writer(cases);
    std::deque<std::vector<char>> bytes;
    std::string names;
    for (const KernelCase &test : waiting) {
      std::string name = nameOf(*test.probe);
      names += (names.empty() ? "" : ",") + name;
      for (auto [i, input] : llvm::enumerate(test.inputs)) {
        RankedTensorType type = input.getType();
        bytes.push_back(input.toBytes());
        writer.add(name + "/" + std::to_string(i),
                   getDataType(type.getElementType()), type.getShape().vec(),
                   bytes.back().data());
      }
    }
    writer.setMetadata("entries", names);
    if (Status written = writer.finish(); !written.ok())
      return fail(written);
  }
  if (failed(runEntries(cases, results)))
    return failure();
  std::unique_ptr<::dist::SafetensorsFile> file;
  if (Status read = ::dist::SafetensorsFile::open(results, &file); !read.ok())
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
    std::string name = nameOf(probe) + "/" + std::to_string(i);
    const ::dist::TensorView *view = results.find(name);
    FailureOr<HostTensor> tensor = failure();
    if (view)
      tensor = HostTensor::fromBytes(
          expected.getType(),
          ArrayRef(static_cast<const char *>(view->data), view->bytes()));
    if (failed(tensor))
      return fail(Status::error(StatusCode::Internal,
                                "a kernel's result is missing", name,
                                "dist-run did not write it", ""));
    actual.push_back(*tensor);
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
  if (failed(evaluateKernels(global, *kernels, probes, seed, visit)))
    return failure();
  return flush();
}

static std::string describe(const KernelProbe &probe) {
  std::string text = "kernel " + std::to_string(probe.number) + " (" +
                     probe.work + "; " + probe.implementation + ")";
  return probe.nodes.empty() ? text : text + " of " + probe.nodes;
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
    os << "element [";
    llvm::interleaveComma(first.index, os);
    os << "] is " << llvm::formatv("{0}", first.actual) << ", but "
       << llvm::formatv("{0}", first.expected)
       << " by the evaluator (relative difference "
       << llvm::formatv("{0:e2}", first.largest) << ")\n";
  }
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

int mlir::dist::reportKernelCheck(ModuleOp global, ModuleOp local,
                                  const ::dist::tools::Options &options,
                                  ArrayRef<LoweringOptions> runs) {
  registerKernelReferences(*global.getContext());
  std::string folder = getKernelCheckFolder();
  if (std::error_code code = llvm::sys::fs::create_directory(
          folder, /*IgnoreExisting=*/false, llvm::sys::fs::owner_all))
    return reportError(Status::error(StatusCode::Unavailable,
                                     "cannot make a temporary folder", folder,
                                     code.message(), "give another TMPDIR"));
  auto clean = llvm::make_scope_exit(
      [&] { (void)llvm::sys::fs::remove_directories(folder); });
  bool isEqual = true;
  for (const LoweringOptions &run : runs) {
    KernelChecker checker(global, local, run, folder);
    if (failed(checker.run(options.seed)))
      return checker.getStatus().ok() ? 1 : reportError(checker.getStatus());
    (options.explain.empty() || options.explain == "table" ? llvm::outs()
                                                           : llvm::errs())
        << checker.format();
    isEqual &= checker.isEqual();
  }
  return isEqual ? 0 : 1;
}
