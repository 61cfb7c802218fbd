//===- launch.cpp - Workers of this machine -------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each worker is this program once more, with the same command line and a
// TF_CONFIG of its own. The chief, worker 0 where parameter servers want none
// beside the workers, has this process's terminal and standard output; what the
// others say comes through pipes, and is passed on with their names before it.
//
// Their ports are bound here, and kept, before they start: no other program can
// be given one in between. A server may listen at a port that another socket is
// bound to but does not listen at, where both allow it (SO_REUSEADDR).
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/launch.h"
#include "runtime/checkpoint/run_file.h"
#include "runtime/cluster/open_files.h"
#include "runtime/cluster/socket.h"
#include "runtime/core/package.h"
#include "runtime/formats/file.h"
#include "tools/dist-run/commands.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/held_package.h"
#include "tools/dist-run/launched_worker.h"
#include "tools/dist-run/present_chief.h"
#include "tools/dist-run/planned.h"
#include "tools/dist-run/program.h"
#include "tools/dist-run/restart_end.h"
#include "tools/dist-run/secret.h"
#include "tools/options/interrupt.h"
#include "tools/options/piped_files.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dist::tools {

/// How long the others may take to end after one has failed.
static constexpr std::chrono::seconds kGrace{5};
/// One that has ended by itself was not told to with all others if the chief
/// works on for so long.
static constexpr std::chrono::seconds kStopping{2};
/// How long one that is killed may take to be gone.
static constexpr std::chrono::seconds kDying{2};
/// Between two tries to start one again that the system refuses.
static constexpr std::chrono::seconds kNextTry{1};
static constexpr int kPollMilliseconds = 20;

namespace {

class Workers {
public:
  /// They run this command; `restarts`: how many of them may be started again.
  Workers(std::vector<std::string> command, int *restarts)
      : command(std::move(command)), restarts(restarts) {}
  ~Workers();
  /// `servers` of them hold variables, and a chief more tells all what to do.
  /// The package must outlive this object; null: they have none.
  Status start(const Options &options, int servers, HeldPackage *package);
  /// Until all have ended.
  int wait();
  /// What ended them, for a line; empty: nothing that another time could go
  /// well. Behind `wait`.
  std::string describeFailure() const;

private:
  Status startOne(int index);
  /// Those that were lost, where the others take them in.
  void startAgain();
  /// Whether it is to be started again, now or later, if it is lost.
  bool mayStartAgain(const Worker &worker) const;
  /// Tells the chief where all workers have ended for good.
  void tellChief();
  /// Finds what failed where no single one's failure ends the run.
  void judge();
  /// Whether the run is over with this one's failure.
  bool isFatal(size_t worker) const;
  /// Those that are left have to end.
  bool isOver() const;
  bool hasOneFinished() const;
  /// Whether what was passed on, SIGINT or SIGTERM, ended one of them before it
  /// could stop together with the others, and no state was saved meanwhile.
  bool wasBrokenOff(int signal) const;
  void passOn(Worker &worker);
  void findChief();
  void reap();
  /// Those that are left; says so.
  void endAll();
  void signalAll(int signal);

  std::vector<std::string> command;
  HeldPackage *package = nullptr;
  int *restarts;
  /// Which of them may be started again while the others work, from one to
  /// before another.
  size_t firstAgain = 0, endAgain = 0;
  RestartEnd restartEnd;              // where a chief waits for them
  std::vector<cluster::Socket> ports; // of the tasks
  std::vector<Worker> workers;
  /// Of this job alone, in the workers' environment, which other users cannot
  /// read; empty: they were given one.
  std::string secret;
  pid_t group = 0; // of all of them
  /// Beside a chief that tells all what to do, or goes on without those that
  /// are lost, a worker more or less is its concern.
  bool isChiefs = false;
  /// Another one takes the place of a chief that is lost.
  bool canLoseChief = false;
  PresentChief presentChief; // says which, then
  size_t chief = 0;          // now
  int firstFailed = -1;
};

} // namespace

std::string launchedPackage() {
  const char *package = std::getenv(kPackageVariable);
  return package ? package : "";
}

