//===- RtToLLVM.cpp - Programs become functions -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs when kernels are LLVM functions of bare pointers already: a program is
// straight-line code that fills an array of pointers before each call. What
// programs repeat elsewhere in memory is a function of its own: ProgramParts.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Dist.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Program/ProgramParts.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SetVector.h"
#include "runtime/abi/abi.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_RTTOLLVMPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {

struct EntryPoint {
  StringRef name;
  StringRef signature;
};

constexpr llvm::StringLiteral tableName = "dist_rt_table";
constexpr llvm::StringLiteral initName = "dist_program_init";

class Lowering {
public:
  Lowering(ModuleOp module, LibraryTable &libraries)
      : module(module), libraries(libraries), b(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i32(b.getI32Type()), i64(b.getI64Type()) {}

  LogicalResult run();

private:
  LogicalResult emitWrapper(LLVM::LLVMFuncOp kernel);
  LogicalResult emitProgram(rt::ProgramOp program);
  LogicalResult emitOp(Operation &op);
  bool emitCall(Operation &op, ValueRange buffers);
  void emitPart(const ProgramPart &part);
  void callPart(const ProgramPart &part);
  void beginFunction(Location loc, StringRef name, ArrayRef<Type> arguments,
                     size_t mostBuffers);
  void endFunction(Location loc);
  /// Where the buffer's arena begins.
  Value getArena(Value buffer) const {
    return arenas[int(cast<rt::BufferType>(buffer.getType()).getSpace())];
  }
  Value loadBinding(Location loc, int64_t index);
  void checkStatus(Location loc, Value status);
  LLVM::GlobalOp createConstant(Location loc, StringRef name,
                                ArrayRef<int64_t> words);
  void emitInit();
  void callRuntime(Location loc, StringRef name, ValueRange arguments);
  Value addCollective(Location loc, ArrayRef<int64_t> words);
  void emitCollectives(Location loc);
  Value fillArray(Location loc, ValueRange pointers);
  SmallVector<Value> getAddresses(ValueRange buffers) const {
    return llvm::map_to_vector(
        buffers, [&](Value buffer) { return addresses.lookup(buffer); });
  }
  Value offset(Location loc, Value base, int64_t bytes);
  Value constant(Location loc, Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, loc, type,
                                    b.getIntegerAttr(type, value));
  }

  ModuleOp module;
  LibraryTable &libraries;
  OpBuilder b;
  Type pointer, i32, i64;
  llvm::DenseMap<Value, Value> addresses;
  /// The function that is being written.
  LLVM::LLVMFuncOp function;
  /// By memory.
  std::array<Value, DIST_RT_MEMORIES> arenas;
  Value array;
  Block *fail = nullptr;
  /// Of the program that is being written: how many there are, the words of
  /// their list, and of each transfer that was started its place there.
  int64_t numCollectives = 0;
  SmallVector<int64_t> collectives;
  llvm::DenseMap<int64_t, int64_t> starts;
  std::optional<ProgramParts> parts;
  /// Of the program's parts, one after another.
  SmallVector<int64_t> partOffsets;
};

} // namespace

static ArrayRef<EntryPoint> getEntryPoints() {
  static const EntryPoint entryPoints[] = {
#define DIST_RT_FUNCTION(result, name, arguments, signature) {#name, signature},
#include "runtime/abi/entrypoints.def"
#undef DIST_RT_FUNCTION
  };
  return entryPoints;
}

static_assert(int(rt::CollectiveKind::AllReduce) == DIST_RT_ALL_REDUCE &&
                  int(rt::CollectiveKind::AllGather) == DIST_RT_ALL_GATHER &&
                  int(rt::CollectiveKind::AllSlice) == DIST_RT_ALL_SLICE &&
                  int(rt::CollectiveKind::ReduceScatter) ==
                      DIST_RT_REDUCE_SCATTER &&
                  int(rt::CollectiveKind::AllToAll) == DIST_RT_ALL_TO_ALL &&
                  int(rt::CollectiveKind::Permute) == DIST_RT_PERMUTE &&
                  int(rt::CollectiveKind::Broadcast) == DIST_RT_BROADCAST &&
                  int(rt::CollectiveKind::Send) == DIST_RT_SEND &&
                  int(rt::CollectiveKind::Recv) == DIST_RT_RECV &&
                  int(rt::CollectiveKind::Reduce) == DIST_RT_REDUCE &&
                  int(rt::CollectiveKind::Barrier) == DIST_RT_BARRIER,
              "the rt dialect's kinds are the ABI's");
