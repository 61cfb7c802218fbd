//===- kept_states.cpp - States in memory ---------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/kept_states.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/values.h"
#include "runtime/formats/file.h"

namespace dist {

struct KeptStates::State {
  StateHeader header;
  ValuesFile values;
  std::vector<Tensor> copies;
};

KeptStates::KeptStates() = default;
KeptStates::~KeptStates() = default;
bool KeptStates::empty() const { return states.empty(); }

int64_t KeptStates::step() const {
  return empty() ? -1 : states.back()->header.training.step;
}

int64_t KeptStates::bytes() const {
  int64_t bytes = 0;
  for (const std::unique_ptr<State> &state : states)
    for (const Tensor &copy : state->copies)
      bytes += int64_t(copy.data.size());
  return bytes;
}

Status KeptStates::keep(Session &session, const TrainingState &training) {
  auto state = std::make_unique<State>();
  if (states.size() == 2) {
    state->copies = std::move(states.front()->copies);
    states.erase(states.begin());
  }
  state->header.training = training;
  describe(session.manifest(), &state->header);
  DIST_RETURN_IF_ERROR(state->values.planHeld(session, training));
  DIST_RETURN_IF_ERROR(state->values.copy(&state->copies));
  states.push_back(std::move(state));
  return Status();
}

Status KeptStates::write(State &state, const std::string &path) {
  DIST_RETURN_IF_ERROR(makeFolders(path));
  SavedFile file;
  DIST_RETURN_IF_ERROR(state.values.write(path, &file));
  DIST_RETURN_IF_ERROR(writeIndex(path, {toText(file)}, &state.header.crc));
  return writeHeader(path, state.header);
}

Status KeptStates::write(const std::string &folder) {
  while (!states.empty()) {
    State &state = *states.front();
    const std::string path =
        folder + "/" + stateName(state.header.training.step);
    if (Status status = write(state, path); !status.ok()) {
      removeAll(path);
      return status;
    }
    // Pages of a folder in memory take the place of the copy's.
    states.erase(states.begin());
  }
  return Status();
}

} // namespace dist
