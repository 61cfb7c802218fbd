//===- ports.h - Where UCX listens ------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worker of UCX listens at a port. Told of a range whose ports are all taken,
// UCX 1.13 looks for a free one without end; so it is told of one at a time.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_COMM_UCX_PORTS_H
#define RUNTIME_COMM_UCX_PORTS_H

#include "runtime/comm/ucx/end.h"

namespace dist::ucx {

/// Makes a worker, which listens within the range of `limitUcxPorts`, if that
/// has set one. Where all ports are taken, some of them by nobody that listens,
/// it waits, and notes so after a second. Errors: UCX's own; processes listen
/// at all of the range's ports, at once, or those that are left of earlier ones
/// are not free after a minute.
Status makeWorker(const Context &context, const ucp_worker_params_t &parameters,
                  ucp_worker_h *out);

} // namespace dist::ucx

#endif // RUNTIME_COMM_UCX_PORTS_H
