/*===- dist/api.h - The whole public interface ----------------------------===*\
|*
|* Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Includes everything that libdist_runtime has. Apps that are a cluster include
|* dist/cluster.h, too, which libdist_cluster has.
|*
\*===----------------------------------------------------------------------===*/
#ifndef DIST_API_H
#define DIST_API_H

#include "dist/checkpoint.h"
#include "dist/fit.h"
#include "dist/log.h"
#include "dist/session.h"
#include "dist/status.h"
#include "dist/team.h"
#include "dist/tensor.h"
#include "dist/version.h"

#endif /* DIST_API_H */
