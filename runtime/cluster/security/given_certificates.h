//===- given_certificates.h - What a TLS client is given --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is shown to a server of others', an etcd, comes from files of the
// user's. What the library that connects cannot use, or the server does not
// accept, looks there like a server that does not answer.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_SECURITY_GIVEN_CERTIFICATES_H
#define RUNTIME_CLUSTER_SECURITY_GIVEN_CERTIFICATES_H

#include "runtime/cluster/security/certificates.h"
#include "runtime/core/status.h"

namespace dist::cluster {

/// Whether a client can use them, now: they are authorities' certificates, a
/// client's, if there is one, and its key, and their time has come and is not
/// over. `from`: where each text is from, for messages.
Status checkGiven(const TlsCertificates &given, const TlsCertificates &from);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_SECURITY_GIVEN_CERTIFICATES_H
