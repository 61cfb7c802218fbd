//===- certificates.h - TLS between a job's processes -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The key of an authority follows from the job's secret, the same in all of its
// processes. Each makes a key of its own, and a certificate for it that the
// authority signs. Both ends of a connection trust this authority alone: who
// has not the secret has no certificate, and does not get past the handshake.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_SECURITY_CERTIFICATES_H
#define RUNTIME_CLUSTER_SECURITY_CERTIFICATES_H

#include "runtime/cluster/security/job_secret.h"

namespace dist::cluster {

struct TlsCertificates {
  /// In PEM.
  std::string authority, certificate, key;
  /// By which a server knows clients before the handshake (greeting.h); empty:
  /// it does not.
  std::string greetingKey;
};

/// The name in every certificate, whatever host the process is on.
inline constexpr char kTlsName[] = "dist-job";
/// Behind one label more it is a name in every certificate, too.
inline constexpr char kGreetingDomain[] = ".hello.dist-job";

TlsCertificates makeCertificates(const JobSecret &secret);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_SECURITY_CERTIFICATES_H
