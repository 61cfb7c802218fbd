//===- Manifest.cpp - What a package says of itself -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Package/Manifest.h"
#include "passes/Lowering/Package/FileError.h"
#include "passes/Lowering/Package/TargetCpu.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Dist/IR/Portion.h"
#include "dialects/Dist/IR/Processes.h"
#include "dialects/Dist/IR/PulledRows.h"
#include "dialects/Dist/IR/ServerPart.h"
#include "dialects/Dist/IR/Stage.h"
#include "passes/Lowering/Program/Bindings.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "passes/Lowering/Memory/MemoryPlan.h"
#include "passes/Lowering/Passes.h"
#include "passes/Lowering/Memory/StateLayout.h"
#include "runtime/abi/abi.h"
#include "runtime/device/cpu/library_memory.h"
#include "runtime/formats/safetensors.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mlir::dist;
namespace manifest = ::dist::manifest;

static void setType(Type type, manifest::TensorType *out) {
  auto tensor = cast<RankedTensorType>(type);
  out->set_type(getDataType(tensor.getElementType()));
  for (int64_t size : tensor.getShape())
    out->add_shape(size);
}

static void setShardingOf(Attribute attribute, manifest::Sharding *out) {
  auto sharding = dyn_cast_or_null<ShardingAttr>(attribute);
  if (!sharding)
    return;
  for (DimShardingAttr dim : sharding.getDims()) {
    auto *entry = out->add_dims();
    for (StringAttr axis : dim.getAxes())
      entry->add_axes(axis.str());
  }
  for (StringAttr axis : sharding.getUnreduced())
    out->add_unreduced(axis.str());
}

static manifest::Binding::Role getRole(graph::Role role) {
  using manifest::Binding;
  switch (role) {
  case graph::Role::Input:
    return Binding::INPUT;
  case graph::Role::Label:
    return Binding::LABEL;
  case graph::Role::Mask:
    return Binding::MASK;
  case graph::Role::Count:
    return Binding::COUNT;
  case graph::Role::Variable:
    return Binding::VARIABLE;
  case graph::Role::Output:
    return Binding::OUTPUT;
  case graph::Role::Loss:
    return Binding::LOSS;
  case graph::Role::LearningRate:
    return Binding::LEARNING_RATE;
  case graph::Role::Prepared:
    return Binding::PREPARED;
  case graph::Role::Finite:
    return Binding::FINITE;
  case graph::Role::Gradient:
    return Binding::GRADIENT;
  case graph::Role::Metric:
    return Binding::METRIC;
  }
  llvm_unreachable("all roles are listed");
}

static std::optional<double> getFill(ElementsAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return std::nullopt;
  if (dense.getNumElements() == 0)
    return 0.0;
  if (!dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType())) {
    APFloat number = dense.getSplatValue<APFloat>();
    bool lost;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return number.convertToDouble();
  }
  APInt number = dense.getSplatValue<APInt>();
  auto integer = cast<IntegerType>(dense.getElementType());
  double result = integer.isUnsigned() || integer.getWidth() == 1
                      ? static_cast<double>(number.getZExtValue())
                      : static_cast<double>(number.getSExtValue());
  // Beyond 2^53 a double does not hold it.
  if (number.getSignificantBits() > 53 && !integer.isInteger(1))
    return std::nullopt;
  return result;
}

namespace {

class Filler {
public:
  Filler(ModuleOp module, manifest::Manifest *out)
      : module(module), mesh(findMesh(module)), out(out),
        state(layOutState(module)) {}

  LogicalResult run();

private:
  void addVariables();
  void addServers();
  void addPulledRows();
  LogicalResult compareTransfers(const Portion &portion);
  void addEntry(rt::ProgramOp program);
  void addPreparation(rt::ProgramOp program, manifest::Program *to);
  void addSlots(rt::ProgramOp program, manifest::Entry *entry);
  LogicalResult addKernels();
  void addBinding(DictionaryAttr description, bool isResult, unsigned number,
                  int64_t program, manifest::Binding *binding);

