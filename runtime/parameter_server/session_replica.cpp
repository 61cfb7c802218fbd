//===- session_replica.cpp - A worker's steps in a session ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/session_replica.h"

namespace dist::ps {

using manifest::Binding;

Status SessionReplica::create(Session &session, const Layout &layout,
                              const Dataset &data,
                              const ReplicaOptions &options,
                              std::unique_ptr<SessionReplica> *out) {
  EntryPair entries;
  DIST_RETURN_IF_ERROR(EntryPair::create(session, "gradients", &entries));
  BatchPlan plan = entries.plan(session.manifest());
  plan.shuffle = options.shuffle;
  plan.dropRemainder = options.dropRemainder;
  out->reset(new SessionReplica(session, layout, data, plan, options));
  (*out)->entries = std::move(entries);
  (*out)->findOutputs();
  (*out)->wholes.resize(layout.manifest.variables_size());
  for (const ServerLayout &server : layout.servers)
    for (const PlacedPart &part : server.parts) {
      const auto &type = layout.manifest.variables(part.variable).global_type();
      Tensor &whole = (*out)->wholes[part.variable];
      whole.type = part.type;
      whole.shape = shapeOf(type);
      if (whole.view().bytes() != part.bytes)
        whole.data.resize(whole.view().bytes());
    }
  return (*out)->metrics.reset();
}

Status SessionReplica::takeParameters(int server, const Buffer &bytes) {
  for (const PlacedPart &part : layout.servers[server].parts) {
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

void SessionReplica::findOutputs() {
  std::map<std::string, int> variables;
  for (int i = 0; i < layout.manifest.variables_size(); ++i)
    variables[layout.manifest.variables(i).name()] = i;
  for (const EntryCall *call : entries.calls()) {
    if (!*call)
      continue;
    Outputs &found = gradientsOf[&call->entry()];
    found.assign(layout.manifest.variables_size(), -1);
    int output = 0;
    for (const Binding &binding : call->entry().results()) {
      if (binding.role() == Binding::VARIABLE ||
          binding.role() == Binding::PREPARED)
        continue;
      auto variable = variables.find(binding.name());
      if (binding.role() == Binding::GRADIENT && variable != variables.end())
        found[variable->second] = output;
      ++output;
    }
  }
}

Status SessionReplica::compute(int64_t closure, ReportBody *report,
                               Buffer *gained, bool *isPushed) {
  for (size_t i = 0; i < wholes.size(); ++i)
    if (!wholes[i].data.empty())
      DIST_RETURN_IF_ERROR(session.writeVariable(int(i), wholes[i].view()));
  batches.make(closure, &batch);
  EntryCall *call = nullptr;
  DIST_RETURN_IF_ERROR(entries.choose(batch, &call));
  call->fill(batch, &inputs);
  DIST_RETURN_IF_ERROR(session.run(call->entry(), inputs, &outputs));
  gradients = &gradientsOf.at(&call->entry());
  StepResult result = call->read(outputs);
  report->loss = result.loss;
  report->isFinite = result.finite;
  report->examples = batch.examples;
  *isPushed = result.finite || options.onNonfinite == OnNonfinite::Continue;
  // What the step has added, since they were at nothing.
  const manifest::Manifest &manifest = session.manifest();
  for (int i = 0; i < manifest.variables_size(); ++i) {
    if (manifest.variables(i).group() != "metric")
      continue;
    DIST_RETURN_IF_ERROR(session.readVariable(i, &value));
    gained->insert(gained->end(), value.data.begin(), value.data.end());
  }
  return metrics.reset();
}

Status SessionReplica::giveGradients(int server, Buffer *out) {
  const ServerLayout &of = layout.servers[server];
  out->resize(of.partBytes);
  for (const PlacedPart &part : of.parts) {
    int output = (*gradients)[part.variable];
    // A step that writes a variable itself gives what it wrote.
    if (output < 0)
      DIST_RETURN_IF_ERROR(session.readVariable(part.variable, &value));
    const Tensor &gradient = output < 0 ? value : outputs[output];
    if (gradient.type != part.type ||
        gradient.data.size() < part.offsetInWhole + part.bytes)
      return Status::error(StatusCode::InvalidInput, "the package is damaged",
                           layout.manifest.variables(part.variable).name(),
                           "its gradient is of another type",
                           "compile it again");
    std::memcpy(out->data() + part.offset,
                gradient.data.data() + part.offsetInWhole, part.bytes);
  }
  return Status();
}

} // namespace dist::ps
