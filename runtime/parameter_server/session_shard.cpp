//===- session_shard.cpp - A server's variables in a session --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/session_shard.h"
#include "runtime/formats/convert.h"
#include "runtime/parameter_server/rows.h"

namespace dist::ps {

using manifest::Binding;

Status SessionShard::create(Session &session, const Layout &layout, int server,
                            std::unique_ptr<SessionShard> *out) {
  const ServerLayout &own = layout.servers[server];
  std::unique_ptr<SessionShard> shard(new SessionShard(session, own));
  for (const PlacedPart &part : own.parts) {
    if (part.table < 0)
      continue;
    Table &table = shard->tables.emplace_back();
    table.part = &part;
    table.most = layout.tables[part.table].most;
    table.rowBytes = layout.tables[part.table].rowBytes;
    table.gradient.assign(part.bytes, 0);
  }
  shard->entry = session.findEntry("apply"); // the layout has seen it
  for (const Binding &binding : shard->entry->arguments())
    if (binding.role() != Binding::GRADIENT &&
        binding.role() != Binding::VARIABLE &&
        binding.role() != Binding::PREPARED)
      return Status::error(
          StatusCode::InvalidInput, "the package is damaged", binding.name(),
          "a server's 'apply' takes more than gradients", "compile it again");
  int output = 0;
  for (const Binding &binding : shard->entry->results()) {
    if (binding.role() == Binding::VARIABLE ||
        binding.role() == Binding::PREPARED)
      continue;
    if (binding.role() == Binding::LEARNING_RATE)
      shard->learningRate = output;
    ++output;
  }
  *out = std::move(shard);
  return Status();
}

template <typename Use>
bool SessionShard::forEachTable(const char *bytes, const char *end,
                                bool hasRows, Use use) const {
  std::vector<int64_t> numbers;
  for (Table &table : tables) {
    if (!readNumbers(&bytes, end, table.part->shape[0], table.most, &numbers))
      return false;
    size_t size = hasRows ? numbers.size() * table.rowBytes : 0;
    if (size_t(end - bytes) < size)
      return false;
    use(table, numbers, bytes);
    bytes += size;
  }
  return bytes == end;
}

bool SessionShard::isPull(const Buffer &bytes) const {
  return forEachTable(bytes.data(), bytes.data() + bytes.size(), false,
                      [](auto &&...) {});
}

bool SessionShard::isPush(const Buffer &bytes) const {
  return bytes.size() >= layout.partBytes &&
         forEachTable(bytes.data() + layout.partBytes,
                      bytes.data() + bytes.size(), true, [](auto &&...) {});
}

void SessionShard::forgetTables() {
  for (Table &table : tables)
    table.value.data.clear();
}

Status SessionShard::addRows(const Buffer &pull, Buffer *out) {
  for (Table &table : tables)
    if (table.value.data.empty())
      DIST_RETURN_IF_ERROR(
          session.readVariable(table.part->there, &table.value));
  forEachTable(pull.data(), pull.data() + pull.size(), false,
               [&](const Table &table, const std::vector<int64_t> &numbers,
                   const char *) {
                 size_t at = out->size();
                 out->resize(at + numbers.size() * table.rowBytes);
                 for (int64_t number : numbers) {
                   std::memcpy(out->data() + at,
                               table.value.data.data() +
                                   number * table.rowBytes,
                               table.rowBytes);
                   at += table.rowBytes;
                 }
               });
  return Status();
}

Status SessionShard::readParameters(Buffer *out) {
  out->resize(layout.partBytes);
  for (const PlacedPart &part : layout.parts) {
    if (part.table >= 0)
      continue;
    DIST_RETURN_IF_ERROR(session.readVariable(part.there, &value));
    std::memcpy(out->data() + part.offset, value.data.data(), part.bytes);
  }
  return Status();
}

Status SessionShard::apply(const Buffer &gradients, AppliedBody *out) {
  const char *rows = gradients.data() + layout.partBytes;
  const char *end = gradients.data() + gradients.size();
  forgetTables();
  forEachTable(
      rows, end, true,
      [](Table &table, const std::vector<int64_t> &numbers, const char *from) {
        for (int64_t number : numbers) {
          std::memcpy(table.gradient.data() + number * table.rowBytes, from,
                      table.rowBytes);
          from += table.rowBytes;
        }
      });
  inputs.clear();
  auto table = tables.begin();
  for (const PlacedPart &part : layout.parts) {
    if (part.table < 0)
      inputs.push_back(part.view(gradients));
    else
      inputs.push_back({part.type, part.shape, (table++)->gradient.data()});
  }
  Status status = session.run(*entry, inputs, &outputs);
  forEachTable(
      rows, end, true,
      [](Table &table, const std::vector<int64_t> &numbers, const char *) {
        for (int64_t number : numbers)
          std::memset(table.gradient.data() + number * table.rowBytes, 0,
                      table.rowBytes);
      });
  DIST_RETURN_IF_ERROR(status);
  if (learningRate >= 0) {
    const Tensor &rate = outputs[learningRate];
    out->hasLearningRate = 1;
    out->learningRate = float(elementAsDouble(rate.type, rate.data.data(), 0));
  }
  return Status();
}

Status SessionShard::readState(Buffer *out) {
  out->assign(layout.stateBytes, 0);
  for (int i = 0; i < layout.manifest.variables_size(); ++i) {
    DIST_RETURN_IF_ERROR(session.readVariable(i, &value));
    std::memcpy(out->data() + layout.stateOffsets[i], value.data.data(),
                value.data.size());
  }
  return Status();
}

Status SessionShard::writeState(const Buffer &state) {
  forgetTables();
  for (int i = 0; i < layout.manifest.variables_size(); ++i) {
    const auto &type = layout.manifest.variables(i).global_type();
    TensorView view;
    view.type = type.type();
    view.shape = shapeOf(type);
    view.data = state.data() + layout.stateOffsets[i];
    DIST_RETURN_IF_ERROR(session.writeVariable(i, view));
  }
  return Status();
}

} // namespace dist::ps