static_assert(int(rt::MemorySpace::Device) == DIST_RT_DEVICE_MEMORY &&
                  int(rt::MemorySpace::Host) == DIST_RT_HOST_MEMORY &&
                  rt::getMaxEnumValForMemorySpace() + 1 == DIST_RT_MEMORIES,
              "the rt dialect's memories are the ABI's");
static_assert(int(Reduction::Sum) == DIST_RT_SUM &&
                  int(Reduction::Max) == DIST_RT_MAX &&
                  int(Reduction::Min) == DIST_RT_MIN &&
                  int(Reduction::Product) == DIST_RT_PRODUCT,
              "reductions are the ABI's");
static_assert(int(AllReduceAlgorithm::Auto) == DIST_RT_ALGORITHM_AUTO &&
                  int(AllReduceAlgorithm::Ring) == DIST_RT_ALGORITHM_RING &&
                  int(AllReduceAlgorithm::ReduceToOne) ==
                      DIST_RT_ALGORITHM_REDUCE_TO_ONE &&
                  int(AllReduceAlgorithm::Exchange) ==
                      DIST_RT_ALGORITHM_EXCHANGE &&
                  int(AllReduceAlgorithm::Gather) == DIST_RT_ALGORITHM_GATHER &&
                  int(AllReduceAlgorithm::Parts) == DIST_RT_ALGORITHM_PARTS &&
                  int(AllReduceAlgorithm::HalvingDoubling) ==
                      DIST_RT_ALGORITHM_HALVING_DOUBLING,
              "the dist dialect's algorithms are the ABI's");

/// Behind the words of a dist_rt_collective.
static void appendLists(SmallVector<int64_t> &words, ArrayRef<int64_t> axes,
                        ArrayRef<int64_t> sources, ArrayAttr pieces) {
  llvm::append_values(words, int64_t(axes.size()), int64_t(sources.size()),
                      int64_t(pieces.size()));
  assert(words.size() * sizeof(int64_t) == sizeof(dist_rt_collective));
  llvm::append_range(words, axes);
  llvm::append_range(words, sources);
  for (auto piece : pieces.getAsRange<rt::PieceAttr>()) {
    size_t start = words.size();
    words.push_back(getDataType(piece.getElementType()));
    llvm::append_range(words, piece.getBlocks());
    llvm::append_range(words, piece.getFrom());
    llvm::append_range(words, piece.getTo());
    assert((words.size() - start) * sizeof(int64_t) == sizeof(dist_rt_piece));
    (void)start;
  }
}

/// The words of the op's dist_rt_collective, and of what lies behind it.
static SmallVector<int64_t> getCollectiveWords(rt::CollectiveOp op) {
  bool gives = !op.getFrom().empty(), takes = !op.getTo().empty();
  int64_t ends = gives == takes ? DIST_RT_GIVES_AND_TAKES
                 : gives        ? DIST_RT_GIVES
                                : DIST_RT_TAKES;
  SmallVector<int64_t> words{static_cast<int64_t>(op.getKind()),
                             static_cast<int64_t>(op.getOp()),
                             ends,
                             static_cast<int64_t>(op.getReduction()),
                             static_cast<int64_t>(op.getAlgorithm()),
                             static_cast<int64_t>(op.getPeer()),
                             static_cast<int64_t>(op.getTag())};
  appendLists(words, op.getAxes(), op.getSources(), op.getPieces());
  return words;
}
static SmallVector<int64_t> getCollectiveWords(rt::PublishOp op) {
  SmallVector<int64_t> words{static_cast<int64_t>(op.getKind()),
                             static_cast<int64_t>(op.getOp()),
                             DIST_RT_GIVES,
                             DIST_RT_SUM,
                             DIST_RT_ALGORITHM_AUTO,
                             /*peer=*/0,
                             /*tag=*/0};
  appendLists(words, op.getAxes(), {}, op.getPieces());
  return words;
}

