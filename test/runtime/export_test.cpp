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

/// The model with an If node, both of whose branches have an initializer, and a
/// Constant node.
static onnx::ModelProto makeBranches(const char *then, const char *other) {
  onnx::ModelProto model = makeModel();
  onnx::NodeProto *choice = model.mutable_graph()->add_node();
  choice->set_op_type("If");
  choice->add_output("z");
  for (const char *name : {then, other}) {
    onnx::ModelProto branch;
    addWeight(branch, name, {1, 2, 3});
    onnx::NodeProto *use = branch.mutable_graph()->add_node();
    use->set_op_type("Neg");
    use->add_input(name);
    use->add_output("negative");
    branch.mutable_graph()->add_output()->set_name("negative");
    onnx::AttributeProto *attribute = choice->add_attribute();
    attribute->set_name(name);
    attribute->set_type(5);
    *attribute->mutable_g() = branch.graph();
  }
  onnx::NodeProto *constant = model.mutable_graph()->add_node();
  constant->set_op_type("Constant");
  constant->add_output("c");
  onnx::ModelProto holder;
  addWeight(holder, "", {1, 2, 3});
  onnx::AttributeProto *attribute = constant->add_attribute();
  attribute->set_name("value");
  *attribute->mutable_t() = holder.graph().initializer(0);
  return model;
}

/// Gives `value` three times for every name.
static VariableReader giveAll(float value) {
  return [value](const std::string &, Tensor *out) {
    out->type = manifest::F32;
    out->shape = {3};
    out->data.resize(3 * sizeof(float));
    for (int i = 0; i < 3; ++i)
      std::memcpy(out->data.data() + i * sizeof(float), &value, sizeof(float));
    return Status();
  };
}

static float firstOf(const onnx::TensorProto &tensor) {
  float value = 0;
  EXPECT_GE(tensor.raw_data().size(), sizeof(float));
  std::memcpy(&value, tensor.raw_data().data(), sizeof(float));
  return value;
}

TEST_F(ExportTest, BranchesAndConstantsTakeNewWeights) {
  ASSERT_TRUE(
      writeFile(model, makeBranches("u", "v").SerializeAsString()).ok());
  std::vector<std::string> trained = {"u", "c"};
  ASSERT_TRUE(writeOnnxSkeleton(model, trained, skeleton).ok());
  ASSERT_TRUE(
      writeOnnxModel(skeleton, giveAll(9), result, {}, 1, false, trained).ok());
  onnx::ModelProto read = readBack(result);
  // The Constant node is an initializer now.
  ASSERT_EQ(read.graph().node_size(), 2);
  ASSERT_EQ(read.graph().initializer_size(), 3);
  EXPECT_EQ(read.graph().initializer(2).name(), "c");
  EXPECT_EQ(firstOf(read.graph().initializer(2)), 9);
  const onnx::NodeProto &choice = read.graph().node(1);
  EXPECT_EQ(firstOf(choice.attribute(0).g().initializer(0)), 9);
  EXPECT_EQ(choice.attribute(1).g().initializer(0).float_data(0), 1);
}

TEST_F(ExportTest, BranchesOfEqualNamesAreApart) {
  ASSERT_TRUE(
      writeFile(model, makeBranches("u", "u").SerializeAsString()).ok());
  ASSERT_TRUE(writeOnnxSkeleton(model, {"u.2"}, skeleton).ok());
  ASSERT_TRUE(
      writeOnnxModel(skeleton, giveAll(9), result, {}, 1, false, {"u.2"}).ok());
  onnx::ModelProto read = readBack(result);
  const onnx::NodeProto &choice = read.graph().node(1);
  EXPECT_EQ(choice.attribute(0).g().initializer(0).float_data(0), 1);
  const onnx::GraphProto &second = choice.attribute(1).g();
  EXPECT_EQ(firstOf(second.initializer(0)), 9);
  EXPECT_EQ(second.node(0).input(0), "u.2");
  EXPECT_EQ(second.node(0).output(0), second.output(0).name());
}

TEST_F(ExportTest, CopiesWithinBranches) {
  ASSERT_TRUE(
      writeFile(model, makeBranches("u", "v").SerializeAsString()).ok());
  ASSERT_TRUE(writeOnnxSkeleton(model, {"u", "w"}, skeleton,
                                {{"w", "u", "negative", 0}})
                  .ok());
  onnx::ModelProto read = readBack(skeleton);
  const onnx::GraphProto &branch = read.graph().node(1).attribute(0).g();
  ASSERT_EQ(branch.initializer_size(), 2);
  EXPECT_EQ(branch.node(0).input(0), "w");
  // A copy that nothing reads would leave its use tied, without a word.
  Status status = writeOnnxSkeleton(model, {"u", "w"}, skeleton,
                                    {{"w", "u", "nowhere", 0}});
  EXPECT_NE(status.message().find("no node 'nowhere' that reads 'u'"),
            std::string::npos)
      << status.message();
}

TEST_F(ExportTest, ATrainedVariableWithoutAPlaceIsAnError) {
  std::string other = folder + ".none.onnx";
  for (const char *name : {"table", "nowhere"}) {
    Status status = writeOnnxModel(skeleton, give({4, 5, 6}), other, {}, 1,
                                   false, {"weight", name});
    EXPECT_NE(status.message().find("no place for the trained variable '" +
                                    std::string(name) + "'"),
              std::string::npos)
        << status.message();
    std::shared_ptr<const FileBytes> file;
    EXPECT_FALSE(FileBytes::open(other, &file).ok());
  }
}

TEST_F(ExportTest, WhatWasSparseIsWrittenDense) {
  onnx::ModelProto sparse = makeModel();
  onnx::ModelProto holder;
  addWeight(holder, "s", {5});
  auto *tensor = sparse.mutable_graph()->add_sparse_initializer();
  *tensor->mutable_values() = holder.graph().initializer(0);
  tensor->add_dims(3);
  ASSERT_TRUE(writeFile(model, sparse.SerializeAsString()).ok());
  ASSERT_TRUE(writeOnnxSkeleton(model, {"s"}, skeleton).ok());
  ASSERT_TRUE(
      writeOnnxModel(skeleton, giveAll(9), result, {}, 1, false, {"s"}).ok());
  onnx::ModelProto read = readBack(result);
  EXPECT_EQ(read.graph().sparse_initializer_size(), 0);
  ASSERT_EQ(read.graph().initializer_size(), 3);
  EXPECT_EQ(firstOf(read.graph().initializer(2)), 9);
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
