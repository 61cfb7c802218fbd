//===- onnx_export.cpp - A trained model as an ONNX file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/export/onnx_export.h"
#include "runtime/formats/external_files.h"
#include "runtime/formats/onnx.pb.h"
#include "runtime/formats/onnx_tensor.h"
#include <climits>
#include <set>

using namespace dist;

namespace {
/// The multi-device configuration that is ours, and the first version of the
/// format that has them.
constexpr char kConfiguration[] = "dist-mlir";
constexpr int64_t kFirstIrWithDevices = 11;

Status readModel(const std::string &path, onnx::ModelProto *model,
                 RawElements *raw = nullptr,
                 FileAccess access = FileAccess::Read) {
  std::shared_ptr<const FileBytes> file;
  DIST_RETURN_IF_ERROR(FileBytes::openUnpacked(path, &file, access));
  if (raw)
    raw->owner = file;
  return parseOnnxModel(file->bytes(), path, model, raw);
}

Status writeModel(const onnx::ModelProto &model, const std::string &path,
                  bool durable = false) {
  std::string bytes;
  if (model.ByteSizeLong() > INT_MAX || !model.SerializeToString(&bytes))
    return Status::error(StatusCode::InvalidInput, "cannot write the model",
                         path, "an ONNX file ends at 2 GiB",
                         "write the weights as .safetensors");
  return writeFile(path, bytes, durable);
}

/// Whether an initializer has elements, in any field.
bool isFilled(const onnx::TensorProto &tensor) {
  return tensor.has_raw_data() || tensor.float_data_size() ||
         tensor.int32_data_size() || tensor.int64_data_size() ||
         tensor.double_data_size() || tensor.uint64_data_size() ||
         tensor.string_data_size() || tensor.data_location() == 1;
}

void clearElements(onnx::TensorProto *tensor) {
  tensor->clear_raw_data();
  tensor->clear_float_data();
  tensor->clear_int32_data();
  tensor->clear_int64_data();
  tensor->clear_double_data();
  tensor->clear_uint64_data();
  tensor->clear_external_data();
  tensor->clear_data_location();
}
} // namespace

Status dist::writeOnnxSkeleton(const std::string &path,
                               const std::vector<std::string> &variables,
                               const std::string &skeleton,
                               const std::vector<OnnxCopy> &copies,
                               FileAccess access) {
  onnx::ModelProto model;
  RawElements raw;
  DIST_RETURN_IF_ERROR(readModel(path, &model, &raw, access));
  // A copy's elements are those of what it is of.
  std::map<std::string, std::string_view> elements;
  for (auto &[i, bytes] : raw.ofInitializer)
    elements[model.graph().initializer(i).name()] = bytes;
  for (const OnnxCopy &copy : copies)
    if (auto from = elements.find(copy.from); from != elements.end())
      elements[copy.name] = from->second;
  addOnnxCopies(copies, model.mutable_graph());
  std::set<std::string> stripped(variables.begin(), variables.end());
  ExternalFiles files(path, access);
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    auto left = elements.find(tensor.name());
    if (stripped.count(tensor.name())) {
      clearElements(&tensor);
    } else if (left != elements.end()) {
      tensor.set_raw_data(left->second.data(), left->second.size());
    } else if (tensor.data_location() == 1) {
      HostArray array;
      DIST_RETURN_IF_ERROR(takeOnnxTensor(tensor, &files, path, &array));
      clearElements(&tensor);
      tensor.set_raw_data(array.data, array.view().bytes());
    }
  }
  return writeModel(model, skeleton);
}

