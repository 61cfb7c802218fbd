//===- session.cpp - C interface: sessions --------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/capi.h"
#include "runtime/core/one_line.h"
#include "runtime/core/predict.h"
#include "runtime/formats/convert.h"

using namespace dist;

namespace {

using Bindings = google::protobuf::RepeatedPtrField<manifest::Binding>;

bool isTensor(const manifest::Binding &binding) {
  return binding.role() != manifest::Binding::VARIABLE &&
         binding.role() != manifest::Binding::PREPARED;
}

const manifest::Binding *findTensor(const Bindings &bindings, int32_t index) {
  for (const manifest::Binding &binding : bindings)
    if (isTensor(binding) && index-- == 0)
      return &binding;
  return nullptr;
}

int32_t countTensors(const Bindings &bindings) {
  int32_t count = 0;
  for (const manifest::Binding &binding : bindings)
    count += isTensor(binding);
  return count;
}

Status findEntry(const dist_session_t *session, const char *name,
                 const manifest::Entry **out) {
  if (!session || !name)
    return badArgument("a session and an entry's name are needed");
  *out = session->session->findEntry(name);
  if (*out)
    return Status();
  std::string names;
  for (const manifest::Entry &entry : session->entries())
    names += (names.empty() ? "" : ", ") + entry.name();
  return Status::error(
      StatusCode::InvalidArgument, std::string("no entry '") + name + "'",
      session->session->manifest().model_name(), "the package has " + names);
}

Status describe(const Bindings &bindings, int32_t index, dist_binding_t *out) {
  const manifest::Binding *binding = findTensor(bindings, index);
  if (!binding)
    return badArgument("no binding", std::to_string(index));
  dist_binding_t filled = DIST_BINDING_INIT;
  filled.name = binding->name().c_str();
  switch (binding->role()) {
  case manifest::Binding::INPUT:
  case manifest::Binding::LABEL:
  case manifest::Binding::MASK:
  case manifest::Binding::COUNT:
  case manifest::Binding::OUTPUT:
  case manifest::Binding::LOSS:
  case manifest::Binding::LEARNING_RATE:
  case manifest::Binding::FINITE:
  case manifest::Binding::GRADIENT:
    filled.role = static_cast<dist_role_t>(binding->role());
    break;
  default:
    filled.role = DIST_ROLE_OTHER;
  }
  const manifest::TensorType &type = binding->global_type();
  filled.type = static_cast<dist_data_type_t>(type.type());
  filled.num_dims = type.shape_size();
  filled.dims = type.shape().data();
  return giveStruct(filled, sizeof filled, "dist_binding_t", out);
}

Status setInputs(dist_session_t *session, const manifest::Entry &entry,
                 const dist_tensor_t *inputs, int32_t numInputs) {
  if (numInputs < 0 || (numInputs > 0 && !inputs))
    return badArgument("inputs are needed", entry.name());
  session->inputs.resize(numInputs);
  for (int32_t i = 0; i < numInputs; ++i)
    DIST_RETURN_IF_ERROR(toView(&inputs[i], &session->inputs[i]));
  return Status();
}

Status run(dist_session_t *session, const manifest::Entry &entry,
           const dist_tensor_t *inputs, int32_t numInputs) {
  DIST_RETURN_IF_ERROR(setInputs(session, entry, inputs, numInputs));
  return session->session->run(entry, session->inputs,
                               &session->outputs[&entry]);
}

dist_tensor_t toC(const Tensor &tensor) {
  return {static_cast<dist_data_type_t>(tensor.type),
          static_cast<int32_t>(tensor.shape.size()), tensor.shape.data(),
          tensor.data.data()};
}

/// What an entry has given of a role.
std::vector<const Tensor *> findOutputs(const dist_session_t *session,
                                        const manifest::Entry &entry,
                                        manifest::Binding::Role role) {
  std::vector<const Tensor *> found;
  size_t index = 0;
  const std::vector<Tensor> &outputs = session->outputs.at(&entry);
  for (const manifest::Binding &binding : entry.results()) {
    if (!isTensor(binding))
      continue;
    if (binding.role() == role)
      found.push_back(&outputs[index]);
    ++index;
  }
  return found;
}

void giveLoss(const dist_session_t *session, const manifest::Entry &entry,
              double *out) {
  if (!out)
    return;
  for (const Tensor *loss :
       findOutputs(session, entry, manifest::Binding::LOSS))
    *out = elementAsDouble(loss->type, loss->data.data(), 0);
}

Status checkOutputRoom(const manifest::Entry &entry,
                       const dist_tensor_t *outputs, int32_t numOutputs) {
  if (numOutputs < 0 || numOutputs > countTensors(entry.results()) ||
      (numOutputs > 0 && !outputs))
    return badArgument("more outputs than the entry has", entry.name());
  return Status();
}

void giveOutputs(const dist_session_t *session, const manifest::Entry &entry,
                 dist_tensor_t *outputs, int32_t numOutputs) {
  for (int32_t i = 0; i < numOutputs; ++i)
    outputs[i] = toC(session->outputs.at(&entry)[i]);
}

} // namespace