  ModuleOp module;
  MeshOp mesh;
  manifest::Manifest *out;
  llvm::StringMap<int> variableIndex;
  StateLayout state;
  /// Kernels have numbers when all programs were seen.
  std::vector<std::pair<DictionaryAttr, manifest::Packed *>> packedMemories;
};

} // namespace

void Filler::addVariables() {
  for (auto op : module.getOps<graph::VariableOp>()) {
    variableIndex[op.getSymName()] = out->variables_size();
    manifest::Variable *variable = out->add_variables();
    const StateLayout::Variable &held = state.variables[op.getSymName()];
    variable->set_name(op.getSymName().str());
    setType(op.getType(), variable->mutable_global_type());
    setType(held.local, variable->mutable_local_type());
    setShardingOf(held.sharding, variable->mutable_sharding());
    variable->set_trainable(op.getTrainable());
    variable->set_group(op.getGroup().str());
    if (auto slot = op.getSlotOf())
      variable->set_slot_of(slot->str());
    if (auto why = op.getWhy())
      variable->set_why(why->str());
    bool onRead = op.getSynchronization() == graph::Synchronization::OnRead;
    variable->set_on_read(onRead);
    if (op.getAggregation() == graph::Aggregation::Sum)
      variable->set_aggregation("sum");
    else if (op.getAggregation() == graph::Aggregation::Mean)
      variable->set_aggregation("mean");
    else if (op.getAggregation() == graph::Aggregation::OnlyFirst && onRead)
      variable->set_aggregation("only_first_replica");
    if (auto name = op->getAttrOfType<StringAttr>("graph.model_name"))
      variable->set_model_name(name.str());
    if (std::optional<double> fill = getFill(op.getInitial()))
      variable->set_fill(*fill);
    else
      variable->set_weights_key(op.getSymName().str());
    variable->set_bytes(held.bytes);
    variable->set_state_offset(held.offset);
    if (state.programs.size() > 1)
      for (int64_t program : held.programs)
        variable->add_programs(program);
  }
}

void Filler::addServers() {
  out->clear_servers();
  for (auto op : module.getOps<graph::VariableOp>()) {
    SmallVector<ServerPart> parts = getServerParts(op);
    for (auto [i, part] : llvm::enumerate(parts)) {
      while (out->servers_size() <= part.server)
        out->add_servers();
      manifest::ServerPart *to = out->mutable_servers(part.server)->add_parts();
      to->set_variable(variableIndex[op.getSymName()]);
      to->set_name_there(getPartName(op.getSymName(), i, parts.size()));
      to->set_begin(part.begin);
      to->set_size(part.size);
    }
  }
}

void Filler::addPulledRows() {
  out->clear_pulled_rows();
  for (auto op : module.getOps<graph::VariableOp>()) {
    std::optional<PulledRows> pulled = findPulledRows(op);
    if (!pulled)
      continue;
    manifest::PulledRows *to = out->add_pulled_rows();
    to->set_table(variableIndex[op.getSymName()]);
    to->set_rows(variableIndex[pulled->rows.getValue()]);
    to->set_places(variableIndex[pulled->places.getValue()]);
    for (StringAttr input : pulled->inputs)
      to->add_inputs(input.str());
  }
}

