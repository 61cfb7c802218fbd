//===- trainer_resume.cpp - What a run goes on from -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/learning_rate.h"
#include "runtime/core/number_text.h"
#include "runtime/train/trainer_impl.h"

namespace dist {

Status Trainer::openFolder() {
  if (options.checkpoint.empty()) {
    if (options.asyncSave)
      return Status::error(StatusCode::InvalidArgument, "nothing to save",
                           "--async-save", "no folder is given",
                           "add --checkpoint DIR");
    if (options.folder.use == FolderUse::New)
      return Status();
    bool resumes = options.folder.use != FolderUse::Overwrite;
    return Status::error(StatusCode::InvalidArgument,
                         resumes ? "nothing to resume from"
                                 : "nothing to overwrite",
                         resumes ? "--resume" : "--overwrite",
                         "no folder is given", "add --checkpoint DIR");
  }
  std::vector<std::string> notes;
  Status status = CheckpointFolder::open(options.checkpoint, options.folder,
                                         session, &folder, &notes);
  for (const std::string &note : notes)
    observer.note(note);
  if (status.ok())
    saves.emplace(session, *folder, options.keep,
                  [this](const std::string &line) { observer.note(line); });
  return status;
}

/// From the newest state behind that step, if there is one.
Status Trainer::resumeBehind(int64_t step, bool *found) {
  TrainingState read;
  std::vector<std::string> notes;
  // What is in memory has its own already.
  bool settable = step < 0 && hasSettableLearningRate(session.manifest());
  double given = 0, saved = 0;
  if (settable)
    DIST_RETURN_IF_ERROR(readLearningRate(session, &given));
  Status status = folder->load(session, &read, found, &notes, step);
  for (const std::string &note : notes)
    observer.note(note);
  DIST_RETURN_IF_ERROR(status);
  if (!*found)
    return Status();
  DIST_RETURN_IF_ERROR(adopt(read, options.checkpoint));
  saves->beginFrom(state.step);
  if (settable)
    DIST_RETURN_IF_ERROR(readLearningRate(session, &saved));
  if (given != saved)
    observer.note("the learning rate goes on from the saved " +
                  numberText(float(saved)) + ", not from the " +
                  numberText(float(given)) + " of --optimizer");
  return Status();
}

Status Trainer::resume() {
  bool found = false;
  DIST_RETURN_IF_ERROR(resumeBehind(-1, &found));
  if (!found)
    observer.note("no saved state in " + options.checkpoint +
                  "; training starts anew");
  return Status();
}

Status Trainer::adopt(const TrainingState &read, const std::string &from) {
  DIST_RETURN_IF_ERROR(checkSameData(read, state, from));
  state = read;
  monitors.resume();
  observer.note("resumed at step " + std::to_string(state.step) + " from " +
                from);
  return Status();
}

/// From what the folder has, if that is asked for.
Status Trainer::resumeSaved() {
  return folder && folder->resumes() ? resume() : Status();
}

/// From what is in memory, if it is whole and nothing newer was saved.
Status Trainer::resumeKept() {
  TrainingState read;
  Kept found = Kept::Nothing;
  std::vector<std::string> notes;
  DIST_RETURN_IF_ERROR(
      loadKept(options.keptIn, session, &read, &found, &notes));
  for (const std::string &note : notes)
    observer.note(note);
  if (found == Kept::Whole) {
    // Copies are not made of every step, and the run may have been taken up
    // by others while these were stopped.
    if (folder && folder->resumes())
      DIST_RETURN_IF_ERROR(resumeBehind(read.step, &isSavedSince));
    return isSavedSince ? Status() : adopt(read, "memory");
  }
  // One was lost before any had begun.
  if (found == Kept::Nothing)
    return resumeSaved();
  if (folder)
    return resume();
  return Status::error(
      StatusCode::Unavailable, "there is no state to go on from", "--elastic",
      "those that are left do not have all variables in memory",
      "add --checkpoint DIR, or split variables inside of workers alone");
}

} // namespace dist