dist_status_t *dist_session_open(const char *package,
                                 const dist_session_options_t *options,
                                 dist_session_t **out_session) {
  return guarded([&]() -> Status {
    if (!package || !out_session)
      return badArgument("a package's path is needed");
    *out_session = nullptr;
    dist_session_options_t given = DIST_SESSION_OPTIONS_INIT;
    DIST_RETURN_IF_ERROR(takeStruct(options,
                                    offsetof(dist_session_options_t, log),
                                    "dist_session_options_t", &given));
    SessionOptions session;
    if (given.collective_timeout > 0)
      session.collectiveTimeout = given.collective_timeout;
    if (given.log)
      session.log = [given](LogLevel level, const std::string &text) {
        given.log(given.log_data, static_cast<dist_log_level_t>(level),
                  onOneLine(text).c_str());
      };
    if (given.team)
      session.team = given.team->threads;
    if (given.cpu_variant)
      session.cpuVariant = given.cpu_variant;
    auto result = std::make_unique<dist_session_t>();
    DIST_RETURN_IF_ERROR(Session::open(package, session, &result->session));
    *out_session = result.release();
    return Status();
  });
}

void dist_session_close(dist_session_t *session) { delete session; }

void dist_session_cancel(dist_session_t *session) {
  guarded(0, [&] {
    if (!session)
      return 0;
    {
      std::lock_guard<std::mutex> lock(session->callsMutex);
      if (session->calls > 0)
        session->cancelled = true;
    }
    session->session->cancel();
    return 0;
  });
}

dist_status_t *dist_team_create(dist_team_t **out_team) {
  return guarded([&]() -> Status {
    if (!out_team)
      return badArgument("room for a team is needed");
    *out_team = nullptr;
    *out_team = new dist_team_t{std::make_shared<ThreadTeam>()};
    return Status();
  });
}

void dist_team_free(dist_team_t *team) { delete team; }

const char *dist_session_entry_name(const dist_session_t *session,
                                    int32_t index) {
  if (!session || index < 0 || index >= session->entries().size())
    return nullptr;
  return session->entries().Get(index).name().c_str();
}

int32_t dist_session_input_count(const dist_session_t *session,
                                 const char *entry) {
  return guarded(-1, [&] {
    const manifest::Entry *found =
        session && entry ? session->session->findEntry(entry) : nullptr;
    return found ? countTensors(found->arguments()) : -1;
  });
}

int32_t dist_session_output_count(const dist_session_t *session,
                                  const char *entry) {
  return guarded(-1, [&] {
    const manifest::Entry *found =
        session && entry ? session->session->findEntry(entry) : nullptr;
    return found ? countTensors(found->results()) : -1;
  });
}

dist_status_t *dist_session_input(const dist_session_t *session,
                                  const char *entry, int32_t index,
                                  dist_binding_t *out_binding) {
  return guarded([&]() -> Status {
    const manifest::Entry *found;
    DIST_RETURN_IF_ERROR(findEntry(session, entry, &found));
    return describe(found->arguments(), index, out_binding);
  });
}

