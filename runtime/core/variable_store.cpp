//===- variable_store.cpp - Variables in the devices' state blocks --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/variable_store.h"
#include "runtime/core/agreement.h"
#include "runtime/formats/convert.h"
#include "runtime/formats/safetensors.h"
#include <cstring>

namespace dist {

namespace {

template <typename T> void fillElements(char *data, int64_t count, T value) {
  std::fill_n(reinterpret_cast<T *>(data), count, value);
}

void fillWith(DataType type, double value, char *data, int64_t count) {
  switch (type) {
  case manifest::F32:
    return fillElements<float>(data, count, value);
  case manifest::F64:
    return fillElements<double>(data, count, value);
  case manifest::F16:
    return fillElements<uint16_t>(data, count, floatToHalf(value));
  case manifest::BF16:
    return fillElements<uint16_t>(data, count, floatToBfloat(value));
  case manifest::BOOL:
    return fillElements<uint8_t>(data, count, value != 0);
  case manifest::I8:
  case manifest::U8:
    return fillElements<uint8_t>(data, count, static_cast<int64_t>(value));
  case manifest::I16:
  case manifest::U16:
    return fillElements<uint16_t>(data, count, static_cast<int64_t>(value));
  case manifest::I32:
  case manifest::U32:
    return fillElements<uint32_t>(data, count, static_cast<int64_t>(value));
  default:
    return fillElements<int64_t>(data, count, static_cast<int64_t>(value));
  }
}

} // namespace

VariableStore::VariableStore(
    const Package &package,
    std::vector<std::unique_ptr<dist_rt_context>> &ranks,
    const std::vector<int> &localRanks, RankThreads &threads)
    : package(package), ranks(ranks), localRanks(localRanks), threads(threads),
      version(package.manifest.variables_size(), 1) {}

Status VariableStore::view(int index, int rank, Buffer *room,
                           const char **out) const {
  dist_rt_context &holder = *ranks[rank];
  int64_t offset = package.manifest.variables(index).state_offset();
  *out = holder.state->map();
  if (*out) {
    *out += offset;
    return Status();
  }
  room->resize(package.variables[index].localBytes);
  *out = room->data();
  DIST_RETURN_IF_ERROR(holder.stream->copy(
      room->data(), holder.state->address() + offset, room->size()));
  return holder.finish();
}

Status VariableStore::fill(int index, int rank,
                           const std::function<void(char *part)> &fill) const {
  dist_rt_context &holder = *ranks[rank];
  int64_t offset = package.manifest.variables(index).state_offset();
  if (char *mapped = holder.state->map()) {
    fill(mapped + offset);
    return Status();
  }
  Buffer room(package.variables[index].localBytes);
  fill(room.data());
  DIST_RETURN_IF_ERROR(holder.stream->copy(holder.state->address() + offset,
                                           room.data(), room.size()));
  return holder.finish();
}

bool VariableStore::holds(int index, int rank) const {
  return ranks[rank] && holdsVariable(package.manifest,
                                      package.manifest.variables(index), rank);
}

Status VariableStore::fillAll(
    int index, const std::function<void(int rank, char *part)> &job) const {
  std::vector<Status> statuses(localRanks.size());
  DIST_RETURN_IF_ERROR(threads.run([&](int number) {
    int rank = localRanks[number];
    if (holds(index, rank))
      statuses[number] =
          fill(index, rank, [&](char *part) { job(rank, part); });
  }));
  for (Status &status : statuses)
    DIST_RETURN_IF_ERROR(std::move(status));
  return Status();
}

Status VariableStore::checkIndex(int index, int rank) const {
  if (index < 0 || index >= package.manifest.variables_size() || rank < 0 ||
      rank >= package.manifest.ranks())
    return Status::error(StatusCode::InvalidArgument,
                         "no variable " + std::to_string(index) + " on rank " +
                             std::to_string(rank));
  return Status();
}

Status VariableStore::checkHolds(int index, int rank) const {
  if (holds(index, rank))
    return Status();
  if (!ranks[rank])
    return Status::error(StatusCode::InvalidArgument,
                         "rank " + std::to_string(rank) +
                             " is of another process",
                         package.manifest.variables(index).name());
  return Status::error(StatusCode::InvalidArgument,
                       "rank " + std::to_string(rank) + " has no part of '" +
                           package.manifest.variables(index).name() + "'");
}

/// Whether two ranks that should have the same part do not, or cannot tell.
bool VariableStore::copiesDiffer(int index) const {
  const Distribution &d = package.variables[index];
  if (d.unreduced)
    return false;
  // What the others' ranks have is not known here.
  if (!isAlone())
    return true;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (d.slices[rank].firstCopy || !holds(index, rank))
      continue;
    for (size_t first = 0; first < rank; ++first)
      if (d.slices[first].firstCopy &&
          d.slices[first].start == d.slices[rank].start) {
        Buffer rooms[2];
        const char *parts[2];
        if (!view(index, first, &rooms[0], &parts[0]).ok() ||
            !view(index, rank, &rooms[1], &parts[1]).ok() ||
            std::memcmp(parts[0], parts[1], d.localBytes) != 0)
          return true;
      }
  }
  return false;
}

