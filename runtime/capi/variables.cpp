//===- variables.cpp - C interface: a session's variables -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/capi.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/learning_rate.h"
#include "runtime/core/package.h"

using namespace dist;

static Status checkVariable(const dist_session_t *session, int32_t index) {
  if (!session || index < 0 ||
      index >= session->session->manifest().variables_size())
    return badArgument("no variable", std::to_string(index));
  return Status();
}

int32_t dist_session_variable_count(const dist_session_t *session) {
  return session ? session->session->manifest().variables_size() : 0;
}

dist_status_t *dist_session_variable(const dist_session_t *session,
                                     int32_t index,
                                     dist_variable_t *out_variable) {
  return guarded([&]() -> Status {
    DIST_RETURN_IF_ERROR(checkVariable(session, index));
    const manifest::Variable &variable =
        session->session->manifest().variables(index);
    dist_variable_t filled = DIST_VARIABLE_INIT;
    filled.name = variable.name().c_str();
    filled.trainable = variable.trainable();
    const manifest::TensorType &type = variable.global_type();
    filled.type = static_cast<dist_data_type_t>(type.type());
    // Of a value, not of the rows that it is the mean of.
    int first = isReadAsOneRow(variable);
    filled.num_dims = type.shape_size() - first;
    filled.dims = type.shape().data() + first;
    return giveStruct(filled, sizeof filled, "dist_variable_t", out_variable);
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

dist_status_t *dist_session_learning_rate(dist_session_t *session,
                                          double *out_rate) {
  return guarded([&]() -> Status {
    if (!session || !out_rate)
      return badArgument("a session and room for a rate are needed");
    return readLearningRate(*session->session, out_rate);
  });
}

dist_status_t *dist_session_set_learning_rate(dist_session_t *session,
                                              double rate) {
  return guarded([&]() -> Status {
    if (!session)
      return badArgument("a session is needed");
    return setLearningRate(*session->session, rate);
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
    return saveVariables(path, *session->session, VariableSet::All);
  });
}

dist_status_t *dist_session_load(dist_session_t *session, const char *path) {
  return guarded([&]() -> Status {
    if (!session || !path)
      return badArgument("a session and a path are needed");
    std::vector<std::string> notes;
    DIST_RETURN_IF_ERROR(loadVariables(path, *session->session, &notes));
    for (const std::string &note : notes)
      session->session->log(LogLevel::Warning, note);
    return Status();
  });
}