OnnxShards
dist::arrangeShards(const std::vector<std::pair<std::string, int64_t>> &mesh,
                    const std::vector<std::vector<std::string>> &axesOfDims,
                    const std::function<bool(int64_t device)> &holds) {
  std::map<std::string, int64_t> sizes, strides;
  int64_t devices = 1;
  for (auto axis = mesh.rbegin(); axis != mesh.rend(); ++axis) {
    sizes[axis->first] = axis->second;
    strides[axis->first] = devices;
    devices *= axis->second;
  }
  OnnxShards shards;
  std::vector<int64_t> placeOf(devices, 0);
  int64_t parts = 1;
  for (const std::vector<std::string> &axes : axesOfDims) {
    int64_t count = 1;
    for (const std::string &axis : axes) {
      count *= sizes[axis];
      for (int64_t device = 0; device < devices; ++device)
        placeOf[device] = placeOf[device] * sizes[axis] +
                          device / strides[axis] % sizes[axis];
    }
    shards.counts.push_back(count);
    parts *= count;
  }
  shards.devices.resize(parts);
  for (int64_t device = 0; device < devices; ++device)
    if (holds(device))
      shards.devices[placeOf[device]].push_back(device);
  return shards;
}

/// Each node that reads a split initializer says how.
static void writeShards(const std::map<std::string, OnnxShards> &shards,
                        int64_t numDevices, onnx::ModelProto *model) {
  if (shards.empty())
    return;
  // Ours comes first, where the import looks; one of an earlier run goes.
  auto *all = model->mutable_configuration();
  for (int i = all->size() - 1; i >= 0; --i)
    if (all->Get(i).name() == kConfiguration)
      all->DeleteSubrange(i, 1);
  onnx::DeviceConfigurationProto *configuration = all->Add();
  configuration->set_name(kConfiguration);
  configuration->set_num_devices(numDevices);
  for (int i = all->size() - 1; i > 0; --i)
    all->SwapElements(i, i - 1);
  model->set_ir_version(
      std::max<int64_t>(model->ir_version(), kFirstIrWithDevices));
  for (onnx::NodeProto &node : *model->mutable_graph()->mutable_node()) {
    auto *mine = node.mutable_device_configurations();
    for (int i = mine->size() - 1; i >= 0; --i)
      if (mine->Get(i).configuration_id() == kConfiguration)
        mine->DeleteSubrange(i, 1);
    onnx::NodeDeviceConfigurationProto *entry = nullptr;
    for (const std::string &input : node.input()) {
      auto found = shards.find(input);
      if (found == shards.end())
        continue;
      if (!entry) {
        entry = mine->Add();
        entry->set_configuration_id(kConfiguration);
      }
      onnx::ShardingSpecProto *spec = entry->add_sharding_spec();
      spec->set_tensor_name(input);
      int64_t group = 0;
      for (const std::vector<int64_t> &devices : found->second.devices) {
        if (devices.size() == 1) {
          spec->add_device(devices.front());
          continue;
        }
        // Copies of one shard: a group, by a negative number.
        spec->add_device(--group);
        auto *members = spec->add_index_to_device_group_map();
        members->set_key(group);
        for (int64_t device : devices)
          members->add_value(device);
      }
      const std::vector<int64_t> &counts = found->second.counts;
      for (size_t dim = 0; dim < counts.size(); ++dim) {
        if (counts[dim] == 1)
          continue;
        onnx::ShardedDimProto *sharded = spec->add_sharded_dim();
        sharded->set_axis(dim);
        sharded->add_simple_sharding()->set_num_shards(counts[dim]);
      }
    }
  }
}

Status dist::writeOnnxModel(const std::string &skeleton,
                            const VariableReader &read, const std::string &path,
                            const std::map<std::string, OnnxShards> &shards,
                            int64_t numDevices, bool durable) {
  onnx::ModelProto model;
  DIST_RETURN_IF_ERROR(readModel(skeleton, &model));
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    if (isFilled(tensor))
      continue;
    std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    if (elementCount(shape) == 0)
      continue;
    Tensor value;
    DIST_RETURN_IF_ERROR(read(tensor.name(), &value));
    if (value.type != fromOnnxType(tensor.data_type()) ||
        value.view().bytes() != byteSize(value.type) * elementCount(shape))
      return Status::error(
          StatusCode::Internal, "cannot write the model", path,
          "variable '" + tensor.name() + "' is " + name(value.type) +
              toString(value.shape) + ", but the model has " +
              onnxTypeName(tensor.data_type()) + toString(shape));
    tensor.set_raw_data(value.data.data(), value.view().bytes());
  }
  writeShards(shards, numDevices, &model);
  return writeModel(model, path, durable);
}
