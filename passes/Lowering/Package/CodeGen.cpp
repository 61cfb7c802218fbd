//===- CodeGen.cpp - Objects and a shared library -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Package/CodeGen.h"
#include "passes/Lowering/Package/FileError.h"
#include "passes/Lowering/Package/TargetCpu.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <atomic>
#include <thread>

using namespace mlir;
using namespace mlir::dist;

namespace {

struct Part {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::string path;
  /// False: straight-line code that calls what takes the time.
  bool optimize = true;
  std::string error;
  bool cannotWrite = false;
};

} // namespace

/// Runs the optimiser's passes on a part.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = true;
  tuning.LoopUnrolling = tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

/// Makes a part's object; runs on a thread of its own.
static void compilePart(Part &part, const TargetCpu &target) {
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, part.error);
  if (!backend)
    return;
  llvm::TargetOptions targetOptions;
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      triple, target.name, target.features, targetOptions, llvm::Reloc::PIC_,
      std::nullopt,
      part.optimize ? llvm::CodeGenOptLevel::Aggressive
                    : llvm::CodeGenOptLevel::None));
  llvm::Module &module = *part.module;
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.name);
    function.addFnAttr("target-features", target.features);
    // Measured: 512 bits are worth a third on loops with exp, and never lose.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  if (part.optimize)
    optimize(module, *machine);
  std::error_code code;
  llvm::raw_fd_ostream stream(part.path, code, llvm::sys::fs::OF_None);
  if (code) {
    part.error = "cannot write " + part.path + ": " + code.message();
    part.cannotWrite = true;
    return;
  }
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile)) {
    part.error = "the target writes no objects";
    return;
  }
  codegen.run(module);
  stream.flush();
  if (stream.has_error()) {
    part.error = "cannot write " + part.path + ": " + stream.error().message();
    part.cannotWrite = true;
    stream.clear_error();
  }
}

namespace {
/// A function with a body, or a global.
struct Definition {
  SmallVector<LLVM::LLVMFuncOp> used;
  unsigned home = 0; // the module that it goes to
};
/// In the module's order.
using Definitions = llvm::MapVector<Operation *, Definition>;
} // namespace

/// One walk over the module, for what decides on homes and for declarations.
static Definitions findDefinitions(ModuleOp module) {
  SymbolTable symbols(module);
  Definitions definitions;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function ? function.isExternal() : !isa<LLVM::GlobalOp>(op))
      continue;
    Definition &definition = definitions[&op];
    auto uses = SymbolTable::getSymbolUses(&op);
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses)
      if (auto used = dyn_cast_or_null<LLVM::LLVMFuncOp>(
              symbols.lookup(use.getSymbolRef().getRootReference())))
        definition.used.push_back(used);
  }
  return definitions;
}

/// Programs and globals stay in the first module; a kernel (internal) goes to
/// one of `count` others, and its wrapper with it.
static void chooseHomes(Definitions &definitions, unsigned count) {
  unsigned next = 0;
  for (auto &[op, definition] : definitions)
    if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
      if (function.getLinkage() == LLVM::Linkage::Internal)
        definition.home = 1 + next++ % count;
  for (auto &[op, definition] : definitions) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!function || function.getLinkage() == LLVM::Linkage::Internal ||
        function.getVisibility_() != LLVM::Visibility::Protected)
      continue;
    for (LLVM::LLVMFuncOp used : definition.used)
      if (used.getLinkage() == LLVM::Linkage::Internal)
        definition.home = definitions.find(used)->second.home;
  }
}

/// Programs and globals, then kernels spread over `count` modules; each
/// declares what it uses of the others.
static std::vector<OwningOpRef<ModuleOp>> split(ModuleOp module,
                                                unsigned count) {
  Definitions definitions = findDefinitions(module);
  chooseHomes(definitions, count);
  std::vector<OwningOpRef<ModuleOp>> parts;
  for (unsigned i = 0; i <= count; ++i)
    parts.push_back(ModuleOp::create(module.getLoc()));
  OpBuilder builder(module.getContext());
  for (auto &[op, definition] : definitions) {
    builder.setInsertionPointToEnd(parts[definition.home]->getBody());
    builder.clone(*op);
  }
  llvm::DenseSet<std::pair<unsigned, Operation *>> declared;
  for (auto &[op, definition] : definitions)
    for (LLVM::LLVMFuncOp used : definition.used) {
      auto it = definitions.find(used);
      if ((it != definitions.end() && it->second.home == definition.home) ||
          !declared.insert({definition.home, used}).second)
        continue;
      builder.setInsertionPointToEnd(parts[definition.home]->getBody());
      auto declaration = LLVM::LLVMFuncOp::create(
          builder, used.getLoc(), used.getSymName(), used.getFunctionType());
      declaration.setVisibility_(used.getVisibility_());
    }
  return parts;
}

