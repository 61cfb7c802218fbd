//===- session_replica.cpp - A worker's steps in a session ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/session_replica.h"
#include <algorithm>
#include <cstring>

namespace dist::ps {

using manifest::Binding;

Status SessionReplica::create(Session &session, const Layout &layout,
                              const Dataset *data,
                              const ReplicaOptions &options,
                              std::unique_ptr<SessionReplica> *out) {
  EntryPair entries;
  DIST_RETURN_IF_ERROR(EntryPair::create(session, "gradients", &entries));
  BatchPlan plan = entries.plan(session.manifest());
  plan.shuffle = options.shuffle;
  plan.dropRemainder = options.dropRemainder;
  if (data && BatchStream::batchesPerPass(data->examples(), plan) == 0)
    return Status::error(
        StatusCode::InvalidInput, "no full batch", "a worker's dataset",
        "it has " + std::to_string(data->examples()) + " examples, a batch " +
            std::to_string(plan.batch),
        "give it more, or let it keep what does not fill a batch");
  out->reset(new SessionReplica(session, layout, options));
  if (data)
    (*out)->batches.emplace(*data, plan);
  (*out)->entries = std::move(entries);
  for (const PulledTable &table : layout.tables) {
    Rows &rows = (*out)->tables.emplace_back(table);
    rows.values =
        makeZeros(layout.manifest.variables(table.rows).global_type());
    rows.places =
        makeZeros(layout.manifest.variables(table.places).global_type());
  }
  (*out)->findPorts();
  DIST_RETURN_IF_ERROR(
      findStepCounter(session.manifest(), &(*out)->stepCounter));
  (*out)->wholes.resize(layout.manifest.variables_size());
  for (const ServerLayout &server : layout.servers)
    for (const PlacedPart &part : server.parts) {
      const auto &type = layout.manifest.variables(part.variable).global_type();
      Tensor &whole = (*out)->wholes[part.variable];
      whole.type = part.type;
      whole.shape = shapeOf(type);
      if (whole.view().bytes() != part.bytes && part.table < 0)
        whole.data.resize(whole.view().bytes());
    }
  return (*out)->metrics.reset();
}

Status takeMetrics(Session &session, Buffer *gained) {
  const manifest::Manifest &manifest = session.manifest();
  Tensor value;
  for (int i = 0; i < manifest.variables_size(); ++i) {
    if (manifest.variables(i).group() != "metric")
      continue;
    DIST_RETURN_IF_ERROR(session.readVariable(i, &value));
    gained->insert(gained->end(), value.data.begin(), value.data.end());
  }
  return Status();
}

SessionReplica::Rows::Rows(const PulledTable &table) : finder(table.size) {}

void SessionReplica::findPorts() {
  std::map<std::string, int> variables;
  for (int i = 0; i < layout.manifest.variables_size(); ++i)
    variables[layout.manifest.variables(i).name()] = i;
  for (const EntryCall *one : entries.calls()) {
    if (!*one)
      continue;
    Ports &ports = portsOf[&one->entry()];
    ports.gradients.assign(layout.manifest.variables_size(), -1);
    int output = 0;
    for (const Binding &binding : one->entry().results()) {
      if (binding.role() == Binding::VARIABLE ||
          binding.role() == Binding::PREPARED)
        continue;
      auto variable = variables.find(binding.name());
      if (binding.role() == Binding::GRADIENT && variable != variables.end())
        ports.gradients[variable->second] = output;
      ++output;
    }
    ports.indices.resize(layout.tables.size());
    int input = 0;
    for (const Binding &binding : one->entry().arguments()) {
      if (binding.role() == Binding::VARIABLE ||
          binding.role() == Binding::PREPARED)
        continue;
      for (size_t i = 0; i < layout.tables.size(); ++i)
        for (const std::string &name : layout.tables[i].inputs)
          if (binding.role() == Binding::INPUT && binding.name() == name)
            ports.indices[i].push_back(input);
      ++input;
    }
  }
}

Status SessionReplica::begin(int64_t batchNumber, int64_t closureNumber) {
  closure = closureNumber;
  batches->make(batchNumber, &batch);
  DIST_RETURN_IF_ERROR(entries.choose(batch, &call));
  call->fill(batch, &inputs);
  ports = &portsOf.at(&call->entry());
  for (size_t i = 0; i < tables.size(); ++i) {
    Rows &rows = tables[i];
    rows.finder.begin();
    for (int input : ports->indices[i])
      rows.finder.add(inputs[input]);
    rows.numbers = rows.finder.finish();
    if (int64_t(rows.numbers.size()) > layout.tables[i].most)
      return Status::error(
          StatusCode::InvalidInput, "the package is damaged",
          layout.manifest.variables(layout.tables[i].variable).name(),
          "a step looks up more rows than it has room for", "compile it again");
    auto *places = reinterpret_cast<int32_t *>(rows.places.data.data());
    for (size_t place = 0; place < rows.numbers.size(); ++place)
      places[rows.numbers[place]] = int32_t(place);
  }
  return Status();
}

size_t SessionReplica::findRows(const PlacedPart &part,
                                std::vector<int64_t> *numbers) const {
  const std::vector<int64_t> &all = tables[part.table].numbers;
  auto first = std::lower_bound(all.begin(), all.end(), part.begin);
  auto last = std::lower_bound(first, all.end(), part.begin + part.shape[0]);
  numbers->assign(first, last);
  for (int64_t &number : *numbers)
    number -= part.begin;
  return size_t(first - all.begin());
}

Buffer SessionReplica::pullOf(int server) {
  Buffer pull;
  std::vector<int64_t> numbers;
  for (const PlacedPart &part : layout.servers[server].parts) {
    if (part.table < 0)
      continue;
    findRows(part, &numbers);
    writeNumbers(numbers, &pull);
  }
  return pull;
}

size_t SessionReplica::parameterBytes(int server) const {
  size_t bytes = layout.servers[server].partBytes;
  std::vector<int64_t> numbers;
  for (const PlacedPart &part : layout.servers[server].parts) {
    if (part.table < 0)
      continue;
    findRows(part, &numbers);
    bytes += numbers.size() * layout.tables[part.table].rowBytes;
  }
  return bytes;
}

Status SessionReplica::takeParameters(int server, const Buffer &bytes) {
  const char *rows = bytes.data() + layout.servers[server].partBytes;
  std::vector<int64_t> numbers;
  for (const PlacedPart &part : layout.servers[server].parts) {
    if (part.table >= 0) {
      const size_t rowBytes = layout.tables[part.table].rowBytes;
      size_t place = findRows(part, &numbers);
      if (!numbers.empty())
        std::memcpy(tables[part.table].values.data.data() + place * rowBytes,
                    rows, numbers.size() * rowBytes);
      rows += numbers.size() * rowBytes;
      continue;
    }
    Tensor &whole = wholes[part.variable];
    if (whole.data.empty()) {
      DIST_RETURN_IF_ERROR(
          session.writeVariable(part.variable, part.view(bytes)));
      continue;
    }
    std::memcpy(whole.data.data() + part.offsetInWhole,
                bytes.data() + part.offset, part.bytes);
  }
  return Status();
}

Status SessionReplica::writeParameters() {
  for (size_t i = 0; i < wholes.size(); ++i)
    if (!wholes[i].data.empty())
      DIST_RETURN_IF_ERROR(session.writeVariable(int(i), wholes[i].view()));
  for (size_t i = 0; i < tables.size(); ++i) {
    DIST_RETURN_IF_ERROR(
        session.writeVariable(layout.tables[i].rows, tables[i].values.view()));
    DIST_RETURN_IF_ERROR(session.writeVariable(layout.tables[i].places,
                                               tables[i].places.view()));
  }
  return Status();
}

/// A closure is the step of its number, whoever runs it and how often: two
/// workers draw different numbers, and a repeated closure the same. The count
/// stays what the package has, from which closures count.
Status SessionReplica::runStep() {
  if (stepCounter < 0)
    return session.run(call->entry(), inputs, &outputs);
  DIST_RETURN_IF_ERROR(session.readVariable(stepCounter, &value));
  const Tensor before = value;
  int64_t step;
  std::memcpy(&step, value.data.data(), sizeof step);
  step += closure;
  std::memcpy(value.data.data(), &step, sizeof step);
  DIST_RETURN_IF_ERROR(session.writeVariable(stepCounter, value.view()));
  DIST_RETURN_IF_ERROR(session.run(call->entry(), inputs, &outputs));
  return session.writeVariable(stepCounter, before.view());
}

Status SessionReplica::compute(ReportBody *report, Buffer *gained,
                               bool *isPushed) {
  DIST_RETURN_IF_ERROR(writeParameters());
  DIST_RETURN_IF_ERROR(runStep());
  StepResult result = call->read(outputs);
  report->loss = result.loss;
  report->isFinite = result.finite;
  report->examples = batch.examples;
  *isPushed = result.finite || options.onNonfinite == OnNonfinite::Continue;
  // What the step has added, since they were at nothing.
  DIST_RETURN_IF_ERROR(takeMetrics(session, gained));
  return metrics.reset();
}

Status SessionReplica::giveGradients(int server, Buffer *out) {
  const ServerLayout &of = layout.servers[server];
  out->resize(of.partBytes);
  std::vector<int64_t> numbers;
  for (const PlacedPart &part : of.parts) {
    int output = ports->gradients[part.variable];
    // A step that writes a variable itself gives what it wrote.
    if (output < 0)
      DIST_RETURN_IF_ERROR(session.readVariable(part.variable, &value));
    const Tensor &gradient = output < 0 ? value : outputs[output];
    size_t from = part.offsetInWhole, bytes = part.bytes;
    if (part.table >= 0) {
      const size_t rowBytes = layout.tables[part.table].rowBytes;
      from = findRows(part, &numbers) * rowBytes;
      bytes = numbers.size() * rowBytes;
    }
    if (gradient.type != part.type || gradient.data.size() < from + bytes)
      return Status::error(StatusCode::InvalidInput, "the package is damaged",
                           layout.manifest.variables(part.variable).name(),
                           "its gradient is of another type",
                           "compile it again");
    size_t to = part.offset;
    if (part.table >= 0) {
      writeNumbers(numbers, out);
      to = out->size();
      out->resize(to + bytes);
    }
    if (bytes > 0)
      std::memcpy(out->data() + to, gradient.data.data() + from, bytes);
  }
  return Status();
}

} // namespace dist::ps
