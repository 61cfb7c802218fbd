//===- surroundings.cpp - A member's machine ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/surroundings.h"
#include "runtime/cluster/etcd/client.h"
#include "runtime/cluster/security/keyed.h"
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace dist::cluster {
namespace {

class RepeatingThread final : public Surroundings::Repeated {
public:
  RepeatingThread(std::chrono::milliseconds interval,
                  std::function<void()> what)
      : thread([this, interval, what = std::move(what)] {
          std::unique_lock<std::mutex> lock(mutex);
          while (!wake.wait_for(lock, interval, [this] { return isEnding; })) {
            lock.unlock();
            what();
            lock.lock();
          }
        }) {}
  ~RepeatingThread() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isEnding = true;
    }
    wake.notify_all();
    thread.join();
  }

private:
  std::mutex mutex;
  std::condition_variable wake;
  bool isEnding = false;
  std::thread thread; // begins when the others are there
};

class SystemSurroundings final : public Surroundings {
public:
  Clock::time_point now() override { return Clock::now(); }
  void sleep(milliseconds time) override { std::this_thread::sleep_for(time); }
  std::unique_ptr<Repeated> repeat(milliseconds interval,
                                   std::function<void()> what) override {
    return std::make_unique<RepeatingThread>(interval, std::move(what));
  }
  int64_t process() override { return getpid(); }
  Status randomBytes(size_t count, std::string *out) override {
    return makeRandomBytes(count, out);
  }
  Status serve(const EtcdServerOptions &options,
               std::shared_ptr<void> *out) override {
    std::unique_ptr<EtcdServer> server;
    DIST_RETURN_IF_ERROR(EtcdServer::start(options, &server));
    *out = std::shared_ptr<EtcdServer>(std::move(server));
    return Status();
  }
  std::unique_ptr<Store> connect(const EtcdClientOptions &options) override {
    return std::make_unique<EtcdClient>(options);
  }
};

} // namespace

Surroundings &systemSurroundings() {
  static SystemSurroundings surroundings;
  return surroundings;
}

} // namespace dist::cluster
