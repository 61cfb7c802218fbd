//===- machine.cpp - Measured figures of a machine, as a file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/machine.h"
#include "runtime/core/near_word.h"
#include "runtime/formats/file.h"
#include "runtime/formats/json.h"
#include "runtime/formats/text_file.h"
#include <algorithm>
#include <cstdlib>
#include <sys/stat.h>

namespace dist::tools {

namespace {
struct Field {
  const char *name;
  double MachineFigures::*value;
  /// What stands for it in a file that lacks it; null: it must be there.
  double MachineFigures::*missing = nullptr;
};
constexpr Field fields[] = {
    {"flops_per_second", &MachineFigures::flopsPerSecond},
    {"bf16_flops_per_second", &MachineFigures::bf16FlopsPerSecond,
     &MachineFigures::flopsPerSecond},
    {"conv_flops_per_second", &MachineFigures::convFlopsPerSecond,
     &MachineFigures::flopsPerSecond},
    {"conv_input_grad_flops_per_second",
     &MachineFigures::inputGradFlopsPerSecond,
     &MachineFigures::convFlopsPerSecond},
    {"conv_filter_grad_flops_per_second",
     &MachineFigures::filterGradFlopsPerSecond,
     &MachineFigures::convFlopsPerSecond},
    {"memory_bytes_per_second", &MachineFigures::memoryBytesPerSecond},
    {"cache_bytes_per_second", &MachineFigures::cacheBytesPerSecond,
     &MachineFigures::memoryBytesPerSecond},
    {"cache_bytes", &MachineFigures::cacheBytes, &MachineFigures::cacheBytes},
    {"thread_efficiency", &MachineFigures::threadEfficiency},
    {"memory_thread_efficiency", &MachineFigures::memoryThreadEfficiency,
     &MachineFigures::threadEfficiency},
    {"transfer_bytes_per_second", &MachineFigures::transferBytesPerSecond},
    {"transfer_latency_seconds", &MachineFigures::transferLatency},
    {"wake_seconds", &MachineFigures::wakeSeconds,
     &MachineFigures::wakeSeconds},
    {"process_bytes_per_second", &MachineFigures::processBytesPerSecond,
     &MachineFigures::processBytesPerSecond},
    {"process_latency_seconds", &MachineFigures::processLatency,
     &MachineFigures::processLatency},
    {"network_bytes_per_second", &MachineFigures::networkBytesPerSecond,
     &MachineFigures::networkBytesPerSecond},
    {"network_latency_seconds", &MachineFigures::networkLatency,
     &MachineFigures::networkLatency},
};
} // namespace

std::string machineFile(const std::string &given) {
  if (!given.empty())
    return given;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/dist-mlir/machine.json";
  const char *home = std::getenv("HOME");
  return std::string(home ? home : ".") + "/.cache/dist-mlir/machine.json";
}

Status readMachineFigures(const std::string &given, MachineFigures *out) {
  std::string path = machineFile(given);
  auto wrong = [&](const std::string &why) {
    return Status::error(StatusCode::InvalidInput,
                         "cannot read the machine's figures", path, why,
                         "run dist-run bench --calibrate" +
                             (given.empty() ? "" : " --machine " + given));
  };
  if (!pathExists(path))
    return wrong("no such file");
  std::string text;
  DIST_RETURN_IF_ERROR(readText(path, &text));
  nlohmann::json json = parseJson(text);
  if (!json.is_object())
    return wrong("it is no JSON object");
  std::vector<std::string> known;
  for (const Field &field : fields)
    known.push_back(field.name);
  // One of them that is misspelt would have what stands for it.
  for (auto &[name, value] : json.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return wrong("there is no '" + name + "'; " + suggestWord(name, known));
  for (const Field &field : fields) {
    auto found = json.find(field.name);
    if (found == json.end() && field.missing) {
      out->*field.value = out->*field.missing;
      continue;
    }
    if (found == json.end() || !found->is_number() ||
        !(found->get<double>() > 0))
      return wrong(std::string("expected a positive number '") + field.name +
                   "'");
    out->*field.value = found->get<double>();
  }
  return Status();
}

Status writeMachineFigures(const std::string &given,
                           const MachineFigures &figures) {
  std::string path = machineFile(given);
  nlohmann::json json;
  for (const Field &field : fields)
    json[field.name] = figures.*field.value;
  // The cache's folders, as far as they are missing: that of packages, which is
  // to be written to by no one else, is one of them.
  for (size_t at = path.find('/', 1); at != std::string::npos;
       at = path.find('/', at + 1))
    mkdir(path.substr(0, at).c_str(), given.empty() ? 0700 : 0777);
  return writeFile(path, jsonText(json, 2) + "\n");
}

} // namespace dist::tools