dist_status_t *dist_session_output(const dist_session_t *session,
                                   const char *entry, int32_t index,
                                   dist_binding_t *out_binding) {
  return guarded([&]() -> Status {
    const manifest::Entry *found;
    DIST_RETURN_IF_ERROR(findEntry(session, entry, &found));
    return describe(found->results(), index, out_binding);
  });
}

dist_status_t *dist_session_run(dist_session_t *session, const char *entry,
                                const dist_tensor_t *inputs, int32_t num_inputs,
                                dist_tensor_t *out_outputs,
                                int32_t num_outputs) {
  return guarded([&]() -> Status {
    const manifest::Entry *found;
    DIST_RETURN_IF_ERROR(findEntry(session, entry, &found));
    DIST_RETURN_IF_ERROR(checkOutputRoom(*found, out_outputs, num_outputs));
    DIST_RETURN_IF_ERROR(run(session, *found, inputs, num_inputs));
    giveOutputs(session, *found, out_outputs, num_outputs);
    return Status();
  });
}

dist_status_t *dist_session_train_step(dist_session_t *session,
                                       const dist_tensor_t *inputs,
                                       int32_t num_inputs, double *out_loss) {
  return guarded([&]() -> Status {
    const manifest::Entry *entry;
    DIST_RETURN_IF_ERROR(findEntry(session, "train_step", &entry));
    DIST_RETURN_IF_ERROR(run(session, *entry, inputs, num_inputs));
    giveLoss(session, *entry, out_loss);
    return Status();
  });
}

dist_status_t *dist_session_gradients(dist_session_t *session,
                                      const dist_tensor_t *inputs,
                                      int32_t num_inputs, double *out_loss,
                                      dist_tensor_t *out_gradients,
                                      int32_t num_gradients) {
  return guarded([&]() -> Status {
    const manifest::Entry *entry;
    DIST_RETURN_IF_ERROR(findEntry(session, "gradients", &entry));
    int32_t count = 0;
    for (const manifest::Binding &binding : entry->results())
      count += binding.role() == manifest::Binding::GRADIENT;
    if (count == 0)
      return badArgument("the entry sums its gradients in the session, and "
                         "gives none",
                         entry->name());
    if (num_gradients < 0 || num_gradients > count ||
        (num_gradients > 0 && !out_gradients))
      return badArgument("more gradients than the entry gives",
                         std::to_string(count));
    DIST_RETURN_IF_ERROR(run(session, *entry, inputs, num_inputs));
    giveLoss(session, *entry, out_loss);
    std::vector<const Tensor *> given =
        findOutputs(session, *entry, manifest::Binding::GRADIENT);
    for (int32_t i = 0; i < num_gradients; ++i)
      out_gradients[i] = toC(*given[i]);
    return Status();
  });
}

dist_status_t *dist_session_apply(dist_session_t *session,
                                  const dist_tensor_t *gradients,
                                  int32_t num_gradients) {
  return dist_session_run(session, "apply", gradients, num_gradients, nullptr,
                          0);
}

dist_status_t *dist_session_predict(dist_session_t *session,
                                    const dist_tensor_t *inputs,
                                    int32_t num_inputs,
                                    dist_tensor_t *out_outputs,
                                    int32_t num_outputs) {
  return guarded([&]() -> Status {
    const manifest::Entry *entry;
    DIST_RETURN_IF_ERROR(findEntry(session, "predict", &entry));
    DIST_RETURN_IF_ERROR(checkOutputRoom(*entry, out_outputs, num_outputs));
    DIST_RETURN_IF_ERROR(setInputs(session, *entry, inputs, num_inputs));
    CallScope scope(session);
    DIST_RETURN_IF_ERROR(predictExamples(
        *session->session, session->inputs, &session->outputs[entry],
        [&] { return session->cancelled.load(); }));
    giveOutputs(session, *entry, out_outputs, num_outputs);
    return Status();
  });
}
