//===- onnx_export.cpp - A trained model as an ONNX file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/export/onnx_export.h"
#include "runtime/formats/external_files.h"
#include "runtime/formats/onnx_branches.h"
#include "runtime/formats/onnx.pb.h"
#include "runtime/formats/onnx_tensor.h"
#include <climits>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
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

Status tooLargeForOnnx(const std::string &path) {
  return Status::error(StatusCode::InvalidInput, "cannot write the model", path,
                       "an ONNX file ends at 2 GiB",
                       "write the weights as .safetensors");
}

/// What stands in front of a field of so many bytes.
std::string makeFieldHead(int field, uint64_t bytes) {
  constexpr uint32_t kLengthDelimited = 2; // the wire format's type
  std::string head;
  google::protobuf::io::StringOutputStream stream(&head);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(uint32_t(field) << 3 | kLengthDelimited);
  coded.WriteVarint64(bytes);
  coded.Trim();
  return head;
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

/// Whether the elements of a tensor are in another file.
static bool isExternal(const onnx::TensorProto &tensor) {
  return tensor.data_location() == 1;
}

/// Takes external elements into the message: a package is far from the files.
static Status takeIn(onnx::TensorProto *tensor, ExternalFiles *files,
                     const std::string &where) {
  if (!isExternal(*tensor))
    return {};
  HostArray array;
  DIST_RETURN_IF_ERROR(takeOnnxTensor(*tensor, files, where, &array));
  clearElements(tensor);
  tensor->set_raw_data(array.data, array.view().bytes());
  return {};
}

/// The initializers and attributes of one graph, without the elements of
/// `stripped` ones. `left`: elements that are not in the messages.
static Status stripGraph(onnx::GraphProto *graph,
                         const std::set<std::string> &stripped,
                         const std::map<std::string, std::string_view> &left,
                         ExternalFiles *files, const std::string &where) {
  // What was trained is dense.
  auto *sparse = graph->mutable_sparse_initializer();
  for (int i = sparse->size() - 1; i >= 0; --i) {
    onnx::SparseTensorProto &one = *sparse->Mutable(i);
    if (!stripped.count(one.values().name())) {
      DIST_RETURN_IF_ERROR(takeIn(one.mutable_values(), files, where));
      DIST_RETURN_IF_ERROR(takeIn(one.mutable_indices(), files, where));
      continue;
    }
    onnx::TensorProto *dense = graph->add_initializer();
    dense->set_name(one.values().name());
    dense->set_data_type(one.values().data_type());
    *dense->mutable_dims() = one.dims();
    sparse->DeleteSubrange(i, 1);
  }
  for (onnx::TensorProto &tensor : *graph->mutable_initializer()) {
    auto elements = left.find(tensor.name());
    if (stripped.count(tensor.name()))
      clearElements(&tensor);
    else if (elements != left.end())
      tensor.set_raw_data(elements->second.data(), elements->second.size());
    else
      DIST_RETURN_IF_ERROR(takeIn(&tensor, files, where));
  }
  for (onnx::NodeProto &node : *graph->mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_t())
        DIST_RETURN_IF_ERROR(takeIn(attribute.mutable_t(), files, where));
  return {};
}

Status dist::writeOnnxSkeleton(const std::string &path,
                               const std::vector<std::string> &variables,
                               const std::string &skeleton,
                               const std::vector<OnnxCopy> &copies,
                               FileAccess access) {
  onnx::ModelProto model;
  RawElements raw;
  DIST_RETURN_IF_ERROR(readModel(path, &model, &raw, access));
  onnx::GraphProto *graph = model.mutable_graph();
  // A copy's elements are those of what it is of.
  std::map<std::string, std::string_view> elements;
  for (auto &[i, bytes] : raw.ofInitializer)
    elements[graph->initializer(i).name()] = bytes;
  for (const OnnxCopy &copy : copies)
    if (auto from = elements.find(copy.from); from != elements.end())
      elements[copy.name] = from->second;
  // As the import does.
  std::set<std::string> stripped(variables.begin(), variables.end());
  nameOnnxBranchesApart(graph);
  liftOnnxConstants(
      graph, [&](const std::string &name) { return stripped.count(name) > 0; });
  DIST_RETURN_IF_ERROR(addOnnxCopies(copies, path, graph));
  ExternalFiles files(path, access);
  Status status;
  forEachOnnxGraph(graph, [&](onnx::GraphProto *one) {
    if (status.ok())
      status = stripGraph(one, stripped, elements, &files, path);
  });
  DIST_RETURN_IF_ERROR(status);
  std::string bytes;
  if (model.ByteSizeLong() > INT_MAX || !model.SerializeToString(&bytes))
    return tooLargeForOnnx(skeleton);
  return writeFile(skeleton, bytes);
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

namespace {
/// An initializer of the file: its message, or that without the elements and
/// how many bytes of them a variable gives.
struct Initializer {
  const onnx::TensorProto *tensor;
  std::string message;
  uint64_t elementBytes = 0;

  uint64_t bytes() const {
    return message.size() +
           (elementBytes ? elementHead().size() + elementBytes : 0);
  }
  std::string elementHead() const {
    return makeFieldHead(onnx::TensorProto::kRawDataFieldNumber, elementBytes);
  }
  std::string head() const {
    return makeFieldHead(onnx::GraphProto::kInitializerFieldNumber, bytes());
  }
};
} // namespace

static Initializer makeInitializer(const onnx::TensorProto &tensor) {
  Initializer one{&tensor, tensor.SerializeAsString()};
  if (!isFilled(tensor))
    one.elementBytes =
        byteSize(fromOnnxType(tensor.data_type())) *
        elementCount({tensor.dims().begin(), tensor.dims().end()});
  return one;
}

/// The value of an initializer, which has the type and the size of it.
static Status readElements(const onnx::TensorProto &tensor, uint64_t bytes,
                           const VariableReader &read, const std::string &path,
                           Tensor *value) {
  DIST_RETURN_IF_ERROR(read(tensor.name(), value));
  if (value->type != fromOnnxType(tensor.data_type()) ||
      value->view().bytes() != bytes)
    return Status::error(
        StatusCode::Internal, "cannot write the model", path,
        "variable '" + tensor.name() + "' is " + name(value->type) +
            toString(value->shape) + ", but the model has " +
            onnxTypeName(tensor.data_type()) +
            toString({tensor.dims().begin(), tensor.dims().end()}));
  return {};
}

static Status writeElements(const Initializer &one, const VariableReader &read,
                            const std::string &path, FileSink *sink) {
  Tensor value;
  DIST_RETURN_IF_ERROR(
      readElements(*one.tensor, one.elementBytes, read, path, &value));
  DIST_RETURN_IF_ERROR(sink->write(one.elementHead()));
  return sink->write(value.data.data(), one.elementBytes);
}

/// Fills the initializers of the graph's branches: they lie within nodes.
static Status fillBranches(onnx::GraphProto *graph, const VariableReader &read,
                           const std::string &path) {
  Status status;
  forEachOnnxGraph(graph, [&](onnx::GraphProto *one) {
    if (one == graph)
      return;
    for (onnx::TensorProto &tensor : *one->mutable_initializer()) {
      Initializer empty = makeInitializer(tensor);
      if (!status.ok() || !empty.elementBytes)
        continue;
      Tensor value;
      status = readElements(tensor, empty.elementBytes, read, path, &value);
      if (status.ok())
        tensor.set_raw_data(value.data.data(), empty.elementBytes);
    }
  });
  return status;
}

/// Whether the skeleton lacks the elements of all `trained`: what it had would
/// be left as it was.
static Status checkTrained(onnx::GraphProto *graph,
                           const std::vector<std::string> &trained,
                           const std::string &path) {
  std::set<std::string> empty;
  forEachOnnxGraph(graph, [&](onnx::GraphProto *one) {
    for (const onnx::TensorProto &tensor : one->initializer())
      if (!isFilled(tensor))
        empty.insert(tensor.name());
  });
  for (const std::string &name : trained)
    if (!empty.count(name))
      return Status::error(StatusCode::Internal, "cannot write the model", path,
                           "it has no place for the trained variable '" + name +
                               "'",
                           "write the weights as .safetensors, and report the "
                           "model");
  return {};
}

/// One variable's elements are in memory at a time: fields may come in any
/// order, so that initializers are written behind what holds them.
Status dist::writeOnnxModel(const std::string &skeleton,
                            const VariableReader &read, const std::string &path,
                            const std::map<std::string, OnnxShards> &shards,
                            int64_t numDevices, bool durable,
                            const std::vector<std::string> &trained) {
  onnx::ModelProto model;
  DIST_RETURN_IF_ERROR(readModel(skeleton, &model));
  DIST_RETURN_IF_ERROR(checkTrained(model.mutable_graph(), trained, path));
  DIST_RETURN_IF_ERROR(fillBranches(model.mutable_graph(), read, path));
  writeShards(shards, numDevices, &model);
  onnx::GraphProto graph;
  graph.Swap(model.mutable_graph());
  model.clear_graph();
  google::protobuf::RepeatedPtrField<onnx::TensorProto> tensors;
  tensors.Swap(graph.mutable_initializer());
  std::vector<Initializer> initializers;
  uint64_t graphBytes = graph.ByteSizeLong();
  for (const onnx::TensorProto &tensor : tensors) {
    const Initializer &one = initializers.emplace_back(makeInitializer(tensor));
    graphBytes += one.head().size() + one.bytes();
  }
  std::string graphHead =
      makeFieldHead(onnx::ModelProto::kGraphFieldNumber, graphBytes);
  if (model.ByteSizeLong() + graphHead.size() + graphBytes > INT_MAX)
    return tooLargeForOnnx(path);
  FileSink sink;
  DIST_RETURN_IF_ERROR(sink.open(path));
  DIST_RETURN_IF_ERROR(sink.write(model.SerializeAsString()));
  DIST_RETURN_IF_ERROR(sink.write(graphHead));
  DIST_RETURN_IF_ERROR(sink.write(graph.SerializeAsString()));
  for (const Initializer &one : initializers) {
    DIST_RETURN_IF_ERROR(sink.write(one.head()));
    DIST_RETURN_IF_ERROR(sink.write(one.message));
    if (one.elementBytes)
      DIST_RETURN_IF_ERROR(writeElements(one, read, path, &sink));
  }
  return sink.commit(durable);
}
