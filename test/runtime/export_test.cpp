//===- export_test.cpp - Trained models as ONNX files -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/export/onnx_export.h"
#include "runtime/formats/file.h"
#include "runtime/formats/onnx.pb.h"
#include "runtime/formats/onnx_tensor.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace dist;

namespace {
void addWeight(onnx::ModelProto &model, const char *name,
               std::vector<float> values) {
  onnx::TensorProto *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(1);
  tensor->add_dims(values.size());
  for (float value : values)
    tensor->add_float_data(value);
}

onnx::ModelProto makeModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("g");
  addWeight(model, "weight", {1, 2, 3});
  addWeight(model, "table", {7});
  onnx::NodeProto *node = model.mutable_graph()->add_node();
  node->set_op_type("Add");
  node->add_input("weight");
  node->add_input("table");
  node->add_output("y");
  // A field this subset does not have: doc_string = 6.
  model.GetReflection()->MutableUnknownFields(&model)->AddLengthDelimited(
      6, "a note");
  return model;
}

onnx::ModelProto readBack(const std::string &path) {
  std::shared_ptr<const FileBytes> file;
  onnx::ModelProto model;
  EXPECT_TRUE(FileBytes::open(path, &file).ok());
  EXPECT_TRUE(parseOnnxModel(file->bytes(), path, &model).ok());
  return model;
}

std::vector<float> valuesOf(onnx::ModelProto model, int index) {
  HostArray array;
  EXPECT_TRUE(takeOnnxTensor(*model.mutable_graph()->mutable_initializer(index),
                             nullptr, "test", &array)
                  .ok());
  std::vector<float> values(elementCount(array.shape));
  std::memcpy(values.data(), array.data, values.size() * sizeof(float));
  return values;
}

class ExportTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "export_test";
    model = folder + ".onnx";
    skeleton = folder + ".skeleton.onnx";
    result = folder + ".out.onnx";
    ASSERT_TRUE(writeFile(model, makeModel().SerializeAsString()).ok());
    ASSERT_TRUE(
        writeOnnxSkeleton(model, {"weight", "optimizer/iteration"}, skeleton)
            .ok());
  }
  static VariableReader give(std::vector<float> values) {
    return [values](const std::string &name, Tensor *out) {
      EXPECT_EQ(name, "weight");
      out->type = manifest::F32;
      out->shape = {static_cast<int64_t>(values.size())};
      out->data.resize(values.size() * sizeof(float));
      std::memcpy(out->data.data(), values.data(), out->data.size());
      return Status();
    };
  }
  std::string folder, model, skeleton, result;
};

TEST_F(ExportTest, SkeletonLacksOnlyTheVariables) {
  onnx::ModelProto read = readBack(skeleton);
  EXPECT_EQ(read.graph().initializer(0).float_data_size(), 0);
  EXPECT_EQ(read.graph().initializer(0).dims(0), 3);
  EXPECT_EQ(valuesOf(read, 1), std::vector<float>{7});
}

TEST_F(ExportTest, NewWeightsAndNothingElse) {
  ASSERT_TRUE(writeOnnxModel(skeleton, give({4, 5, 6}), result).ok());
  onnx::ModelProto read = readBack(result);
  EXPECT_EQ(valuesOf(read, 0), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(valuesOf(read, 1), std::vector<float>{7});
  const auto &unknown = read.GetReflection()->GetUnknownFields(read);
  ASSERT_EQ(unknown.field_count(), 1);
  EXPECT_EQ(unknown.field(0).length_delimited(), "a note");
}

TEST_F(ExportTest, ShardsBecomeADeviceConfiguration) {
  std::map<std::string, OnnxShards> shards;
  shards["weight"] = {{3}, {{0}, {1, 3}, {2}}};
  // Twice: what is ours already is replaced.
  ASSERT_TRUE(writeOnnxModel(skeleton, give({4, 5, 6}), model, shards, 4).ok());
  ASSERT_TRUE(writeOnnxSkeleton(model, {"weight"}, skeleton).ok());
  ASSERT_TRUE(
      writeOnnxModel(skeleton, give({4, 5, 6}), result, shards, 4).ok());
  onnx::ModelProto read = readBack(result);
  EXPECT_GE(read.ir_version(), 11);
  ASSERT_EQ(read.configuration_size(), 1);
  EXPECT_EQ(read.configuration(0).num_devices(), 4);
  const onnx::NodeProto &node = read.graph().node(0);
  ASSERT_EQ(node.device_configurations_size(), 1);
  EXPECT_EQ(node.device_configurations(0).configuration_id(),
            read.configuration(0).name());
  ASSERT_EQ(node.device_configurations(0).sharding_spec_size(), 1);
  const auto &spec = node.device_configurations(0).sharding_spec(0);
  EXPECT_EQ(spec.tensor_name(), "weight");
  EXPECT_EQ(std::vector<int64_t>(spec.device().begin(), spec.device().end()),
            (std::vector<int64_t>{0, -1, 2}));
  ASSERT_EQ(spec.index_to_device_group_map_size(), 1);
  EXPECT_EQ(spec.index_to_device_group_map(0).key(), -1);
  EXPECT_EQ(spec.index_to_device_group_map(0).value(1), 3);
  ASSERT_EQ(spec.sharded_dim_size(), 1);
  EXPECT_EQ(spec.sharded_dim(0).simple_sharding(0).num_shards(), 3);
}

TEST_F(ExportTest, WrongSizeIsAnError) {
  std::string other = folder + ".none.onnx";
  Status status = writeOnnxModel(skeleton, give({4, 5}), other);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("weight"), std::string::npos);
  std::shared_ptr<const FileBytes> file;
  EXPECT_FALSE(FileBytes::open(other, &file).ok());
}

TEST(OnnxTensor, TypedFieldsBecomeBytes) {
  onnx::TensorProto tensor;
  tensor.set_data_type(10); // float16 bits in int32_data
  tensor.add_dims(2);
  tensor.add_int32_data(0x3c00);
  tensor.add_int32_data(0xc000);
  HostArray array;
  ASSERT_TRUE(takeOnnxTensor(tensor, nullptr, "test", &array).ok());
  uint16_t bits[2];
  std::memcpy(bits, array.data, sizeof bits);
  EXPECT_EQ(bits[0], 0x3c00);
  EXPECT_EQ(bits[1], 0xc000);
}

TEST(OnnxTensor, CountsMustMatch) {
  for (int count : {1, 3}) {
    onnx::TensorProto tensor;
    tensor.set_data_type(7);
    tensor.add_dims(2);
    for (int i = 0; i < count; ++i)
      tensor.add_int64_data(i);
    HostArray array;
    EXPECT_FALSE(takeOnnxTensor(tensor, nullptr, "test", &array).ok());
  }
}
} // namespace
