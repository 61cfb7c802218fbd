//===- averaging.cpp - Workers that train by themselves -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/train/averaging.h"
#include <cstdlib>
#include <limits>

namespace dist {

int64_t stepsPerSync(const manifest::Manifest &manifest) {
  auto found = manifest.options().find("sync-every");
  return found == manifest.options().end()
             ? 0
             : std::strtoll(found->second.c_str(), nullptr, 10);
}

Status Averaging::create(Session &session, Averaging *out) {
  *out = Averaging();
  out->session = &session;
  out->every = stepsPerSync(session.manifest());
  if (out->every == 0)
    return Status();
  out->entry = session.findEntry("sync");
  if (out->every > 0 && out->entry)
    return Status();
  return Status::error(StatusCode::InvalidInput, "the package is damaged",
                       session.manifest().model_name(),
                       "its workers train by themselves, but it has no entry "
                       "'sync' that averages their variables",
                       "compile it again");
}

int64_t Averaging::stepsUntilDue(int64_t step) const {
  return every > 0 ? every - step % every : std::numeric_limits<int64_t>::max();
}

Status Averaging::afterStep(int64_t step) {
  return every > 0 && step % every == 0 ? beforeReading(step) : Status();
}

Status Averaging::beforeReading(int64_t step) {
  if (every == 0 || step == syncedStep)
    return Status();
  DIST_RETURN_IF_ERROR(session->run(*entry, {}, &outputs));
  syncedStep = step;
  return Status();
}

} // namespace dist
