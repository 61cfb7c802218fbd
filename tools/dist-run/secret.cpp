//===- secret.cpp - What a job's processes know each other by -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/secret.h"
#include "runtime/cluster/security/given_certificates.h"
#include "runtime/formats/text_file.h"
#include <cstdlib>

namespace dist::tools {

Status readJobSecret(const Options &options,
                     const std::vector<cluster::Address> &addresses,
                     std::optional<cluster::JobSecret> *out) {
  const char *text = std::getenv(kSecretVariable);
  if (options.jobSecretFile.empty() && !text) {
    for (const cluster::Address &address : addresses)
      if (!cluster::isLoopback(address.host) && !options.insecureNetwork)
        return Status::error(
            StatusCode::InvalidArgument, "the job has no secret",
            "--job-secret-file",
            "its processes meet at " + address.text() +
                ", where others may reach them and take part in it",
            "give all of them the same --job-secret-file FILE, or the text in "
            "DIST_JOB_SECRET; --insecure-network goes without, where nobody "
            "else can reach them");
    return Status();
  }
  if (options.insecureNetwork)
    return Status::error(
        StatusCode::InvalidArgument, "two options contradict each other",
        "--insecure-network",
        std::string("there is a secret, too, from ") +
            (options.jobSecretFile.empty() ? kSecretVariable
                                           : "--job-secret-file"),
        "leave one of them out");
  out->emplace();
  return options.jobSecretFile.empty()
             ? cluster::JobSecret::fromText(text, kSecretVariable, &**out)
             : cluster::JobSecret::fromFile(options.jobSecretFile, &**out);
}

static Status readPem(const char *option, const std::string &path,
                      std::string *out) {
  if (path.empty())
    return Status();
  DIST_RETURN_IF_ERROR(readText(path, out));
  return out->find("-----BEGIN ") != std::string::npos
             ? Status()
             : Status::error(StatusCode::InvalidInput, "this is no PEM", path,
                             "it has no BEGIN line",
                             std::string("correct ") + option);
}

Status openStore(const Options &options, cluster::SharedStore *out) {
  *out = options.store;
  // A coordinator has the job's secret, which is looked for beside it.
  if (options.store.isCoordinator)
    return Status();
  DIST_RETURN_IF_ERROR(readPem("--etcd-ca", options.etcdCa, &out->authority));
  DIST_RETURN_IF_ERROR(
      readPem("--etcd-cert", options.etcdCert, &out->certificate));
  DIST_RETURN_IF_ERROR(readPem("--etcd-key", options.etcdKey, &out->key));
  if (options.store.isEncrypted)
    return cluster::checkGiven(
        {out->authority, out->certificate, out->key, ""},
        {options.etcdCa, options.etcdCert, options.etcdKey, ""});
  for (const cluster::Address &address : options.store.addresses)
    if (!cluster::isLoopback(address.host) && !options.insecureNetwork)
      return Status::error(
          StatusCode::InvalidArgument,
          "the store would be reached in clear text", "--coordination",
          address.text() +
              " is not this machine's, and what the processes know each other "
              "by is told there",
          "reach it by TLS (etcds://), or give --insecure-network, where "
          "nobody else can read or change it");
  return Status();
}

Status makeLaunchSecret(const Options &options, std::string *out) {
  std::optional<cluster::JobSecret> given;
  DIST_RETURN_IF_ERROR(readJobSecret(options, {}, &given));
  // A coordinator would not know the one that is made here.
  if (given || options.insecureNetwork || options.store.isCoordinator)
    return Status();
  cluster::JobSecret made;
  DIST_RETURN_IF_ERROR(cluster::JobSecret::makeRandom(&made));
  *out = made.text();
  return Status();
}

} // namespace dist::tools