void Filler::addBinding(DictionaryAttr description, bool isResult,
                        unsigned number, int64_t program,
                        manifest::Binding *binding) {
  Type local = description.getAs<TypeAttr>("type").getValue();
  Type global = local;
  if (auto type = description.getAs<TypeAttr>(DistDialect::kGlobalType))
    global = type.getValue();
  setType(local, binding->mutable_local_type());
  setType(global, binding->mutable_global_type());
  setShardingOf(description.get(DistDialect::kSharding),
                binding->mutable_sharding());
  auto role = description.getAs<StringAttr>(kRoleAttr);
  binding->set_role(role       ? getRole(*graph::symbolizeRole(role.getValue()))
                    : isResult ? manifest::Binding::OUTPUT
                               : manifest::Binding::INPUT);
  if (auto name = description.getAs<StringAttr>(kNameAttr))
    binding->set_name(name.str());
  else
    binding->set_name((isResult ? "output" : "input") + std::to_string(number));
  if (auto position = description.getAs<IntegerAttr>(kEntryIndexAttr))
    binding->set_position(position.getInt());
  binding->set_batch_dim(-1);
  if (auto dim = description.getAs<IntegerAttr>(kBatchDimAttr))
    binding->set_batch_dim(dim.getInt());
  if (auto count = description.getAs<IntegerAttr>(kClassCountAttr))
    binding->set_class_count(count.getInt());
  if (auto ignored = description.getAs<IntegerAttr>(kIgnoredLabelAttr))
    binding->set_ignored_label(ignored.getInt());
  if (auto counts = description.getAs<DenseI64ArrayAttr>(kIndexCountAttr))
    for (int64_t count : counts.asArrayRef())
      binding->add_index_counts(count);
  if (auto packed = description.getAs<DictionaryAttr>(kPacked))
    packedMemories.emplace_back(packed, binding->mutable_packed());
  else if (binding->role() == manifest::Binding::PREPARED)
    binding->set_state_offset(
        state.programs[program].prepared.lookup(binding->name()));
  if (binding->role() == manifest::Binding::PREPARED)
    binding->set_bytes(getByteSize(local));
  if (auto variable = description.getAs<FlatSymbolRefAttr>(kVariableAttr)) {
    binding->set_variable(variableIndex.lookup(variable.getValue()));
    binding->set_name(variable.getValue().str());
  }
}

