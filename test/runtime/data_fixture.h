//===- data_fixture.h - Data sets of files that a test writes ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_DATA_FIXTURE_H
#define TEST_RUNTIME_DATA_FIXTURE_H

#include "runtime/data/dataset.h"
#include "runtime/formats/npy.h"
#include "test/runtime/folder_test.h"
#include <gtest/gtest.h>

namespace dist::test {

struct DataTest : FolderTest {
  std::string file(const std::string &name) { return folder / name; }
  template <typename T>
  std::string npy(const std::string &name, DataType type,
                  std::vector<int64_t> shape, const std::vector<T> &values) {
    EXPECT_TRUE(writeNpy(file(name), {type, shape, values.data()}).ok());
    return file(name);
  }
  static manifest::Entry entry(std::vector<int64_t> input,
                               std::vector<int64_t> label = {4},
                               DataType labelType = manifest::I64,
                               int64_t classes = 10) {
    manifest::Entry entry;
    auto *x = entry.add_arguments();
    x->set_name("image");
    x->mutable_global_type()->set_type(manifest::F32);
    for (int64_t dim : input)
      x->mutable_global_type()->add_shape(dim);
    auto *y = entry.add_arguments();
    y->set_role(manifest::Binding::LABEL);
    y->set_name("label");
    y->mutable_global_type()->set_type(labelType);
    for (int64_t dim : label)
      y->mutable_global_type()->add_shape(dim);
    y->set_class_count(classes);
    auto *w = entry.add_arguments();
    w->set_role(manifest::Binding::VARIABLE);
    return entry;
  }
  std::string error(const DataOptions &options, const manifest::Entry &entry) {
    std::unique_ptr<Dataset> data;
    Status status = Dataset::open(options, entry, &data);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.code(), StatusCode::Internal);
    return status.message();
  }
  std::unique_ptr<Dataset> opened(const DataOptions &options,
                                  const manifest::Entry &entry) {
    std::unique_ptr<Dataset> data;
    Status status = Dataset::open(options, entry, &data);
    EXPECT_TRUE(status.ok()) << status.message();
    return data;
  }
  static std::vector<float> example(const Dataset &data, int64_t index) {
    const Column &column = data.columns()[0];
    std::vector<float> out(column.exampleElements());
    column.gather(&index, 1, reinterpret_cast<char *>(out.data()));
    return out;
  }
};

} // namespace dist::test

#endif // TEST_RUNTIME_DATA_FIXTURE_H
