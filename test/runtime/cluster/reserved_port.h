//===- reserved_port.h - A port that is the test's ------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_CLUSTER_RESERVED_PORT_H
#define TEST_RUNTIME_CLUSTER_RESERVED_PORT_H

#include "runtime/cluster/socket.h"
#include <gtest/gtest.h>

namespace dist::cluster {

/// Who is told of it can be its server.
class ReservedPort {
public:
  ReservedPort() {
    Status status = Socket::reserve(&socket, &number);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  operator int() const { return number; }

private:
  Socket socket;
  int number = 0;
};

} // namespace dist::cluster

#endif // TEST_RUNTIME_CLUSTER_RESERVED_PORT_H