/// The nodes of the model that the op computes; of many the first and how many
/// more.
static std::string describeNodes(Location loc) {
  constexpr size_t kShown = 3;
  SmallVector<std::string> names = getLocationNames(loc);
  std::string text = llvm::join(ArrayRef(names).take_front(kShown), ", ");
  if (names.size() > kShown)
    text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

void Filler::addEntry(rt::ProgramOp program) {
  int64_t number = getProgramNumber(program);
  manifest::Entry *entry = out->mutable_programs(number)->add_entries();
  auto name = program->getAttrOfType<StringAttr>(kEntryAttr);
  entry->set_name(name ? name.str() : program.getSymName().str());
  entry->set_symbol(program.getSymName().str());
  entry->set_arena_bytes(program.getArenaBytes());
  entry->set_host_arena_bytes(program.getHostArenaBytes());
  // What no pass has assigned is for the machine itself.
  auto device = program->getAttrOfType<StringAttr>(rt::kDeviceAttr);
  out->mutable_programs(number)->set_device(device ? device.str()
                                                   : rt::kCpu.str());
  for (auto [i, attribute] :
       llvm::enumerate(program.getArguments().getAsRange<DictionaryAttr>()))
    addBinding(attribute, false, i, number, entry->add_arguments());
  for (auto [i, attribute] :
       llvm::enumerate(program.getResults().getAsRange<DictionaryAttr>()))
    addBinding(attribute, true, i, number, entry->add_results());
  llvm::StringMap<int64_t> groups;
  for (auto &binding : entry->arguments())
    if (binding.role() == manifest::Binding::PREPARED &&
        !binding.has_packed()) {
      groups["prepared weights"] += alignMemory(binding.bytes());
    } else if (binding.role() == manifest::Binding::VARIABLE) {
      const auto &variable = out->variables(binding.variable());
      groups[variable.group()] += variable.bytes();
    }
  for (auto &group : groups) {
    auto *part = entry->add_parts();
    part->set_what(group.first().str());
    part->set_bytes(group.second);
  }
  for (NamedAttribute attribute : program.getParts()) {
    auto *part = entry->add_parts();
    part->set_what(attribute.getName().str());
    part->set_bytes(cast<IntegerAttr>(attribute.getValue()).getInt());
  }
  for (Operation &op : program.getBody().front())
    if (isa<rt::LaunchOp, rt::LibraryCallOp>(op))
      entry->add_calls(describeNodes(op.getLoc()));
  addSlots(program, entry);
  auto transfers = program->getAttrOfType<ArrayAttr>("transfers");
  if (!transfers)
    return;
  for (auto transfer : transfers.getAsRange<DictionaryAttr>()) {
    auto *row = entry->add_transfers();
    auto text = [&](StringRef name) {
      auto attribute = transfer.getAs<StringAttr>(name);
      return attribute ? attribute.str() : std::string();
    };
    row->set_id(transfer.getAs<IntegerAttr>("id").getInt());
    row->set_op(text("op"));
    row->set_tensor(text("tensor"));
    row->set_reason(text("reason"));
    row->set_origin(text("origin"));
    row->set_bytes(transfer.getAs<IntegerAttr>("bytes").getInt());
    for (auto axis : transfer.getAs<ArrayAttr>("axes").getAsRange<StringAttr>())
      row->add_axes(axis.str());
  }
}

/// Whether the roles of what the program takes and gives are known.
static LogicalResult checkRoles(rt::ProgramOp program) {
  for (ArrayAttr side : {program.getArguments(), program.getResults()})
    for (auto port : side.getAsRange<DictionaryAttr>())
      if (auto role = port.getAs<StringAttr>(kRoleAttr);
          role && !graph::symbolizeRole(role.getValue()))
        return program.emitOpError("takes or gives something of role ")
               << role << ", which is none that a package knows";
  return success();
}

/// An entry's own, and those of its preparation, which does not run at once.
void Filler::addSlots(rt::ProgramOp program, manifest::Entry *entry) {
  auto slots = program->getAttrOfType<ArrayAttr>(kSlots);
  if (!slots)
    return;
  for (auto [i, holds] : llvm::enumerate(slots.getAsRange<ArrayAttr>())) {
    manifest::PackedSlot *slot = int(i) < entry->slots_size()
                                     ? entry->mutable_slots(i)
                                     : entry->add_slots();
    for (auto packed : holds.getAsRange<DictionaryAttr>())
      packedMemories.emplace_back(packed, slot->add_holds());
  }
}

/// A function that fills an entry's prepared arguments is part of that entry:
/// it has the same bindings and runs over the same arena.
void Filler::addPreparation(rt::ProgramOp program, manifest::Program *to) {
  StringRef name =
      program->getAttrOfType<FlatSymbolRefAttr>(kPrepares).getValue();
  for (auto &entry : *to->mutable_entries()) {
    if (entry.symbol() != name)
      continue;
    entry.set_prepare_symbol(program.getSymName().str());
    addSlots(program, &entry);
    const bool isInHost = getMemory(program) == rt::MemorySpace::Host;
    const int64_t bytes = program.getArenaBytes(getMemory(program));
    const int64_t more =
        bytes - (isInHost ? entry.host_arena_bytes() : entry.arena_bytes());
    if (more <= 0)
      return;
    if (isInHost)
      entry.set_host_arena_bytes(bytes);
    else
      entry.set_arena_bytes(bytes);
    auto *part = entry.add_parts();
    part->set_what("preparation of weights");
    part->set_bytes(more);
  }
}

/// Positions with portions of their own meet in the same collectives, in one
/// order: anything else would wait forever.
LogicalResult Filler::compareTransfers(const Portion &portion) {
  auto collect = [&](const manifest::Entry &entry) {
    std::vector<const manifest::Transfer *> rows;
    for (const manifest::Transfer &row : entry.transfers())
      if (llvm::is_contained(row.axes(), portion.axis.str()))
        rows.push_back(&row);
    return rows;
  };
  const manifest::Program &first = out->programs(0);
  for (const manifest::Program &program : out->programs())
    for (auto [a, b] : llvm::zip_equal(first.entries(), program.entries())) {
      auto ours = collect(a), others = collect(b);
      for (size_t i = 0; i < std::max(ours.size(), others.size()); ++i) {
        bool same = i < ours.size() && i < others.size() &&
                    ours[i]->id() == others[i]->id() &&
                    ours[i]->op() == others[i]->op() &&
                    ours[i]->bytes() == others[i]->bytes();
        if (same)
          continue;
        const manifest::Transfer &row = i < ours.size() ? *ours[i] : *others[i];
        return module.emitError("the positions along '")
               << portion.axis.getValue() << "' do not all come to the "
               << row.op() << " of '" << row.tensor() << "' in @" << a.name()
               << "; leave --device-weights out";
      }
    }
  return success();
}

LogicalResult Filler::run() {
  out->clear_variables();
  out->clear_programs();
  out->clear_kernels();
  out->clear_mesh();
  int64_t ranks = mesh ? mesh.getNumRanksWithHost() : 1;
  out->mutable_mesh();
  if (mesh)
    for (auto [name, size] :
         llvm::zip_equal(mesh.getAxisNames().getAsRange<StringAttr>(),
                         mesh.getAxisSizes())) {
      auto *axis = out->mutable_mesh()->add_axes();
      axis->set_name(name.str());
      axis->set_size(size);
    }
  if (mesh && mesh.getHost())
    out->mutable_mesh()->set_host(true);
  auto entries = module.getOps<rt::ProgramOp>();
  std::optional<Portion> portion;
  if (!entries.empty())
    portion = findPortion(*entries.begin());
  if (portion)
    for (manifest::Axis &axis : *out->mutable_mesh()->mutable_axes())
      if (axis.name() == portion->axis)
        axis.mutable_weights()->Add(portion->weights.begin(),
                                    portion->weights.end());
  out->set_ranks(ranks);
  out->clear_process_of_rank();
  if (mesh && getNumProcesses(mesh) > 1)
    for (int64_t rank = 0; rank < ranks; ++rank)
      out->add_process_of_rank(getProcessOfRank(mesh, rank));
  int64_t programs = state.programs.size();
  int64_t last = 0;
  out->clear_program_of_rank();
  for (int64_t i = 0; i < programs; ++i) {
    manifest::Program *program = out->add_programs();
    // None stands for the manifest's.
    if (programs > 1)
      program->set_state_bytes(state.programs[i].bytes);
    auto [first, count] = getProgramRanks(mesh, i, programs);
    for (int64_t rank = first; rank < first + count; ++rank)
      out->add_program_of_rank(i);
    last = first + count;
  }
  if (last != ranks)
    return module.emitError("expected the mesh to have an axis of the ")
           << programs << " stages";
  // While the host works, all devices wait: it has the threads of all.
  if (mesh && mesh.getHost() && programs > 1)
    out->mutable_programs(1)->set_threads(out->threads_per_device() *
                                          mesh.getNumRanks());
  out->set_state_bytes(state.getBytes());
  addVariables();
  addServers();
  addPulledRows();
  for (auto op : module.getOps<rt::ProgramOp>()) {
    if (failed(checkRoles(op)))
      return failure();
    if (!op->hasAttr(kPrepares))
      addEntry(op);
  }
  for (auto op : module.getOps<rt::ProgramOp>())
    if (op->hasAttr(kPrepares))
      addPreparation(op, out->mutable_programs(getProgramNumber(op)));
  if (portion && failed(compareTransfers(*portion)))
    return failure();
  return addKernels();
}

LogicalResult Filler::addKernels() {
  // In the order in which rt-to-llvm numbers them.
  LibraryTable libraries;
  for (auto op : module.getOps<rt::ProgramOp>())
    for (auto call : op.getBody().front().getOps<rt::LibraryCallOp>())
      libraries.getIndex(call.getKernel());
  *out->mutable_kernels() = libraries.getTable();
  for (auto [from, to] : packedMemories) {
    to->set_kernel(libraries.getIndex(from.getAs<DictionaryAttr>("kernel")));
    to->set_memory(from.getAs<IntegerAttr>("memory").getInt());
    if (auto source = from.getAs<IntegerAttr>("source"))
      to->set_source(source.getInt());
  }
  if (libraries.getTable().size() != out->kernels_size())
    return module.emitError("a packed buffer is of a kernel that no program "
                            "runs");
  ::dist::cpu::LibraryMemory memory;
  ::dist::Status status = ::dist::cpu::LibraryMemory::create(*out, &memory);
  if (!status.ok())
    return module.emitError(status.message());
  for (int i = 0; i < out->kernels_size(); ++i) {
    out->mutable_kernels(i)->set_scratchpad_bytes(
        memory.kernel(i).scratchpadBytes);
    out->mutable_kernels(i)->set_implementation(
        memory.kernel(i).implementation);
  }
  return success();
}

LogicalResult mlir::dist::fillManifest(ModuleOp module,
                                       const LoweringOptions &options,
                                       manifest::Manifest *manifest) {
  manifest->set_abi_version(DIST_RT_ABI_VERSION);
  manifest->set_threads_per_device(options.threads);
  manifest->set_isa(::dist::cpu::hostIsa());
  std::string why;
  std::optional<TargetCpu> target = findTargetCpu(options.cpu, &why);
  if (!target)
    return module.emitError("cannot generate code for '")
           << options.cpu << "': " << why;
  manifest->set_target_cpu(target->isNative ? "native" : target->name);
  for (const std::string &feature : target->needed)
    manifest->add_cpu_features(feature);
  manifest->set_library_version(::dist::cpu::libraryVersion());
  if (failed(Filler(module, manifest).run()))
    return failure();
  module.walk([&](rt::PublishOp op) {
    if (op.getKind() != rt::CollectiveKind::AllSlice)
      manifest->set_shares_memory(true);
  });
  for (auto &program : *manifest->mutable_programs())
    for (auto &entry : *program.mutable_entries()) {
      if (auto it = options.entryFlops.find(entry.symbol());
          it != options.entryFlops.end())
        entry.set_flops(it->second);
      if (options.entrySeconds)
        entry.set_seconds(options.entrySeconds(entry.symbol()));
    }
  return success();
}

LogicalResult mlir::dist::writeWeights(ModuleOp module, StringRef path) {
  ::dist::SafetensorsWriter writer(path.str());
  // Small values that have no memory of their own in the right form.
  std::vector<std::vector<char>> copies;
  bool any = false;
  for (auto op : module.getOps<graph::VariableOp>()) {
    ElementsAttr value = op.getInitial();
    if (getFill(value))
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    const void *data = nullptr;
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
      AsmResourceBlob *blob = resource.getRawHandle().getBlob();
      if (!blob)
        return op.emitOpError("its initial value is not in the file");
      if (blob->getData().size() != static_cast<size_t>(getByteSize(type)))
        return op.emitOpError("expected ")
               << getByteSize(type) << " bytes of initial value, but got "
               << blob->getData().size();
      data = blob->getData().data();
    } else {
      FailureOr<HostTensor> tensor = HostTensor::fromAttribute(value);
      if (failed(tensor))
        return op.emitOpError("its initial value has a form that cannot be "
                              "written");
      copies.push_back(tensor->toBytes());
      data = copies.back().data();
    }
    writer.add(
        op.getSymName().str(), getDataType(type.getElementType()),
        std::vector<int64_t>(type.getShape().begin(), type.getShape().end()),
        data);
    any = true;
  }
  if (!any)
    return success();
  // Weights may lie in mapped files, which need not be in memory as a whole.
  writer.afterBytes(size_t(16) << 20, ::dist::FileBytes::releaseAll);
  ::dist::Status status = writer.finish();
  if (!status.ok())
    return emitFileError(module, status.message());
  return success();
}