static std::string getWrapperName(StringRef kernel) {
  return (kernel + "_entry").str();
}

Value Lowering::offset(Location loc, Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base,
                             ValueRange{constant(loc, i64, bytes)});
}

/// `void (ptr buffers, i64 lo, i64 hi, i64 chunk)`, as the runtime wants it.
LogicalResult Lowering::emitWrapper(LLVM::LLVMFuncOp kernel) {
  Location loc = kernel.getLoc();
  kernel.setLinkage(LLVM::Linkage::Internal);
  // Its pointers' noalias would be lost by inlining.
  kernel->setAttr("no_inline", b.getUnitAttr());
  b.setInsertionPointAfter(kernel);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64, i64});
  auto wrapper = LLVM::LLVMFuncOp::create(
      b, loc, getWrapperName(kernel.getSymName()), type);
  // Traces find its name by its address. Protected: another library's symbol of
  // that name would take its place otherwise.
  wrapper.setVisibility_(LLVM::Visibility::Protected);
  Block *entry = wrapper.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  unsigned numBuffers = kernel.getNumArguments() - 3;
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < numBuffers; ++i)
    arguments.push_back(LLVM::LoadOp::create(
        b, loc, pointer, offset(loc, entry->getArgument(0), 8 * i)));
  for (unsigned i = 1; i < 4; ++i)
    arguments.push_back(entry->getArgument(i));
  LLVM::CallOp::create(b, loc, kernel, arguments);
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return success();
}

void Lowering::emitInit() {
  Location loc = module.getLoc();
  b.setInsertionPointToEnd(module.getBody());
  auto table =
      LLVM::GlobalOp::create(b, loc, pointer, /*isConstant=*/false,
                             LLVM::Linkage::Internal, tableName, Attribute());
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&table.getInitializerRegion());
    Value null = LLVM::ZeroOp::create(b, loc, pointer);
    LLVM::ReturnOp::create(b, loc, null);
  }
  auto init = LLVM::LLVMFuncOp::create(
      b, loc, initName, LLVM::LLVMFunctionType::get(i32, {pointer}));
  Block *entry = init.addEntryBlock(b);
  auto *good = new Block, *bad = new Block;
  init.getBody().push_back(good);
  init.getBody().push_back(bad);
  b.setInsertionPointToStart(entry);
  Value api = entry->getArgument(0);
  Value version = LLVM::LoadOp::create(b, loc, i32, api);
  Value fits = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, version,
                                    constant(loc, i32, DIST_RT_ABI_VERSION));
  LLVM::CondBrOp::create(b, loc, fits, good, bad);
  b.setInsertionPointToStart(good);
  Value address = LLVM::AddressOfOp::create(b, loc, table);
  LLVM::StoreOp::create(b, loc, api, address);
  LLVM::ReturnOp::create(b, loc, constant(loc, i32, 0));
  b.setInsertionPointToStart(bad);
  LLVM::ReturnOp::create(b, loc, constant(loc, i32, 1));
}