void forgetLaunchedPackage() { unsetenv(kPackageVariable); }

void takeLaunched(Options *options) {
  if (launchedPackage().empty())
    return;
  options->cluster = "TF_CONFIG";
  options->clusterFound = true;
}

bool launchesWorkers(const Options &options) {
  return options.workers > 0 && !options.clusterFound &&
         launchedPackage().empty();
}

static Status cannotStart(const std::string &name, int error) {
  return Status::error(
      StatusCode::Unavailable, "cannot start a worker", name,
      std::strerror(error),
      error == EAGAIN ? "raise the limit of processes (ulimit -u), or that of "
                        "their control group (pids.max)"
      : error == EMFILE || error == ENFILE
          ? "raise the limit of open files (ulimit -n)"
      : error == ENOMEM ? "make memory free"
                        : "");
}

Status Workers::startOne(int index) {
  Worker &worker = workers[index];
  bool isChief = index == 0;
  std::string place = "none";
  if (package)
    DIST_RETURN_IF_ERROR(package->place(&place));
  int ends[2] = {-1, -1};
  if (!isChief && pipe2(ends, O_CLOEXEC) != 0)
    return cannotStart(worker.name, errno);
  std::vector<char *> argv;
  for (std::string &word : command)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t parent = getpid();
  worker.process = forkHearing();
  if (worker.process == 0) {
    // A group of their own: the terminal's signals come here, and go to them
    // once. With this process they end, however it does.
    setpgid(0, group);
    dieWith(parent);
    setenv("TF_CONFIG", worker.config.c_str(), 1);
    setenv(kPackageVariable, place.c_str(), 1);
    if (!secret.empty())
      setenv(kSecretVariable, secret.c_str(), 1);
    presentChief.giveToChild();
    int null = open("/dev/null", O_RDONLY);
    if (!namesStandardInput())
      dup2(null, STDIN_FILENO);
    if (isChief) {
      restartEnd.giveToChild();
    } else {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
    }
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  int error = errno;
  if (ends[1] >= 0)
    close(ends[1]);
  worker.pipe = ends[0];
  if (worker.process < 0) {
    worker.hasEnded = true;
    if (ends[0] >= 0)
      close(ends[0]);
    worker.pipe = -1;
    return cannotStart(worker.name, error);
  }
  if (worker.pipe >= 0)
    fcntl(worker.pipe, F_SETFL, O_NONBLOCK);
  setpgid(worker.process, group);
  if (group == 0)
    group = worker.process;
  setChildGroup(group);
  return Status();
}

Status Workers::start(const Options &options, int servers,
                      HeldPackage *program) {
  package = program;
  isChiefs = servers > 0 || options.elastic;
  canLoseChief = options.elastic && options.store;
  if (isChiefs) {
    firstAgain = canLoseChief ? 0 : 1;
    // Behind the chief of servers, which have no other to take what they hold.
    endAgain = options.workers + (servers > 0 ? 1 : 0);
  }
  if (servers > 0)
    DIST_RETURN_IF_ERROR(restartEnd.open());
  if (canLoseChief)
    DIST_RETURN_IF_ERROR(presentChief.open());
  DIST_RETURN_IF_ERROR(makeLaunchSecret(options, &secret));
  const std::pair<const char *, int> jobs[] = {{"chief", servers > 0 ? 1 : 0},
                                               {"worker", options.workers},
                                               {"ps", servers}};
  struct Task {
    const char *job;
    int index;
  };
  std::vector<Task> tasks;
  for (auto [job, size] : jobs)
    for (int i = 0; i < size; ++i)
      tasks.push_back({job, i});
  ports.resize(tasks.size());
  workers.resize(tasks.size());
  std::string cluster;
  for (size_t i = 0; i < tasks.size(); ++i) {
    int port = 0;
    DIST_RETURN_IF_ERROR(cluster::Socket::reserve(&ports[i], &port));
    workers[i].name =
        std::string(tasks[i].job) + " " + std::to_string(tasks[i].index);
    cluster += tasks[i].index > 0 ? ", "
                                  : std::string(i == 0 ? "" : "], ") + "\"" +
                                        tasks[i].job + "\": [";
    cluster += "\"127.0.0.1:" + std::to_string(port) + "\"";
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    workers[i].config = "{\"cluster\": {" + cluster +
                        "]}, \"task\": {\"type\": \"" + tasks[i].job +
                        "\", \"index\": " + std::to_string(tasks[i].index) +
                        "}}";
    DIST_RETURN_IF_ERROR(startOne(int(i)));
  }
  return Status();
}

bool Workers::isFatal(size_t worker) const {
  return !isChiefs || (worker == 0 && !canLoseChief);
}

bool Workers::hasOneFinished() const {
  return std::any_of(workers.begin(), workers.end(), hasFinished);
}

bool Workers::isOver() const {
  // The chief writes what the run gives when the others have ended. None takes
  // its place when one of them has.
  if (canLoseChief)
    return workers[chief].hasEnded && hasOneFinished();
  return firstFailed >= 0 || (isChiefs && workers[0].hasEnded);
}

bool Workers::wasBrokenOff(int signal) const {
  auto exitedWith = [&](int code) {
    return std::any_of(workers.begin(), workers.end(), [&](const Worker &it) {
      return WIFEXITED(it.status) && WEXITSTATUS(it.status) == code;
    });
  };
  // Before it watches for signals they end it as ever.
  bool isKilled =
      std::any_of(workers.begin(), workers.end(), [&](const Worker &it) {
        return WIFSIGNALED(it.status) && WTERMSIG(it.status) == signal;
      });
  return (isKilled || exitedWith(128 + signal)) && !exitedWith(kResumableExit);
}

void Workers::judge() {
  if (!canLoseChief)
    return;
  // The others were lost before the end, and what the run gives is the chief's.
  if (hasOneFinished()) {
    firstFailed = workers[chief].status == 0 ? -1 : int(chief);
    return;
  }
  // Who was there last has done what the run has.
  auto last = std::max_element(
      workers.begin(), workers.end(),
      [](const Worker &a, const Worker &b) { return a.end < b.end; });
  firstFailed = int(last - workers.begin());
}

void Workers::findChief() {
  const pid_t process = presentChief.take();
  for (size_t i = 0; process > 0 && i < workers.size(); ++i)
    if (workers[i].process == process)
      chief = i;
}

void Workers::signalAll(int signal) {
  for (const Worker &worker : workers)
    if (worker.process > 0 && !worker.hasEnded)
      kill(worker.process, signal);
}

Workers::~Workers() {
  signalAll(SIGKILL);
  for (Worker &worker : workers) {
    while (worker.process > 0 && !worker.hasEnded &&
           waitpid(worker.process, &worker.status, 0) < 0 && errno == EINTR)
      ;
    if (worker.pipe >= 0)
      close(worker.pipe);
  }
  setChildGroup(0);
}

/// Whole lines, with the worker's name before each.
void Workers::passOn(Worker &worker) {
  char block[4096];
  while (worker.pipe >= 0) {
    ssize_t got = read(worker.pipe, block, sizeof block);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
      break;
    if (got <= 0) {
      close(worker.pipe);
      worker.pipe = -1;
      if (!worker.unfinished.empty() && worker.unfinished.back() != '\n')
        worker.unfinished += "\n";
    } else {
      worker.unfinished.append(block, got);
    }
  }
  for (size_t end; (end = worker.unfinished.find('\n')) != std::string::npos;) {
    // The chief's bar may stand there.
    printNote((hasTerminal() ? "\r\x1b[K" : "") + worker.name + ": " +
              worker.unfinished.substr(0, end));
    worker.unfinished.erase(0, end + 1);
  }
}

void Workers::endAll() {
  for (Worker &worker : workers)
    if (worker.process > 0 && !worker.hasEnded && !worker.isKilled) {
      worker.isKilled = true;
      printNote("dist-run: note: " + worker.name +
                " is killed: the run is "
                "over, and it has not ended since");
      kill(worker.process, SIGKILL);
    }
}

void Workers::reap() {
  std::vector<size_t> ended;
  for (Worker &worker : workers) {
    if (worker.hasEnded ||
        waitpid(worker.process, &worker.status, WNOHANG) != worker.process)
      continue;
    worker.hasEnded = true;
    worker.end = Clock::now();
    ended.push_back(size_t(&worker - workers.data()));
  }
  // Of several, the others have failed by the one that was killed.
  std::partition(ended.begin(), ended.end(), [&](size_t number) {
    return WIFSIGNALED(workers[number].status);
  });
  // On a busy machine it is gone only after they are.
  auto isTheirCause = [&](size_t number) {
    const Worker &worker = workers[number], &first = workers[firstFailed];
    return WIFSIGNALED(worker.status) && WIFEXITED(first.status) &&
           WEXITSTATUS(first.status) == exitCodeOf(StatusCode::Unavailable) &&
           worker.end - first.end < kDying;
  };
  for (size_t number : ended)
    if (workers[number].status != 0 && isFatal(number) &&
        (firstFailed < 0 || isTheirCause(number)))
      firstFailed = int(number);
}

static void noteRestart(const std::string &why, const std::string &what,
                        int left) {
  printNote("dist-run: note: " + why + ": " + what + " again (" +
            std::to_string(left) + " more " +
            (left == 1 ? "restart is" : "restarts are") + " left)");
}

bool Workers::mayStartAgain(const Worker &worker) const {
  // Nobody takes one in when one has done all.
  return *restarts > 0 && isAccident(worker.status) && !isOver() &&
         !(canLoseChief && hasOneFinished()) && !interruptedBy();
}

void Workers::startAgain() {
  for (size_t i = firstAgain; i < endAgain; ++i) {
    Worker &worker = workers[i];
    bool isLost = worker.hasEnded && (WIFSIGNALED(worker.status) ||
                                      Clock::now() - worker.end > kStopping);
    if (!isLost || !mayStartAgain(worker) ||
        (worker.isRefused && Clock::now() < worker.nextTry))
      continue;
    const std::string why = describeEnd(worker);
    // Of its pipe all is read that it has said itself.
    if (worker.pipe >= 0)
      close(worker.pipe);
    worker.pipe = -1;
    Status status = startOne(int(i));
    worker.hasEnded = !status.ok();
    if (status.ok())
      noteRestart(why, "it is started", --*restarts);
    else if (!worker.isRefused)
      printNote("dist-run: note: " + why + ": " + status.message() +
                "; tried again each second");
    worker.isRefused = !status.ok();
    worker.nextTry = Clock::now() + kNextTry;
  }
}

void Workers::tellChief() {
  if (std::none_of(workers.begin() + firstAgain, workers.begin() + endAgain,
                   [&](const Worker &worker) {
                     return !worker.hasEnded || mayStartAgain(worker);
                   }))
    restartEnd.tell();
}

std::string Workers::describeFailure() const {
  if (firstFailed < 0 || !isAccident(workers[firstFailed].status))
    return "";
  return describeEnd(workers[firstFailed]);
}

int Workers::wait() {
  bool isForwarded = false;
  Clock::time_point last;
  while (true) {
    std::vector<pollfd> pipes;
    for (const Worker &worker : workers)
      if (worker.pipe >= 0)
        pipes.push_back({worker.pipe, POLLIN, 0});
    poll(pipes.data(), pipes.size(), kPollMilliseconds);
    bool wasOver = isOver();
    // Who has ended has said before that it was the chief.
    reap();
    findChief();
    for (Worker &worker : workers)
      passOn(worker);
    startAgain();
    tellChief();
    // One whose start the system refused is still to come.
    auto isToCome = [&](const Worker &worker) {
      return !worker.hasEnded || (worker.isRefused && mayStartAgain(worker));
    };
    if (std::none_of(workers.begin(), workers.end(), isToCome))
      break;
    if (isOver() && !wasOver)
      last = Clock::now() + kGrace;
    if (isOver() && !interruptedBy() && Clock::now() > last)
      endAll();
    if (interruptedBy() && !isForwarded) {
      isForwarded = true;
      signalAll(interruptedBy());
    }
  }
  setChildGroup(0);
  judge();
  if (firstFailed < 0)
    return 0;
  // The others' failures are those of peers that were ended.
  if (int signal = interruptedBy(); signal && wasBrokenOff(signal))
    return 128 + signal;
  const Worker &failed = workers[firstFailed];
  bool isKilled = WIFSIGNALED(failed.status);
  int code = isKilled ? exitCodeOf(StatusCode::Unavailable)
                      : WEXITSTATUS(failed.status);
  // The chief's own error is there to read, and who has interrupted knows.
  if (!interruptedBy() && (isKilled || firstFailed != 0) && code <= 3)
    (void)report(Status::error(
        StatusCode::Unavailable, failed.name + " failed", "--workers",
        isKilled ? std::string("it was ended by SIG") +
                       sigabbrev_np(WTERMSIG(failed.status))
                 : "it ended with exit code " + std::to_string(code),
        isKilled ? "" : "its error is above"));
  return code;
}

/// The same run, from the last state that it has saved.
static std::vector<std::string> resuming(std::vector<std::string> command) {
  command.erase(std::remove(command.begin(), command.end(), "--overwrite"),
                command.end());
  if (std::find(command.begin(), command.end(), "--resume") == command.end())
    command.push_back("--resume");
  return command;
}

/// Before anything is compiled for them.
static Status checkFiles(const Options &options) {
  int chiefs = options.servers > 0 ? 1 : 0;
  return cluster::checkOpenFilesOfAll(
      options.workers + options.servers + chiefs, int(options.devices.size()),
      /*servesStore=*/!options.store);
}

int launchPlainWorkers(const Options &options) {
  if (Status status = checkFiles(options); !status.ok())
    return report(status);
  Shield shield("telling the workers");
  int restarts = 0;
  Workers workers(ownCommandLine(), &restarts);
  Status status = workers.start(options, /*servers=*/0, /*package=*/nullptr);
  int code = status.ok() ? workers.wait() : report(status);
  shield.dismiss();
  return code;
}

int launchWorkers(const Options &options, int64_t defaultBatch) {
  if (std::getenv("TF_CONFIG"))
    printNote("dist-run: note: TF_CONFIG is set: --workers makes a cluster of "
              "its own, and does not use it");
  if (Status status = checkFiles(options); !status.ok())
    return report(status);
  Program program;
  CompileFailure failure;
  Status status = makeProgram(options, workerArguments(options, defaultBatch),
                              &program, &failure);
  if (failure.exitCode) {
    std::fputs(failure.text.c_str(), stderr);
    return failure.exitCode;
  }
  if (!status.ok())
    return report(status);
  Shield shield("telling the workers");
  // Also for those that are started again, hours later.
  HeldPackage package;
  manifest::Manifest manifest;
  status = package.hold(program.folder);
  if (status.ok())
    status = readManifest(program.folder, &manifest);
  if (status.ok() && options.maxRestarts > 0 && options.checkpoint.empty() &&
      !options.elastic && manifest.servers_size() == 0)
    status = Status::error(
        StatusCode::InvalidArgument, "wrong option value", "--max-restarts",
        "a run that saves nothing would begin anew", "add --checkpoint DIR");
  const std::string runBefore = readRunFile(options.checkpoint).run;
  std::vector<std::string> command = ownCommandLine();
  int restarts = options.maxRestarts, code = 0;
  while (status.ok()) {
    Workers workers(command, &restarts);
    status = workers.start(options, manifest.servers_size(), &package);
    if (!status.ok())
      break;
    code = workers.wait();
    std::string failure = workers.describeFailure();
    if (failure.empty() || restarts == 0 || options.checkpoint.empty() ||
        interruptedBy())
      break;
    noteRestart(failure, "all are started", --restarts);
    // Until the run has begun there, the folder is another's.
    if (!options.overwrite || readRunFile(options.checkpoint).run != runBefore)
      command = resuming(std::move(command));
  }
  if (!status.ok())
    code = report(status);
  shield.dismiss();
  return code;
}

} // namespace dist::tools
