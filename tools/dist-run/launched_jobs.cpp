//===- launched_jobs.cpp - What this user has launched here ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/launched_jobs.h"
#include "runtime/cluster/json_config.h"
#include "tools/dist-run/launch.h"
#include "tools/dist-run/secret.h"
#include "tools/options/cluster.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

namespace fs = std::filesystem;
using Environment = std::map<std::string, std::string>;

/// Of a process of this user; empty: it is another's, or has ended.
static Environment readEnvironment(const fs::path &process) {
  Environment variables;
  struct stat found = {};
  if (stat(process.c_str(), &found) != 0 || found.st_uid != geteuid())
    return variables;
  std::ifstream file(process / "environ", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');)
    if (size_t equals = word.find('='); equals != std::string::npos)
      variables.emplace(word.substr(0, equals), word.substr(equals + 1));
  return variables;
}

static std::optional<LaunchedJob> asLaunched(const Environment &variables) {
  auto config = variables.find("TF_CONFIG");
  if (!variables.count(kPackageVariable) || config == variables.end())
    return std::nullopt;
  cluster::ClusterSpec spec;
  if (!cluster::parseJsonConfig(config->second, "TF_CONFIG", &spec).empty())
    return std::nullopt;
  const cluster::Address *chief = spec.find(spec.chief());
  if (!chief)
    return std::nullopt;
  LaunchedJob job{*chief, std::nullopt};
  cluster::JobSecret secret;
  auto text = variables.find(kSecretVariable);
  if (text != variables.end() &&
      cluster::JobSecret::fromText(text->second, kSecretVariable, &secret).ok())
    job.secret = secret;
  return job;
}

std::vector<LaunchedJob> findLaunchedJobs() {
  std::map<std::string, LaunchedJob> jobs;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos)
      continue;
    if (auto job = asLaunched(readEnvironment(it->path())))
      jobs.emplace(job->chief.text(), *job);
  }
  std::vector<LaunchedJob> found;
  for (auto &[address, job] : jobs)
    found.push_back(job);
  return found;
}

/// Where the options name none.
static Status findOnly(Status notFound, LaunchedJob *out) {
  std::vector<LaunchedJob> jobs = findLaunchedJobs();
  if (jobs.empty())
    return notFound;
  if (jobs.size() == 1) {
    *out = jobs.front();
    return Status();
  }
  std::string list;
  for (const LaunchedJob &job : jobs)
    list += (list.empty() ? "" : ", ") + job.chief.text();
  return Status::error(StatusCode::InvalidArgument,
                       "which cluster is not known", "dist-run status",
                       "several are running here: " + list,
                       "give the address of one");
}

Status findAskedJob(const Options &options, LaunchedJob *out) {
  bool isNamed = !options.model.empty() || options.clusterFound;
  Status named = findChief(options, &out->chief);
  if (!named.ok())
    DIST_RETURN_IF_ERROR(isNamed ? named : findOnly(named, out));
  std::optional<cluster::JobSecret> given;
  DIST_RETURN_IF_ERROR(readJobSecret(options, {out->chief}, &given));
  if (given || options.insecureNetwork)
    out->secret = given;
  else if (named.ok())
    for (const LaunchedJob &job : findLaunchedJobs())
      if (job.chief.text() == out->chief.text())
        out->secret = job.secret;
  return Status();
}

} // namespace dist::tools
