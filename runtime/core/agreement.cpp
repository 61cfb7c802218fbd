//===- agreement.cpp - What a mesh's processes tell each other ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/agreement.h"
#include <algorithm>
#include <cstring>

namespace dist {

uint32_t allAxes(const manifest::Mesh &mesh) {
  return (1u << mesh.axes_size()) - 1;
}

/// Of these ranks; the mesh's host is the last one.
static int countDevices(const std::vector<int> &localRanks,
                        const manifest::Mesh &mesh) {
  return int(localRanks.size()) - (localRanks.back() >= deviceCount(mesh));
}

Agreement::Agreement(const manifest::Manifest &manifest,
                     const Placement &placement, int process,
                     std::vector<std::unique_ptr<dist_rt_context>> &ranks,
                     RankThreads &threads)
    : manifest(manifest), placement(placement), process(process),
      axes(allAxes(manifest.mesh())), ranks(ranks),
      localRanks(placement.ranksOf(process)), threads(threads),
      devices(countDevices(localRanks, manifest.mesh())) {}

template <typename Job> Status Agreement::onDevices(Job &&job) {
  if (devices.empty())
    return Status::error(StatusCode::InvalidArgument, "processes cannot agree",
                         manifest.model_name(),
                         "this one has the mesh's host alone",
                         "place a device beside it");
  DIST_RETURN_IF_ERROR(threads.run([&](int number) {
    if (size_t(number) < devices.size())
      devices[number].status = job(number);
  }));
  for (Device &device : devices)
    DIST_RETURN_IF_ERROR(std::move(device.status));
  return Status();
}

Status Agreement::prepare() {
  for (size_t number = 0; number < devices.size(); ++number) {
    Device &device = devices[number];
    device.titles.resize(deviceCount(manifest.mesh()));
    DIST_RETURN_IF_ERROR(DenseAllReduce::prepare(
        communicator(int(number)), sessionOp, 1, manifest::I32, Reduction::Min,
        axes, &ranks[localRanks[number]]->goOn));
    device.titling =
        std::make_unique<DensePlan>(CollectiveKind::AllGather, sessionOp, axes,
                                    manifest::U8, int64_t(sizeof(TextTitle)));
    device.titling->what.piece.to_place = sizeof(TextTitle);
    DIST_RETURN_IF_ERROR(device.titling->prepare(communicator(int(number))));
  }
  return Status();
}

Status Agreement::agree(bool here, bool *everywhere) {
  DIST_RETURN_IF_ERROR(onDevices([&](int number) {
    int32_t &flag = devices[number].flag;
    flag = here;
    return ranks[localRanks[number]]->goOn->run(communicator(number), &flag);
  }));
  *everywhere = devices.front().flag != 0;
  return Status();
}

/// The first device of a process sends what it says, the others tell that they
/// do not.
Status Agreement::title(int number, int64_t bytes) {
  TextTitle own = {process, number == 0 ? bytes : -1};
  Device &device = devices[number];
  return device.titling->run(communicator(number), &own, device.titles.data());
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

Status Agreement::exchange(const std::string &mine,
                           std::vector<std::string> *all) {
  std::vector<std::vector<std::string>> texts(devices.size());
  DIST_RETURN_IF_ERROR(onDevices([&](int number) -> Status {
    DIST_RETURN_IF_ERROR(title(number, int64_t(mine.size())));
    const std::vector<TextTitle> &titles = devices[number].titles;
    texts[number].resize(placement.processes());
    for (size_t root = 0; root < titles.size(); ++root) {
      const TextTitle &title = titles[root];
      if (title.bytes < 0)
        continue;
      if (title.process < 0 || title.process >= placement.processes())
        return Status::error(StatusCode::Internal, "processes cannot agree",
                             manifest.model_name(),
                             "rank " + std::to_string(root) +
                                 " is of a process that is not placed");
      std::string &text = texts[number][title.process];
      if (localRanks[number] == int(root))
        text = mine;
      text.resize(title.bytes);
      if (!text.empty())
        DIST_RETURN_IF_ERROR(communicator(number).broadcast(
            sessionOp, text.data(), title.bytes, int(root), axes));
    }
    return Status();
  }));
  *all = std::move(texts.front());
  return Status();
}

//===----------------------------------------------------------------------===//
// Blocks of steps
//===----------------------------------------------------------------------===//

Status Agreement::Blocks::prepare(Agreement &agreement,
                                  const std::vector<int> &processes,
                                  int64_t mostBytes) {
  from = processes;
  room = mostBytes;
  const bool isOne = from.size() == 1;
  for (int process : from)
    places.push_back(
        isOne ? 0 : size_t(agreement.placement.ranksOf(process).front()));
  const size_t received =
      isOne ? 1 : size_t(deviceCount(agreement.manifest.mesh()));
  devices = std::vector<Device>(agreement.devices.size());
  for (size_t number = 0; number < devices.size(); ++number) {
    devices[number].blocks.reset(new char[received * size_t(room)]());
    DensePlan *plan = nullptr;
    DIST_RETURN_IF_ERROR(preparePlan(agreement, int(number), room, &plan));
  }
  return Status();
}

Status Agreement::Blocks::preparePlan(Agreement &agreement, int number,
                                      int64_t blockBytes, DensePlan **out) {
  std::unique_ptr<DensePlan> &plan = devices[number].plans[blockBytes];
  if (!plan) {
    const bool isOne = from.size() == 1;
    plan = std::make_unique<DensePlan>(
        isOne ? CollectiveKind::Broadcast : CollectiveKind::AllGather,
        sessionOp, agreement.axes, manifest::U8, blockBytes);
    if (isOne)
      plan->what.call.peer = agreement.placement.ranksOf(from[0]).front();
    else
      plan->what.piece.to_place = blockBytes;
    DIST_RETURN_IF_ERROR(plan->prepare(agreement.communicator(number)));
  }
  *out = plan.get();
  return Status();
}

Status Agreement::Blocks::tellOn(Agreement &agreement, int number,
                                 const char *mine) {
  DIST_RETURN_IF_ERROR(agreement.title(number, bytes));
  for (const TextTitle &title : agreement.devices[number].titles)
    if (title.bytes >= 0 && title.bytes != bytes)
      return Status::error(StatusCode::Internal, "processes cannot agree",
                           "process " + std::to_string(title.process),
                           "it made another number of steps");
  if (bytes == 0)
    return Status();
  DensePlan *plan = nullptr;
  DIST_RETURN_IF_ERROR(preparePlan(agreement, number, bytes, &plan));
  // Of a process that does not tell something goes, too, which nobody reads.
  const size_t own =
      std::find(from.begin(), from.end(), agreement.process) - from.begin();
  char *blocks = devices[number].blocks.get();
  const void *sent = mine + (own < from.size() ? own : 0) * size_t(bytes);
  if (from.size() == 1) {
    std::memcpy(blocks, mine, bytes);
    sent = blocks;
  }
  return plan->run(agreement.communicator(number), sent, blocks);
}

Status Agreement::Blocks::tell(Agreement &agreement, void *blocks,
                               int64_t told) {
  if (told < 0 || told > room)
    return Status::error(StatusCode::Internal, "processes cannot agree",
                         agreement.manifest.model_name(),
                         std::to_string(told) + " bytes are to be told, and " +
                             std::to_string(room) + " were prepared");
  bytes = told;
  DIST_RETURN_IF_ERROR(agreement.onDevices([&](int number) {
    return tellOn(agreement, number, static_cast<const char *>(blocks));
  }));
  for (size_t i = 0; i < from.size(); ++i)
    std::memcpy(static_cast<char *>(blocks) + i * size_t(bytes),
                devices.front().blocks.get() + places[i] * size_t(bytes),
                bytes);
  return Status();
}

} // namespace dist