/// Calls through the table, and returns at once what is not zero.
void Lowering::callRuntime(Location loc, StringRef name, ValueRange arguments) {
  ArrayRef<EntryPoint> entryPoints = getEntryPoints();
  const auto *entryPoint = llvm::find_if(
      entryPoints, [&](const EntryPoint &e) { return e.name == name; });
  assert(entryPoint != entryPoints.end() && "not in entrypoints.def");
  auto typeOf = [&](char letter) -> Type {
    switch (letter) {
    case 'i':
      return i32;
    case 'l':
      return i64;
    case 'p':
      return pointer;
    default:
      return LLVM::LLVMVoidType::get(b.getContext());
    }
  };
  SmallVector<Type> types;
  for (char letter : entryPoint->signature.drop_front())
    types.push_back(typeOf(letter));
  auto type =
      LLVM::LLVMFunctionType::get(typeOf(entryPoint->signature[0]), types);
  Value global = LLVM::AddressOfOp::create(b, loc, pointer, tableName);
  Value table = LLVM::LoadOp::create(b, loc, pointer, global);
  int64_t slot = offsetof(dist_rt_api, struct_size) + sizeof(uint32_t) +
                 sizeof(void *) * (entryPoint - entryPoints.begin());
  Value callee =
      LLVM::LoadOp::create(b, loc, pointer, offset(loc, table, slot));
  SmallVector<Value> operands{callee};
  llvm::append_range(operands, arguments);
  checkStatus(
      loc,
      LLVM::CallOp::create(b, loc, type, ValueRange(operands)).getResult());
}

/// Returns at once what is not zero.
void Lowering::checkStatus(Location loc, Value status) {
  Value bad = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, status,
                                   constant(loc, i32, 0));
  Block *next = b.getInsertionBlock()->splitBlock(b.getInsertionPoint());
  b.setInsertionPointToEnd(next->getPrevNode());
  LLVM::CondBrOp::create(b, loc, bad, fail, ValueRange{status}, next,
                         ValueRange{});
  b.setInsertionPointToEnd(next);
}

Value Lowering::fillArray(Location loc, ValueRange pointers) {
  for (auto [i, value] : llvm::enumerate(pointers))
    LLVM::StoreOp::create(b, loc, value, offset(loc, array, 8 * i));
  return array;
}

LLVM::GlobalOp Lowering::createConstant(Location loc, StringRef name,
                                        ArrayRef<int64_t> words) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  return LLVM::GlobalOp::create(
      b, loc, LLVM::LLVMArrayType::get(i64, words.size()),
      /*isConstant=*/true, LLVM::Linkage::Internal, name,
      b.getI64TensorAttr(words), /*alignment=*/8);
}

/// The place of a dist_rt_collective in the program's list.
Value Lowering::addCollective(Location loc, ArrayRef<int64_t> words) {
  llvm::append_range(collectives, words);
  return constant(loc, i32, numCollectives++);
}

/// The list, which the runtime finds by its name.
void Lowering::emitCollectives(Location loc) {
  if (numCollectives == 0)
    return;
  collectives.insert(collectives.begin(), collectives.size() + 1);
  LLVM::GlobalOp list = createConstant(
      loc, (function.getSymName() + DIST_RT_COLLECTIVES_SUFFIX).str(),
      collectives);
  list.setLinkage(LLVM::Linkage::External);
  // Another library's symbol of that name would take its place otherwise.
  list.setVisibility_(LLVM::Visibility::Protected);
}

Value Lowering::loadBinding(Location loc, int64_t index) {
  return LLVM::LoadOp::create(b, loc, pointer,
                              offset(loc, function.getArgument(2), 8 * index));
}

/// A kernel or a copy of these pointers; false if the op is something else.
bool Lowering::emitCall(Operation &op, ValueRange buffers) {
  Location loc = op.getLoc();
  Value context = function.getArgument(0);
  if (auto launch = dyn_cast<rt::LaunchOp>(op)) {
    fillArray(loc, buffers);
    std::string name = getWrapperName(launch.getKernel());
    Value rows = constant(loc, i64, launch.getRows());
    Value kernel = LLVM::AddressOfOp::create(b, loc, pointer, name);
    callRuntime(loc, "launch",
                {context, kernel, array, constant(loc, i32, buffers.size()),
                 rows, constant(loc, i32, launch.getChunks())});
    return true;
  }
  if (auto call = dyn_cast<rt::LibraryCallOp>(op)) {
    fillArray(loc, buffers);
    callRuntime(loc, "library",
                {context,
                 constant(loc, i32, libraries.getIndex(call.getKernel())),
                 array});
    return true;
  }
  if (auto copy = dyn_cast<rt::CopyOp>(op)) {
    callRuntime(loc, "copy",
                {context, /*to=*/buffers[1], /*from=*/buffers[0],
                 constant(loc, i64, copy.getBytes())});
    return true;
  }
  return false;
}

