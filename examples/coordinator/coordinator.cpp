// The same in C++, on examples that it makes itself: coordinator_cpp PACKAGE
// STEPS. TF_CONFIG says which of the cluster's processes this is.
#include <cstdio>
#include <cstdlib>
#include <dist/cluster.hpp>

using namespace dist::api;

namespace {

/// Images of which some pixels are bright: which ones, the label says.
struct Examples {
  explicit Examples(int64_t count)
      : count(count), images(size_t(count) * 64), labels(size_t(count)) {
    for (int64_t i = 0; i < count; ++i) {
      labels[size_t(i)] = int32_t(i % 10);
      for (int64_t p = 0; p < 6; ++p)
        images[size_t(i * 64 + i % 10 * 6 + p)] = 0.5f + float(i % 7) / 14;
    }
  }
  int64_t count;
  std::vector<float> images;
  std::vector<int32_t> labels;
};

} // namespace

int main(int argc, char **argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: coordinator_cpp PACKAGE STEPS\n");
    return 2;
  }
  ClusterOptions options;
  const char *config = std::getenv("TF_CONFIG");
  options.tfConfig = config ? config : "";
  // Where they meet, if not at the chief.
  if (const char *store = std::getenv("COORDINATION"))
    options.store = store;
  Cluster cluster(argv[1], options);
  Examples examples(640);
  TensorView images = view(examples.images.data(), {examples.count, 64});
  TensorView labels = view(examples.labels.data(), {examples.count});
  cluster.addDataset(
      "examples", [&](int) { return WorkerData{{images, labels}, false, 7}; });
  cluster.addDataset("missing", [](int worker) -> WorkerData {
    throw std::runtime_error("there is no file " + std::to_string(worker));
  });
  // How sure the model is of the first example's label.
  cluster.addFunction("first_score", [&](const Call &call) {
    TensorView first = view(examples.images.data(), {1, 64});
    return std::to_string(call.session->predict({first})[0].as<float>()[0]);
  });
  cluster.addFunction("fail", [](const Call &call) -> std::string {
    throw std::runtime_error("as asked by '" + call.argument + "'");
  });
  if (cluster.task() != DIST_TASK_CHIEF) {
    cluster.serve();
    return 0;
  }
  std::vector<RemoteValue> steps;
  for (int step = 0; step < std::atoi(argv[2]); ++step)
    steps.push_back(cluster.scheduleStep("examples"));
  cluster.join();
  std::printf("done: %s, loss %.4f, then %.4f\n", cluster.done() ? "yes" : "no",
              steps.front().fetch().loss, steps.back().fetch().loss);
  std::printf("score: %s\n", cluster.schedule("first_score").bytes().c_str());
  RemoteValue failing = cluster.schedule("fail", "the chief");
  try {
    cluster.join();
  } catch (const Error &error) {
    std::printf("join: %s\n", error.what());
  }
  cluster.scheduleStep("missing");
  try {
    cluster.join();
  } catch (const Error &error) {
    std::printf("join: %s\n", error.what());
  }
  cluster.join();
  std::printf("variables: %zu\n", cluster.session().variables().size());
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "coordinator_cpp: error: %s\n", error.what());
  return 1;
}
