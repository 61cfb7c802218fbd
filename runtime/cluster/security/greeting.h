//===- greeting.h - Who may begin a handshake -------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TLS handshake costs the server memory and time before it knows who is
// there. A ClientHello is in clear text, and names the server that it is for:
// clients of a job put a number there, and a code of it that the job's secret
// makes, so that a stranger is known before a handshake begins. Who has heard
// one on the wire can send it again: the server begins few handshakes for one
// name, and none of them ends well without the client's key.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_SECURITY_GREETING_H
#define RUNTIME_CLUSTER_SECURITY_GREETING_H

#include "runtime/core/status.h"
#include <string>

namespace dist::cluster {

/// A name of the server, for one client: a label before kGreetingDomain
/// (certificates.h).
std::string makeGreeting(const std::string &key);
bool isGreeting(const std::string &key, const std::string &name);

/// The server's name in a whole ClientHello (RFC 8446, 4.1.2, and RFC 6066, 3),
/// its TLS record's head included; empty: there is none.
std::string findServerName(const std::string &hello);

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_SECURITY_GREETING_H