void VariableStore::tear(const std::vector<int> &variables,
                         const std::string &why, bool everywhere) {
  for (int index : variables)
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (holds(index, rank) && (everywhere || copiesDiffer(index)))
        torn[index].insert(rank);
  whyTorn = why;
}

Status VariableStore::checkWhole(const std::vector<int> &variables) const {
  for (int index : variables)
    if (torn.count(index))
      return Status::error(StatusCode::InvalidArgument,
                           "the variable is between two steps",
                           package.manifest.variables(index).name(), whyTorn,
                           "load a state, or reset the session");
  return Status();
}

Status VariableStore::gather(int index, Buffer *parts) const {
  const Distribution &d = package.variables[index];
  const manifest::Mesh &mesh = package.manifest.mesh();
  int64_t devices = deviceCount(mesh);
  parts->resize(d.localBytes * ranks.size());
  std::vector<Buffer> others(localRanks.size()); // the first rank's are `parts`
  std::vector<Status> statuses(localRanks.size());
  DIST_RETURN_IF_ERROR(threads.run([&](int number) {
    Communicator &communicator = *ranks[localRanks[number]]->communicator;
    if (number > 0)
      others[number].resize(d.localBytes);
    for (size_t root = 0; root < ranks.size(); ++root) {
      // The mesh's host meets the devices only where it is the root.
      if (!d.slices[root].firstCopy ||
          (localRanks[number] >= devices && int64_t(root) < devices))
        continue;
      char *to = number > 0 ? others[number].data()
                            : parts->data() + root * d.localBytes;
      Status status;
      if (localRanks[number] == int(root)) {
        Buffer room;
        const char *part = nullptr;
        status = view(index, root, &room, &part);
        if (status.ok())
          std::memcpy(to, part, d.localBytes);
        else // frees the others
          communicator.abort(communicator.generation(), status.message());
      }
      if (status.ok())
        status = communicator.broadcast(sessionOp, to, d.localBytes, root,
                                        allAxes(mesh));
      if (!status.ok()) {
        statuses[number] = std::move(status);
        return;
      }
    }
  }));
  for (Status &status : statuses)
    DIST_RETURN_IF_ERROR(std::move(status));
  return Status();
}

Status VariableStore::read(int index, Tensor *out, bool *met) const {
  DIST_RETURN_IF_ERROR(checkIndex(index, 0));
  DIST_RETURN_IF_ERROR(checkWhole({index}));
  const Distribution &d = package.variables[index];
  out->type = d.type;
  out->shape = d.globalShape;
  out->data.resize(d.globalBytes);
  Buffer gathered; // where they are not all here
  if (!isAlone()) {
    if (met)
      *met = true;
    DIST_RETURN_IF_ERROR(gather(index, &gathered));
  }
  auto find = [&](int rank, Buffer *room, const char **part) {
    if (isAlone())
      return view(index, rank, room, part);
    *part = gathered.data() + rank * d.localBytes;
    return Status();
  };
  std::vector<Buffer> rooms(d.unreduced ? ranks.size() : 1);
  std::vector<const char *> parts(ranks.size(), nullptr);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!d.slices[rank].firstCopy)
      continue;
    DIST_RETURN_IF_ERROR(
        find(rank, &rooms[d.unreduced ? rank : 0], &parts[rank]));
    if (!d.unreduced)
      d.paste(parts[rank], rank, out->data.data());
  }
  if (d.unreduced)
    addPartials(
        d, [&](int rank) -> const void * { return parts[rank]; },
        out->data.data());
  if (isReadAsOneRow(package.manifest.variables(index)))
    readAsOneRow(package.manifest.variables(index), out);
  return Status();
}

Status VariableStore::write(int index, const TensorView &value) {
  DIST_RETURN_IF_ERROR(checkIndex(index, 0));
  const Distribution &d = package.variables[index];
  TensorView view = value;
  Buffer rows;
  if (isReadAsOneRow(package.manifest.variables(index)) &&
      std::vector<int64_t>(d.globalShape.begin() + 1, d.globalShape.end()) ==
          value.shape) {
    for (int64_t row = 0; row < d.globalShape[0]; ++row) {
      const char *data = static_cast<const char *>(value.data);
      rows.insert(rows.end(), data, data + value.bytes());
    }
    view.shape = d.globalShape;
    view.data = rows.data();
  }
  if (view.type != d.type || view.shape != d.globalShape)
    return Status::error(
        StatusCode::InvalidInput, "a variable's value does not fit",
        package.manifest.variables(index).name(),
        std::string("expected ") + name(d.type) + toString(d.globalShape) +
            ", but got " + name(value.type) + toString(value.shape));
  // Each rank touches its own memory first, and large ones in parallel.
  DIST_RETURN_IF_ERROR(fillAll(index, [&](int rank, char *part) {
    if (d.slices[rank].partial == 0)
      d.cut(view.data, rank, part);
    else
      std::memset(part, 0, d.localBytes);
  }));
  ++version[index];
  torn.erase(index);
  return Status();
}

