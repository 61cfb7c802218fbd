//===- capi_cluster_test.cpp - What a cluster's options may be ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dist/cluster.h"
#include <cstddef>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

using testing::HasSubstr;
using testing::Not;

namespace {

/// Why it does not open: there is no package, whatever the options are.
std::string open(const std::function<void(dist_cluster_options_t *)> &change) {
  dist_cluster_options_t options = DIST_CLUSTER_OPTIONS_INIT;
  options.tf_config = "{}";
  change(&options);
  dist_cluster_t *cluster = nullptr;
  dist_status_t *status = dist_cluster_open("none", &options, &cluster);
  EXPECT_EQ(cluster, nullptr);
  std::string message = status ? dist_status_message(status) : "";
  dist_status_free(status);
  return message;
}

TEST(CapiCluster, AStoreHasItsForms) {
  EXPECT_THAT(open([](auto *options) { options->store = "http://10.0.0.1:1"; }),
              HasSubstr("a store is needed (store): http://10.0.0.1:1 is none; "
                        "give coordinator://HOST:PORT of a dist-run "
                        "coordinator, or etcd://HOST:PORT"));
  EXPECT_THAT(open([](auto *options) {
                options->store = "coordinator://10.0.0.1:1,10.0.0.2:1";
              }),
              HasSubstr("there is one coordinator"));
  EXPECT_THAT(open([](auto *options) { options->store = "etcd://nowhere"; }),
              HasSubstr("a store is needed (store): etcd://nowhere: "));
  for (const char *store :
       {"coordinator://10.0.0.1:1", "etcd://127.0.0.1:1,127.0.0.1:2"})
    EXPECT_THAT(open([&](auto *options) { options->store = store; }),
                HasSubstr("TF_CONFIG"));
}

TEST(CapiCluster, AnEtcdOfAnotherMachineIsReachedByTls) {
  EXPECT_THAT(open([](auto *options) { options->store = "etcd://10.0.0.1:1"; }),
              HasSubstr("the store would be reached in clear text (store): "
                        "10.0.0.1:1 is not this machine's"));
  EXPECT_THAT(
      open([](auto *options) { options->store = "etcds://10.0.0.1:1"; }),
      HasSubstr("a store's certificates do not fit"));
  auto encrypted = [](dist_cluster_options_t *options) {
    options->store = "etcds://10.0.0.1:1";
    options->store_authority = "pem";
  };
  EXPECT_THAT(open(encrypted),
              HasSubstr("this is no certificate (store_authority)"));
  EXPECT_THAT(open([&](auto *options) {
                encrypted(options);
                options->store_key = "pem";
              }),
              HasSubstr("a store's certificates do not fit"));
  EXPECT_THAT(open([](auto *options) { options->store_authority = "pem"; }),
              HasSubstr("no etcd is reached by TLS"));
}

TEST(CapiCluster, PortsAreARange) {
  auto ports = [](int first, int last) {
    return open([=](dist_cluster_options_t *options) {
      options->first_port = first;
      options->last_port = last;
    });
  };
  for (auto [first, last] : {std::pair(0, 1), {2, 1}, {-1, 1}, {1, 65536}})
    EXPECT_THAT(ports(first, last), HasSubstr("no range of ports"));
  EXPECT_THAT(open([](auto *options) { options->return_timeout = -1; }),
              HasSubstr("a time or a limit is negative"));
}

TEST(CapiCluster, AnInterfaceIsThisMachines) {
  auto by = [](const char *name) {
    return open([=](dist_cluster_options_t *options) {
      options->network_interface = name;
    });
  };
  for (const char *name : {"nothing0", "lo,nothing0", "", "lo,"})
    EXPECT_THAT(by(name), HasSubstr("there is no such network interface "
                                    "(network_interface): '"))
        << name;
  EXPECT_THAT(by("lo,nothing0"),
              HasSubstr("'nothing0' is none of this machine's: "));
  // One of RDMA is none that the system tells of.
  for (const char *name : {"lo", "lo,mlx5_0:1"})
    EXPECT_THAT(by(name), HasSubstr("TF_CONFIG")) << name;
}

/// Its others would wait for one whose libraries can open nothing.
TEST(CapiCluster, ItsConnectionsCanBeOpen) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few{20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::string message = open([](auto *options) {
    options->tf_config =
        R"({"cluster": {"chief": ["127.0.0.1:20000"],
                        "worker": ["127.0.0.1:20001"],
                        "ps": ["127.0.0.1:20002"]},
            "task": {"type": "chief", "index": 0}})";
  });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(message,
              HasSubstr("too few files may be open (ulimit -n): the limit is "
                        "20, and a process of this cluster has about 80 open"));
}

/// An app may open one after another; standard streams are the app's own.
TEST(CapiCluster, IsOpenedAgainWithoutAWord) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(open([](auto *) {}), HasSubstr("TF_CONFIG"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// An app that was compiled when there were fewer.
TEST(CapiCluster, AShorterStructIsTheOneOfBefore) {
  EXPECT_THAT(open([](auto *options) {
                options->struct_size = offsetof(dist_cluster_options_t, store);
                options->store = "what lies there";
              }),
              Not(HasSubstr("store")));
  EXPECT_THAT(open([](auto *options) {
                options->struct_size =
                    offsetof(dist_cluster_options_t, log_data);
              }),
              HasSubstr("dist_cluster_options_t"));
}

} // namespace
