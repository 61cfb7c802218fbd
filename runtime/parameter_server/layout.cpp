//===- layout.cpp - Where variables lie in letters ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/layout.h"
#include "runtime/core/package_files.h"
#include "runtime/core/servers.h"
#include "runtime/core/variants.h"
#include "runtime/device/cpu/features.h"
#include <algorithm>

namespace dist::ps {

/// Bodies of reports, and what errors say.
static constexpr size_t kSmallLetter = size_t(1) << 20;

static size_t align(size_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

static std::vector<PulledTable> findTables(const manifest::Manifest &worker) {
  std::vector<PulledTable> tables;
  for (const manifest::PulledRows &pulled : worker.pulled_rows()) {
    PulledTable &table = tables.emplace_back();
    table.variable = pulled.table();
    table.rows = pulled.rows();
    table.places = pulled.places();
    const auto &rows = worker.variables(table.rows).global_type();
    table.size = worker.variables(table.variable).global_type().shape(0);
    table.most = rows.shape(0);
    table.rowBytes = byteSize(rows) / table.most;
    table.inputs.assign(pulled.inputs().begin(), pulled.inputs().end());
  }
  return tables;
}

static Status placeParts(const manifest::Manifest &worker, int number,
                         const std::vector<PulledTable> &tables,
                         ServerLayout *out) {
  for (const manifest::ServerPart &part : worker.servers(number).parts()) {
    const manifest::Variable &variable = worker.variables(part.variable());
    if (variable.on_read() ||
        byteSize(variable.local_type()) != byteSize(variable.global_type()))
      return Status::error(StatusCode::InvalidInput,
                           "a variable of parameter servers is in parts",
                           variable.name(),
                           "a worker's devices hold different parts of it",
                           "compile the model with whole variables");
    PlacedPart placed;
    placed.variable = part.variable();
    const auto &known = out->manifest.variables();
    auto there = std::find_if(known.begin(), known.end(), [&](const auto &one) {
      return one.name() == part.name_there();
    });
    placed.there = int(there - known.begin());
    placed.begin = part.begin();
    placed.type = there->global_type().type();
    placed.shape = shapeOf(there->global_type());
    placed.bytes = byteSize(there->global_type());
    if (part.size() > 0)
      placed.offsetInWhole = placed.bytes / part.size() * part.begin();
    for (size_t i = 0; i < tables.size(); ++i)
      if (tables[i].variable == placed.variable)
        placed.table = int(i);
    if (placed.table >= 0) {
      const PulledTable &table = tables[placed.table];
      out->mostRowBytes +=
          sizeof(int64_t) + std::min(table.most, part.size()) *
                                (sizeof(int64_t) + table.rowBytes);
    } else {
      placed.offset = out->partBytes;
      out->partBytes += align(placed.bytes);
    }
    out->parts.push_back(std::move(placed));
  }
  return Status();
}

Status findStepCounter(const manifest::Manifest &manifest, int *out) {
  *out = -1;
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const manifest::Variable &variable = manifest.variables(i);
    if (variable.name() != kStepCounter)
      continue;
    const manifest::TensorType &type = variable.global_type();
    if (type.type() != manifest::I64 || type.shape_size() != 0)
      return Status::error(
          StatusCode::InvalidInput, "the package is damaged", variable.name(),
          "it is to count steps, and is no i64", "compile it again");
    *out = i;
  }
  return Status();
}

Status Layout::read(const std::string &package, const std::string &cpu,
                    Layout *out) {
  *out = Layout();
  Variant variant;
  DIST_RETURN_IF_ERROR(
      chooseVariant(package, {cpu::hostFeatures()}, cpu, &variant));
  out->manifest = std::move(variant.manifest);
  out->tables = findTables(out->manifest);
  for (int number = 0; number < out->manifest.servers_size(); ++number) {
    ServerLayout &server = out->servers.emplace_back();
    std::string folder = serverPath(package, number);
    DIST_RETURN_IF_ERROR(readVariant(folder, variant.name, &server.manifest));
    DIST_RETURN_IF_ERROR(
        checkServer(out->manifest, number, server.manifest, folder));
    DIST_RETURN_IF_ERROR(
        placeParts(out->manifest, number, out->tables, &server));
    for (const manifest::Variable &variable : server.manifest.variables()) {
      server.stateOffsets.push_back(server.stateBytes);
      server.stateBytes += align(byteSize(variable.global_type()));
    }
  }
  return Status();
}

size_t Layout::largestLetter() const {
  size_t largest = kSmallLetter;
  for (const ServerLayout &server : servers)
    largest = std::max(
        {largest, server.partBytes + server.mostRowBytes, server.stateBytes});
  for (const manifest::Variable &variable : manifest.variables())
    if (variable.group() == "metric")
      largest += byteSize(variable.global_type());
  return largest;
}

} // namespace dist::ps