LogicalResult Lowering::emitOp(Operation &op) {
  Location loc = op.getLoc();
  Value context = function.getArgument(0);
  if (emitCall(op, getAddresses(op.getOperands())))
    return success();
  if (auto arena = dyn_cast<rt::ArenaOp>(op)) {
    addresses[arena.getBuffer()] =
        offset(loc, getArena(arena.getBuffer()), arena.getOffset());
    return success();
  }
  if (auto binding = dyn_cast<rt::BindingOp>(op)) {
    addresses[binding.getBuffer()] =
        offset(loc, loadBinding(loc, binding.getIndex()), binding.getOffset());
    return success();
  }
  if (auto collective = dyn_cast<rt::CollectiveOp>(op)) {
    SmallVector<Value> buffers(collective.getFrom());
    llvm::append_range(buffers, collective.getTo());
    fillArray(loc, getAddresses(buffers));
    if (collective.getStart())
      starts[collective.getOp()] = numCollectives;
    Value number = addCollective(loc, getCollectiveWords(collective));
    callRuntime(loc, collective.getStart() ? "collective_start" : "collective",
                {context, number, array});
    return success();
  }
  if (auto publish = dyn_cast<rt::PublishOp>(op)) {
    fillArray(loc, getAddresses(publish.getInputs()));
    Value number = addCollective(loc, getCollectiveWords(publish));
    callRuntime(loc, "publish", {context, number, array});
    int64_t next = publish.getInputs().size();
    for (Value output : publish.getOutputs())
      addresses[output] =
          LLVM::LoadOp::create(b, loc, pointer, offset(loc, array, 8 * next++));
    return success();
  }
  if (auto wait = dyn_cast<rt::WaitOp>(op)) {
    auto start = starts.find(wait.getOp());
    if (start == starts.end())
      return op.emitOpError("waits for transfer ")
             << wait.getOp() << ", which nothing before it starts";
    callRuntime(loc, "collective_wait",
                {context, constant(loc, i32, start->second)});
    return success();
  }
  return op.emitOpError("is no op of a program");
}

static std::string getPartName(const ProgramPart &part) {
  return "dist_part_" + std::to_string(part.code);
}

static std::string getOffsetsName(LLVM::LLVMFuncOp program) {
  return (program.getSymName() + "_offsets").str();
}

/// `i32 (ptr context, ptr arenas, ptr bindings, ptr offsets)`.
void Lowering::emitPart(const ProgramPart &part) {
  Location loc = part.calls.front()->getLoc();
  size_t most = 1;
  for (Operation *call : part.calls)
    most = std::max<size_t>(most, call->getNumOperands());
  b.setInsertionPointToEnd(module.getBody());
  beginFunction(loc, getPartName(part), {pointer, pointer, pointer, pointer},
                most);
  // Only programs call it.
  function.setVisibility_(LLVM::Visibility::Hidden);
  int64_t next = 0;
  for (Operation *call : part.calls) {
    SmallVector<Value> pointers;
    for (Value buffer : call->getOperands()) {
      auto binding = buffer.getDefiningOp<rt::BindingOp>();
      Value start =
          binding ? loadBinding(loc, binding.getIndex()) : getArena(buffer);
      Value bytes = LLVM::LoadOp::create(
          b, loc, i64, offset(loc, function.getArgument(3), 8 * next++));
      pointers.push_back(LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(),
                                             start, ValueRange{bytes}));
    }
    emitCall(*call, pointers);
  }
  endFunction(loc);
}

/// The part's calls, in the program that is being written.
void Lowering::callPart(const ProgramPart &part) {
  Location loc = part.calls.front()->getLoc();
  Value table =
      LLVM::AddressOfOp::create(b, loc, pointer, getOffsetsName(function));
  Value list = offset(loc, table, 8 * partOffsets.size());
  llvm::append_range(partOffsets, part.offsets);
  auto arguments = llvm::to_vector_of<Value>(function.getArguments());
  arguments.push_back(list);
  checkStatus(loc, LLVM::CallOp::create(b, loc, TypeRange{i32},
                                        getPartName(part), arguments)
                       .getResult());
}

