//===- session.cpp - C interface: sessions --------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/capi.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/safetensors.h"
#include <cstring>

using namespace dist;

/// A session, what its last run gave, and scratch that calls use again.
struct dist_session_t {
  std::unique_ptr<Session> session;
  std::vector<TensorView> inputs;
  std::vector<Tensor> outputs;

  const google::protobuf::RepeatedPtrField<manifest::Entry> &entries() const {
    const manifest::Manifest &m = session->manifest();
    return m.programs(m.program_of_rank(0)).entries();
  }
};

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

Status badArgument(const char *what, const std::string &where = "") {
  return Status::error(StatusCode::InvalidArgument, what, where);
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
  if (!binding || !out)
    return badArgument("no binding", std::to_string(index));
  out->name = binding->name().c_str();
  switch (binding->role()) {
  case manifest::Binding::INPUT:
  case manifest::Binding::LABEL:
  case manifest::Binding::MASK:
  case manifest::Binding::COUNT:
  case manifest::Binding::OUTPUT:
  case manifest::Binding::LOSS:
  case manifest::Binding::LEARNING_RATE:
    out->role = static_cast<dist_role_t>(binding->role());
    break;
  default:
    out->role = DIST_ROLE_OTHER;
  }
  const manifest::TensorType &type = binding->global_type();
  out->type = static_cast<dist_data_type_t>(type.type());
  out->num_dims = type.shape_size();
  out->dims = type.shape().data();
  return Status();
}

Status toView(const dist_tensor_t *tensor, TensorView *out) {
  if (!tensor || tensor->num_dims < 0 ||
      (tensor->num_dims > 0 && !tensor->dims) ||
      dist_data_type_size(tensor->type) == 0)
    return badArgument("a tensor needs a type, dims and data");
  out->type = static_cast<DataType>(tensor->type);
  out->shape.assign(tensor->dims, tensor->dims + tensor->num_dims);
  out->data = tensor->data;
  return Status();
}

Status run(dist_session_t *session, const manifest::Entry &entry,
           const dist_tensor_t *inputs, int32_t numInputs) {
  if (numInputs < 0 || (numInputs > 0 && !inputs))
    return badArgument("inputs are needed", entry.name());
  session->inputs.resize(numInputs);
  for (int32_t i = 0; i < numInputs; ++i)
    DIST_RETURN_IF_ERROR(toView(&inputs[i], &session->inputs[i]));
  return session->session->run(entry, session->inputs, &session->outputs);
}

Status checkVariable(const dist_session_t *session, int32_t index) {
  if (!session || index < 0 ||
      index >= session->session->manifest().variables_size())
    return badArgument("no variable", std::to_string(index));
  return Status();
}

} // namespace

dist_status_t *dist_session_open(const char *package,
                                 const dist_session_options_t *options,
                                 dist_session_t **out_session) {
  return guarded([&]() -> Status {
    if (!package || !out_session)
      return badArgument("a package's path is needed");
    *out_session = nullptr;
    SessionOptions session;
    // Older callers know fewer options.
    if (options &&
        options->struct_size >=
            offsetof(dist_session_options_t, collective_timeout) +
                sizeof(options->collective_timeout) &&
        options->collective_timeout > 0)
      session.collectiveTimeout = options->collective_timeout;
    auto result = std::make_unique<dist_session_t>();
    DIST_RETURN_IF_ERROR(Session::open(package, session, &result->session));
    *out_session = result.release();
    return Status();
  });
}

