//===- values_session.h - A session of variables alone ----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_VALUES_SESSION_H
#define TEST_RUNTIME_VALUES_SESSION_H

#include "runtime/core/session.h"
#include <cstring>

namespace dist::ps {

/// Values, and no program.
class ValuesSession : public Session {
public:
  explicit ValuesSession(const manifest::Manifest &manifest)
      : description(manifest) {
    for (const manifest::Variable &variable : manifest.variables())
      values.push_back(makeZeros(variable.global_type()));
  }
  const manifest::Manifest &manifest() const override { return description; }
  const manifest::Entry *findEntry(const std::string &) const override {
    return nullptr;
  }
  const std::vector<int> &localRanks() const override { return ranks; }
  Window inputWindow(const manifest::Entry &, size_t) const override {
    return {};
  }
  Window outputWindow(const manifest::Entry &, size_t) const override {
    return {};
  }
  Status run(const manifest::Entry &, const std::vector<TensorView> &,
             std::vector<Tensor> *) override {
    ++runs;
    return Status();
  }
  Status readVariable(int index, Tensor *out) override {
    *out = values[index];
    return Status();
  }
  Status writeVariable(int index, const TensorView &value) override {
    std::memcpy(values[index].data.data(), value.data, value.bytes());
    return Status();
  }
  Status readSlice(int index, int, Tensor *out) override {
    return readVariable(index, out);
  }
  Status writeSlice(int index, int, const TensorView &value) override {
    return writeVariable(index, value);
  }
  Status resetVariables() override { return Status(); }
  Status rebuild(std::shared_ptr<World>) override { return Status(); }
  int64_t deviceBytes() const override { return 0; }
  std::vector<TraceEvent> takeTrace() override { return {}; }

  manifest::Manifest description;
  std::vector<Tensor> values;
  std::vector<int> ranks{0};
  int runs = 0;
};

} // namespace dist::ps

#endif // TEST_RUNTIME_VALUES_SESSION_H