void Lowering::beginFunction(Location loc, StringRef name,
                             ArrayRef<Type> arguments, size_t mostBuffers) {
  function = LLVM::LLVMFuncOp::create(
      b, loc, name, LLVM::LLVMFunctionType::get(i32, arguments));
  Block *entry = function.addEntryBlock(b);
  fail = new Block;
  fail->addArgument(i32, loc);
  addresses.clear();
  b.setInsertionPointToStart(entry);
  array = LLVM::AllocaOp::create(b, loc, pointer, pointer,
                                 constant(loc, i64, mostBuffers));
  for (auto [space, arena] : llvm::enumerate(arenas))
    arena = LLVM::LoadOp::create(
        b, loc, pointer, offset(loc, function.getArgument(1), 8 * space));
}

void Lowering::endFunction(Location loc) {
  LLVM::ReturnOp::create(b, loc, constant(loc, i32, 0));
  function.getBody().push_back(fail);
  if (fail->hasNoPredecessors()) {
    fail->erase();
  } else {
    b.setInsertionPointToStart(fail);
    LLVM::ReturnOp::create(b, loc, fail->getArgument(0));
  }
}

LogicalResult Lowering::emitProgram(rt::ProgramOp program) {
  Location loc = program.getLoc();
  b.setInsertionPointAfter(program);
  std::string name = program.getSymName().str();
  size_t most = 1;
  for (Operation &op : program.getBody().front())
    most = std::max<size_t>(most, op.getNumOperands() + op.getNumResults());
  beginFunction(loc, name, {pointer, pointer, pointer}, most);
  partOffsets.clear();
  numCollectives = 0;
  collectives.clear();
  starts.clear();
  // What is left of the part that was called.
  size_t done = 0;
  for (Operation &op : program.getBody().front()) {
    bool isCall = !isa<rt::ArenaOp, rt::BindingOp>(op);
    if (const ProgramPart *part = parts->startingAt(&op)) {
      callPart(*part);
      done = part->calls.size();
    }
    if (isCall && done > 0) {
      --done;
      continue;
    }
    if (failed(emitOp(op))) {
      delete fail;
      return failure();
    }
  }
  endFunction(loc);
  if (!partOffsets.empty())
    createConstant(loc, getOffsetsName(function), partOffsets);
  emitCollectives(loc);
  program.erase();
  function.setSymName(name);
  return success();
}

LogicalResult Lowering::run() {
  llvm::SmallSetVector<StringAttr, 32> kernels;
  module.walk([&](rt::LaunchOp op) {
    kernels.insert(op.getKernelAttr().getRootReference());
  });
  for (StringAttr name : kernels) {
    auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!kernel)
      return module.emitError("kernel ")
             << name
             << " is no LLVM function yet; run the conversions of "
                "kernels before rt-to-llvm";
    if (failed(emitWrapper(kernel)))
      return failure();
  }
  // Parts are written first, but libraries number kernels as programs call
  // them.
  module.walk(
      [&](rt::LibraryCallOp op) { libraries.getIndex(op.getKernel()); });
  parts.emplace(module);
  for (const ProgramPart *part : parts->getCodes())
    emitPart(*part);
  bool any = false;
  for (auto program :
       llvm::make_early_inc_range(module.getOps<rt::ProgramOp>())) {
    any = true;
    if (failed(emitProgram(program)))
      return failure();
  }
  if (any)
    emitInit();
  return success();
}

namespace {
struct RtToLLVMPass : mlir::dist::impl::RtToLLVMPassBase<RtToLLVMPass> {
  using Base::Base;
  void runOnOperation() override {
    // The numbers of library kernels are their order of appearance; the
    // package writer walks programs in the same order.
    LibraryTable libraries;
    if (failed(Lowering(getOperation(), libraries).run()))
      signalPassFailure();
  }
};
} // namespace
