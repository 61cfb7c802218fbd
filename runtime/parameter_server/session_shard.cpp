//===- session_shard.cpp - A server's variables in a session --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/session_shard.h"
#include "runtime/formats/convert.h"

namespace dist::ps {

using manifest::Binding;

Status SessionShard::create(Session &session, const ServerLayout &layout,
                            std::unique_ptr<SessionShard> *out) {
  std::unique_ptr<SessionShard> shard(new SessionShard(session, layout));
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

Status SessionShard::readParameters(Buffer *out) {
  out->resize(layout.partBytes);
  for (const PlacedPart &part : layout.parts) {
    DIST_RETURN_IF_ERROR(session.readVariable(part.there, &value));
    std::memcpy(out->data() + part.offset, value.data.data(), part.bytes);
  }
  return Status();
}

Status SessionShard::apply(const Buffer &gradients, AppliedBody *out) {
  inputs.clear();
  for (const PlacedPart &part : layout.parts)
    inputs.push_back(part.view(gradients));
  DIST_RETURN_IF_ERROR(session.run(*entry, inputs, &outputs));
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