void dist_session_close(dist_session_t *session) { delete session; }

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
    if (num_outputs < 0 || num_outputs > countTensors(found->results()) ||
        (num_outputs > 0 && !out_outputs))
      return badArgument("more outputs than the entry has", entry);
    DIST_RETURN_IF_ERROR(run(session, *found, inputs, num_inputs));
    for (int32_t i = 0; i < num_outputs; ++i) {
      const Tensor &tensor = session->outputs[i];
      out_outputs[i].type = static_cast<dist_data_type_t>(tensor.type);
      out_outputs[i].num_dims = tensor.shape.size();
      out_outputs[i].dims = tensor.shape.data();
      out_outputs[i].data = tensor.data.data();
    }
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
    int32_t index = 0;
    for (const manifest::Binding &binding : entry->results()) {
      if (!isTensor(binding))
        continue;
      if (binding.role() == manifest::Binding::LOSS && out_loss)
        *out_loss = elementAsDouble(session->outputs[index].type,
                                    session->outputs[index].data.data(), 0);
      ++index;
    }
    return Status();
  });
}

dist_status_t *dist_session_predict(dist_session_t *session,
                                    const dist_tensor_t *inputs,
                                    int32_t num_inputs,
                                    dist_tensor_t *out_outputs,
                                    int32_t num_outputs) {
  return dist_session_run(session, "predict", inputs, num_inputs, out_outputs,
                          num_outputs);
}

int32_t dist_session_variable_count(const dist_session_t *session) {
  return session ? session->session->manifest().variables_size() : 0;
}

dist_status_t *dist_session_variable(const dist_session_t *session,
                                     int32_t index,
                                     dist_variable_t *out_variable) {
  return guarded([&]() -> Status {
    DIST_RETURN_IF_ERROR(checkVariable(session, index));
    if (!out_variable)
      return badArgument("room for a variable's description is needed");
    const manifest::Variable &variable =
        session->session->manifest().variables(index);
    out_variable->name = variable.name().c_str();
    out_variable->trainable = variable.trainable();
    const manifest::TensorType &type = variable.global_type();
    out_variable->type = static_cast<dist_data_type_t>(type.type());
    out_variable->num_dims = type.shape_size();
    out_variable->dims = type.shape().data();
    return Status();
  });
}

int32_t dist_session_find_variable(const dist_session_t *session,
                                   const char *name) {
  for (int32_t i = 0; name && i < dist_session_variable_count(session); ++i)
    if (session->session->manifest().variables(i).name() == name)
      return i;
  return -1;
}

dist_status_t *dist_session_read_variable(dist_session_t *session,
                                          int32_t index, void *out_data,
                                          size_t bytes) {
  return guarded([&]() -> Status {
    DIST_RETURN_IF_ERROR(checkVariable(session, index));
    Tensor value;
    DIST_RETURN_IF_ERROR(session->session->readVariable(index, &value));
    if (!out_data || bytes < value.data.size())
      return badArgument("too little room for a variable",
                         session->session->manifest().variables(index).name());
    std::memcpy(out_data, value.data.data(), value.data.size());
    return Status();
  });
}

dist_status_t *dist_session_write_variable(dist_session_t *session,
                                           int32_t index,
                                           const dist_tensor_t *value) {
  return guarded([&]() -> Status {
    DIST_RETURN_IF_ERROR(checkVariable(session, index));
    TensorView view;
    DIST_RETURN_IF_ERROR(toView(value, &view));
    if (!view.data && view.bytes() != 0)
      return badArgument("a variable's value needs data");
    return session->session->writeVariable(index, view);
  });
}

dist_status_t *dist_session_reset(dist_session_t *session) {
  return guarded([&]() -> Status {
    if (!session)
      return badArgument("a session is needed");
    return session->session->resetVariables();
  });
}

dist_status_t *dist_session_save(dist_session_t *session, const char *path) {
  return guarded([&]() -> Status {
    if (!session || !path)
      return badArgument("a session and a path are needed");
    const manifest::Manifest &m = session->session->manifest();
    std::vector<Tensor> values(m.variables_size());
    SafetensorsWriter writer(path);
    for (int i = 0; i < m.variables_size(); ++i) {
      DIST_RETURN_IF_ERROR(session->session->readVariable(i, &values[i]));
      writer.add(m.variables(i).name(), values[i].type, values[i].shape,
                 values[i].data.data());
    }
    return writer.finish();
  });
}