static std::string findLinker() {
  for (StringRef name :
       {StringRef(DIST_LINKER), StringRef("ld.lld"), StringRef("ld.lld-22")}) {
    if (name.empty())
      continue;
    if (llvm::sys::path::is_absolute(name)) {
      if (llvm::sys::fs::can_execute(name))
        return name.str();
    } else if (auto path = llvm::sys::findProgramByName(name)) {
      return *path;
    }
  }
  return "";
}

static LogicalResult link(ModuleOp module, ArrayRef<Part> parts,
                          StringRef path) {
  std::string linker = findLinker();
  if (linker.empty())
    return module.emitError("no linker (ld.lld): install the package lld-22");
  SmallVector<StringRef> arguments{
      linker, "-shared", "--eh-frame-hdr", "--gc-sections", "-O1", "-o", path};
  for (const Part &part : parts)
    arguments.push_back(part.path);
  // Programs that embed the runtime may not have loaded the C library's
  // functions of mathematics.
  for (StringRef math :
       {"/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6",
        "/usr/lib64/libm.so.6"})
    if (llvm::sys::fs::exists(math)) {
      arguments.push_back("--as-needed");
      arguments.push_back(math);
      break;
    }
  // What it says is told in one line; where a signal ends it, it says more.
  std::string error, words = (path + ".stderr").str();
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(""),
                                          StringRef(words)};
  int code = llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt,
                                       redirects, 0, 0, &error);
  if (code != 0 && error.empty())
    if (auto text = llvm::MemoryBuffer::getFile(words, /*IsText=*/true))
      error =
          (*text)->getBuffer().split("error: ").second.split('\n').first.str();
  (void)llvm::sys::fs::remove(words);
  if (code != 0)
    return emitFileError(module, "the linker failed (")
           << linker << ")" << (error.empty() ? "" : ": " + error)
           << "; check the space on the disk";
  return success();
}

LogicalResult mlir::dist::generateSharedObject(ModuleOp module,
                                               const LoweringOptions &options,
                                               StringRef path) {
  static const bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  std::string why;
  std::optional<TargetCpu> target = findTargetCpu(options.cpu, &why);
  if (!target)
    return module.emitError("cannot generate code for '")
           << options.cpu << "': " << why;
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  unsigned jobs =
      options.jobs > 0 ? options.jobs : std::thread::hardware_concurrency();
  jobs = std::max(1u, jobs);
  // More parts than jobs: kernels differ much in size.
  std::vector<OwningOpRef<ModuleOp>> modules =
      split(module, jobs == 1 ? 1 : 4 * jobs);
  std::vector<Part> parts;
  for (auto [i, piece] : llvm::enumerate(modules)) {
    if (piece->getBody()->empty())
      continue;
    Part part;
    part.context = std::make_unique<llvm::LLVMContext>();
    part.module = translateModuleToLLVMIR(*piece, *part.context);
    if (!part.module)
      return module.emitError("a kernel cannot be translated to LLVM IR");
    part.path = (path + "." + Twine(i) + ".o").str();
    // Programs are as long as the model times its microbatches. Optimising
    // them gains nothing, and takes more than their length: the vectorizer
    // looks at all their stores, the register allocator at all their pointers.
    part.optimize = i > 0;
    parts.push_back(std::move(part));
  }
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < parts.size();)
      compilePart(parts[i], *target);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < jobs; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  LogicalResult result = success();
  for (Part &part : parts)
    if (!part.error.empty()) {
      result = part.cannotWrite ? emitFileError(module, part.error)
                                : module.emitError(part.error);
      break;
    }
  if (succeeded(result))
    result = link(module, parts, path);
  for (Part &part : parts)
    (void)llvm::sys::fs::remove(part.path);
  return result;
}