Status VariableStore::readSlice(int index, int rank, Tensor *out) const {
  DIST_RETURN_IF_ERROR(checkIndex(index, rank));
  const Distribution &d = package.variables[index];
  out->type = d.type;
  out->shape = d.localShape;
  DIST_RETURN_IF_ERROR(checkHolds(index, rank));
  DIST_RETURN_IF_ERROR(checkWhole({index}));
  Buffer room;
  const char *data = nullptr;
  DIST_RETURN_IF_ERROR(view(index, rank, &room, &data));
  out->data.assign(data, data + d.localBytes);
  return Status();
}

Status VariableStore::writeSlice(int index, int rank, const TensorView &value) {
  DIST_RETURN_IF_ERROR(checkIndex(index, rank));
  const Distribution &d = package.variables[index];
  if (value.type != d.type || value.shape != d.localShape)
    return Status::error(
        StatusCode::InvalidInput, "a variable's slice does not fit",
        package.manifest.variables(index).name(),
        std::string("expected ") + name(d.type) + toString(d.localShape) +
            ", but got " + name(value.type) + toString(value.shape));
  DIST_RETURN_IF_ERROR(checkHolds(index, rank));
  DIST_RETURN_IF_ERROR(fill(index, rank, [&](char *part) {
    std::memcpy(part, value.data, d.localBytes);
  }));
  ++version[index];
  if (auto found = torn.find(index); found != torn.end()) {
    found->second.erase(rank);
    if (found->second.empty())
      torn.erase(found);
  }
  return Status();
}

/// A package's weights: never many of them beside the variables.
class VariableStore::Weights {
public:
  static Status open(const std::string &path, bool mapped,
                     std::unique_ptr<Weights> *out) {
    auto weights = std::make_unique<Weights>();
    weights->path = path;
    DIST_RETURN_IF_ERROR(
        mapped ? SafetensorsFile::open(path, &weights->map, FileAccess::Map)
               : SafetensorsReader::open(path, &weights->reader));
    *out = std::move(weights);
    return Status();
  }

  /// Valid until the next call.
  Status get(const std::string &key, TensorView *out) {
    const auto &tensors = map ? map->tensors() : reader->tensors();
    auto found = tensors.find(key);
    if (found == tensors.end())
      return Status::error(StatusCode::InvalidInput, "the package is damaged",
                           path, "it has no tensor " + key, "compile it again");
    if (!map) {
      DIST_RETURN_IF_ERROR(reader->read(key, &tensor));
      *out = tensor.view();
      return Status();
    }
    // Pages that were read count as ours.
    if (mappedBytes >= releasedBytes) {
      map->file()->release();
      mappedBytes = 0;
    }
    *out = found->second;
    mappedBytes += out->bytes();
    return Status();
  }
  /// Lets go of what is in memory.
  void rest() {
    tensor = Tensor();
    if (map)
      map->file()->release();
    mappedBytes = 0;
  }

private:
  static constexpr int64_t releasedBytes = 16 << 20;
  std::string path;
  std::unique_ptr<SafetensorsFile> map; // or
  std::unique_ptr<SafetensorsReader> reader;
  Tensor tensor;
  int64_t mappedBytes = 0; // since the last release
};

VariableStore::~VariableStore() = default;

Status VariableStore::openWeights(bool mapped) {
  for (const manifest::Variable &variable : package.manifest.variables())
    if (!variable.weights_key().empty())
      return Weights::open(package.folder + "/weights.safetensors", mapped,
                           &weights);
  return Status();
}

Status VariableStore::reset() {
  for (int i = 0; i < package.manifest.variables_size(); ++i) {
    const manifest::Variable &variable = package.manifest.variables(i);
    if (variable.weights_key().empty()) {
      const Distribution &d = package.variables[i];
      DIST_RETURN_IF_ERROR(fillAll(i, [&](int rank, char *to) {
        double fill = d.slices[rank].partial == 0 ? variable.fill() : 0;
        if (fill == 0 || !d.slices[rank].padded)
          return fillWith(d.type, fill, to, elementCount(d.localShape));
        // Padding is zero at the start of every step.
        Buffer whole(d.globalBytes);
        fillWith(d.type, fill, whole.data(), elementCount(d.globalShape));
        d.cut(whole.data(), rank, to);
      }));
      ++version[i];
      torn.erase(i);
      continue;
    }
    TensorView value;
    DIST_RETURN_IF_ERROR(weights->get(variable.weights_key(), &value));
    DIST_RETURN_IF_ERROR(write(i, value));
  }
  if (weights)
    weights->rest();
  return Status();
}

} // namespace dist
