//===- agreement.cpp - What a mesh's processes tell each other ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/agreement.h"
#include "runtime/core/told.h"

namespace dist {

uint32_t allAxes(const manifest::Mesh &mesh) {
  return (1u << mesh.axes_size()) - 1;
}

Status Agreement::onDevices(
    const std::function<Status(int number, Communicator &)> &job) const {
  int devices = deviceCount(manifest.mesh());
  if (localRanks.front() >= devices)
    return Status::error(StatusCode::InvalidArgument, "processes cannot agree",
                         manifest.model_name(),
                         "this one has the mesh's host alone",
                         "place a device beside it");
  std::vector<Status> statuses(localRanks.size());
  DIST_RETURN_IF_ERROR(threads.run([&](int number) {
    if (localRanks[number] < devices)
      statuses[number] = job(number, *ranks[localRanks[number]]->communicator);
  }));
  for (Status &status : statuses)
    DIST_RETURN_IF_ERROR(std::move(status));
  return Status();
}

Status Agreement::agree(bool here, bool *everywhere) const {
  std::vector<int32_t> flags(localRanks.size(), here);
  DIST_RETURN_IF_ERROR(onDevices([&](int number, Communicator &communicator) {
    return communicator.allReduce(sessionOp, &flags[number], 1, manifest::I32,
                                  Reduction::Min, allAxes(manifest.mesh()));
  }));
  *everywhere = flags.front() != 0;
  return Status();
}

Status Agreement::exchange(int process, int processes, const std::string &mine,
                           std::vector<std::string> *all) const {
  int devices = deviceCount(manifest.mesh());
  // Of each device its process, and how long the text is: the first device of a
  // process sends it, the others say that they do not.
  std::vector<std::vector<TextTitle>> titles(localRanks.size());
  std::vector<std::vector<std::string>> texts(localRanks.size());
  DIST_RETURN_IF_ERROR(onDevices([&](int number, Communicator &communicator) {
    TextTitle own = {process, number == 0 ? int64_t(mine.size()) : -1};
    titles[number].resize(devices);
    DIST_RETURN_IF_ERROR(
        communicator.allGather(sessionOp, &own, titles[number].data(),
                               sizeof own, allAxes(manifest.mesh())));
    texts[number].resize(processes);
    for (int root = 0; root < devices; ++root) {
      const TextTitle &title = titles[number][root];
      if (title.bytes < 0)
        continue;
      if (title.process < 0 || title.process >= processes)
        return Status::error(StatusCode::Internal, "processes cannot agree",
                             manifest.model_name(),
                             "rank " + std::to_string(root) +
                                 " is of a process that is not placed");
      std::string &text = texts[number][title.process];
      if (localRanks[number] == root)
        text = mine;
      text.resize(title.bytes);
      if (!text.empty())
        DIST_RETURN_IF_ERROR(communicator.broadcast(sessionOp, text.data(),
                                                    title.bytes, root,
                                                    allAxes(manifest.mesh())));
    }
    return Status();
  }));
  *all = std::move(texts.front());
  return Status();
}

} // namespace dist
