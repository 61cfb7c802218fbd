//===- checkpoint.cpp - C interface: states to go on from -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/capi.h"
#include "runtime/checkpoint/checkpoint.h"

using namespace dist;

struct dist_checkpoint_t {
  std::unique_ptr<CheckpointFolder> folder;
  dist_session_t *session = nullptr;
  TrainingState state; // of the newest state; its step changes
  int64_t keep = 3;
};

Status dist::toFolderUse(int given, FolderUse *out) {
  switch (given) {
  case DIST_CHECKPOINT_NEW:
    *out = FolderUse::New;
    return Status();
  case DIST_CHECKPOINT_RESUME:
    *out = FolderUse::Resume;
    return Status();
  case DIST_CHECKPOINT_OVERWRITE:
    *out = FolderUse::Overwrite;
    return Status();
  default:
    return badArgument("no such use of a checkpoint folder",
                       std::to_string(given));
  }
}

static Status openCheckpoint(const char *folder, dist_session_t *session,
                             const dist_checkpoint_options_t &options,
                             dist_checkpoint_t *out, int64_t *step,
                             std::vector<std::string> *notes) {
  FolderUse use;
  DIST_RETURN_IF_ERROR(toFolderUse(numberOf(options.use), &use));
  if (options.keep < 0)
    return badArgument("a number of states to keep is needed",
                       std::to_string(options.keep));
  if (options.keep > 0)
    out->keep = options.keep;
  out->session = session;
  DIST_RETURN_IF_ERROR(CheckpointFolder::open(folder, use, *session->session,
                                              &out->folder, notes));
  bool found = false;
  if (use == FolderUse::Resume)
    DIST_RETURN_IF_ERROR(
        out->folder->load(*session->session, &out->state, &found, notes));
  *step = found ? out->state.step : -1;
  return out->folder->begin(*session->session);
}

dist_status_t *dist_checkpoint_open(const char *folder, dist_session_t *session,
                                    const dist_checkpoint_options_t *options,
                                    dist_checkpoint_t **out_checkpoint,
                                    int64_t *out_step) {
  return guarded([&]() -> Status {
    if (!folder || !session || !out_checkpoint)
      return badArgument("a folder, a session and room for a checkpoint are "
                         "needed");
    *out_checkpoint = nullptr;
    dist_checkpoint_options_t given = DIST_CHECKPOINT_OPTIONS_INIT;
    DIST_RETURN_IF_ERROR(
        takeStruct(options, sizeof given, "dist_checkpoint_options_t", &given));
    auto result = std::make_unique<dist_checkpoint_t>();
    int64_t step = -1;
    std::vector<std::string> notes;
    Status status =
        openCheckpoint(folder, session, given, result.get(), &step, &notes);
    for (const std::string &note : notes)
      session->session->log(LogLevel::Warning, note);
    DIST_RETURN_IF_ERROR(std::move(status));
    if (out_step)
      *out_step = step;
    *out_checkpoint = result.release();
    return Status();
  });
}

dist_status_t *dist_checkpoint_save(dist_checkpoint_t *checkpoint,
                                    int64_t step) {
  return guarded([&]() -> Status {
    if (!checkpoint || step < 0)
      return badArgument("a checkpoint and a step are needed");
    checkpoint->state.step = step;
    return checkpoint->folder->save(
        checkpoint->keep, *checkpoint->session->session, checkpoint->state);
  });
}

void dist_checkpoint_close(dist_checkpoint_t *checkpoint) { delete checkpoint; }
