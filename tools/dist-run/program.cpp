//===- program.cpp - From a model to an open session -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/program.h"
#include "runtime/core/package.h"
#include "runtime/formats/file.h"
#include "runtime/formats/foreign.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/sha256.h"
#include "tools/options/interrupt.h"
#include "tools/options/values.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dist::tools {

/// Packages kept in the cache; the least recently used go.
static constexpr size_t kCacheLimit = 48;

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool isPackage(const std::string &path) {
  struct stat info;
  return stat((path + "/manifest").c_str(), &info) == 0 &&
         S_ISREG(info.st_mode);
}

//===----------------------------------------------------------------------===//
// The compiler as a child process
//===----------------------------------------------------------------------===//

/// dist-opt beside this program, else the one on PATH.
static std::string compilerPath() {
  char self[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size > 0) {
    std::string path(self, size);
    path = path.substr(0, path.rfind('/')) + "/dist-opt";
    if (access(path.c_str(), X_OK) == 0)
      return path;
  }
  return "dist-opt";
}

/// The child's lines in this tool's name. Of a crash only errors are kept.
static std::string adopt(const std::string &text, bool crashed) {
  std::string out;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.compare(0, 10, "dist-opt: ") == 0)
      line = "dist-run: " + line.substr(10);
    else if (crashed)
      continue;
    out += line + "\n";
  }
  return out;
}

static Status runCompiler(const std::vector<std::string> &words,
                          CompileFailure *failure) {
  auto cannot = [](const char *why) {
    return Status::error(StatusCode::Unavailable, "cannot run the compiler",
                         "dist-opt", why,
                         "check that it is installed beside "
                         "dist-run");
  };
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0)
    return cannot(std::strerror(errno));
  std::vector<char *> argv;
  for (const std::string &word : words)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child;
  {
    // Until it is known whom to kill.
    Shield shield("starting the compiler");
    child = fork();
    if (child == 0) {
      // A group of its own: with the compiler goes what it has started.
      // And with this process goes the compiler, however that ends.
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      int null = open("/dev/null", O_RDWR);
      dup2(null, STDIN_FILENO);
      dup2(null, STDOUT_FILENO);
      dup2(pipes[1], STDERR_FILENO);
      execvp(argv[0], argv.data());
      _exit(127);
    }
    if (child > 0) {
      setpgid(child, child);
      setChildGroup(child);
    }
  }
  if (child < 0) {
    close(pipes[0]);
    close(pipes[1]);
    return cannot(std::strerror(errno));
  }
  close(pipes[1]);
  std::string text;
  char block[4096];
  for (;;) {
    ssize_t got = read(pipes[0], block, sizeof block);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    // A compiler that never stops talking must not fill the memory.
    if (text.size() < (size_t(1) << 20))
      text.append(block, got);
  }
  close(pipes[0]);
  // Once it is reaped its number may be another's.
  siginfo_t info;
  while (waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR)
    ;
  setChildGroup(0);
  int code = 0;
  while (waitpid(child, &code, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(code) && WEXITSTATUS(code) == 0) {
    std::string warnings = adopt(text, false);
    if (!warnings.empty())
      printNote(warnings.substr(0, warnings.size() - 1));
    return Status();
  }
  if (WIFEXITED(code) && WEXITSTATUS(code) == 127)
    return cannot("it cannot be started");
  bool crashed = !WIFEXITED(code) || WEXITSTATUS(code) > 3;
  failure->text = adopt(text, crashed);
  failure->exitCode = crashed ? 3 : WEXITSTATUS(code);
  if (failure->text.find("error:") == std::string::npos)
    failure->text =
        "dist-run: error: the compiler failed (" + words[1] + "): " +
        (WIFSIGNALED(code) ? "signal " + std::to_string(WTERMSIG(code))
                           : "exit code " + std::to_string(WEXITSTATUS(code))) +
        "; please report the model and options\n" + failure->text;
  return Status::error(
      crashed ? StatusCode::Internal : StatusCode::InvalidInput, "");
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

/// Size and time of change: names a file's content without reading it.
static std::string stamp(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return path + ":none";
  return path + ":" + std::to_string(info.st_size) + ":" +
         std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
}

/// Lines of /proc/cpuinfo that decide the code.
static std::string cpuFlags() {
  std::shared_ptr<const FileBytes> file;
  if (!FileBytes::open("/proc/cpuinfo", &file).ok())
    return "";
  std::string_view text = file->bytes();
  size_t flags = text.find("flags"), name = text.find("model name");
  auto line = [&](size_t at) {
    return at == std::string_view::npos
               ? std::string()
               : std::string(text.substr(at, text.find('\n', at) - at));
  };
  return line(name) + line(flags);
}

static Status cacheKey(const Options &options,
                       const std::vector<std::string> &arguments,
                       std::string *out) {
  Sha256 hash;
  hash.addPiece(versionText());
  hash.addPiece(stamp(compilerPath()));
  hash.addPiece(cpuFlags());
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0)
    hash.addPiece(std::to_string(CPU_COUNT(&cores)));
  for (const std::string &word : arguments) {
    hash.addPiece(word);
    // A bound value is part of the program.
    size_t equals = word.find('=', 7);
    if (word.compare(0, 7, "--bind=") == 0 && equals != std::string::npos) {
      std::shared_ptr<const FileBytes> file;
      DIST_RETURN_IF_ERROR(FileBytes::open(word.substr(equals + 1), &file));
      hash.addPiece(file->bytes());
    }
  }
  hash.addPiece("model");
  std::shared_ptr<const FileBytes> model;
  DIST_RETURN_IF_ERROR(FileBytes::open(options.model, &model));
  hash.addPiece(model->bytes());
  // Models may keep weights in files beside them, named under "location".
  if (model->bytes().find("location") != std::string_view::npos) {
    size_t slash = options.model.rfind('/');
    std::string folder =
        slash == std::string::npos ? "." : options.model.substr(0, slash + 1);
    std::vector<std::string> names;
    if (DIR *handle = opendir(folder.c_str())) {
      while (dirent *item = readdir(handle))
        if (item->d_name[0] != '.')
          names.push_back(stamp(folder + "/" + item->d_name));
      closedir(handle);
    }
    std::sort(names.begin(), names.end());
    for (const std::string &name : names)
      hash.addPiece(name);
  }
  *out = hash.hex();
  return Status();
}

/// Where packages are kept, or empty when nowhere can be.
static std::string cacheFolder(const Options &options) {
  if (options.noCompileCache)
    return "";
  std::string folder = options.compileCache;
  if (folder.empty()) {
    const char *cache = std::getenv("XDG_CACHE_HOME");
    const char *home = std::getenv("HOME");
    if (cache && *cache)
      folder = std::string(cache) + "/dist-mlir";
    else if (home && *home)
      folder = std::string(home) + "/.cache/dist-mlir";
    else
      return "";
  }
  if (!makeFolders(folder).ok() || access(folder.c_str(), W_OK | X_OK) != 0) {
    if (!options.compileCache.empty())
      printNote("dist-run: warning: cannot write to the compile cache " +
                folder + "; compiling without it");
    return "";
  }
  return folder;
}

static void prune(const std::string &folder) {
  std::vector<std::pair<int64_t, std::string>> items;
  if (DIR *handle = opendir(folder.c_str())) {
    while (dirent *item = readdir(handle)) {
      std::string path = folder + "/" + item->d_name;
      struct stat info;
      if (std::strlen(item->d_name) == 64 && stat(path.c_str(), &info) == 0)
        items.emplace_back(int64_t(info.st_mtime), path);
    }
    closedir(handle);
  }
  std::sort(items.rbegin(), items.rend());
  for (size_t i = kCacheLimit; i < items.size(); ++i)
    removeAll(items[i].second);
}

/// A package has its batch, training and strategy in it: other ones would be
/// ignored.
static Status checkCompiled(const Options &options) {
  manifest::Manifest manifest;
  DIST_RETURN_IF_ERROR(readManifest(options.model, &manifest));
  const auto &known = manifest.options();
  auto found = known.find("arguments");
  std::string given = "\n" + (found == known.end() ? "" : found->second) + "\n";
  static const char *const ofRun[] = {"--seed", "--memory-limit",
                                      "--collective-timeout", "--on-nonfinite",
                                      "--machine"};
  for (const std::string &word : options.compileArguments) {
    std::string name = word.substr(0, word.find('='));
    if (given.find("\n" + word + "\n") != std::string::npos)
      continue;
    if (std::find(std::begin(ofRun), std::end(ofRun), name) == std::end(ofRun))
      return Status::error(StatusCode::InvalidArgument,
                           "a package is compiled already", name,
                           "what it says is in the package's programs",
                           "leave it out, or give the model file");
  }
  return Status();
}

Status makeProgram(const Options &options, const std::vector<std::string> &more,
                   Program *out, CompileFailure *failure) {
  // What an attempt before this one left.
  out->temporary.remove();
  if (isPackage(options.model)) {
    DIST_RETURN_IF_ERROR(checkCompiled(options));
    out->folder = options.model;
    return Status();
  }
  struct stat info;
  if (stat(options.model.c_str(), &info) != 0)
    return Status::error(StatusCode::InvalidInput, "cannot read model",
                         options.model, std::strerror(errno),
                         "check the name and its permissions");
  if (S_ISDIR(info.st_mode)) {
    DIST_RETURN_IF_ERROR(checkForeignFolder(options.model));
    return Status::error(StatusCode::InvalidInput, "cannot read model",
                         options.model, "the folder is no compiled package",
                         "give an .onnx file or a package");
  }
  std::vector<std::string> arguments = options.compileArguments;
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::string cache = cacheFolder(options), target;
  if (!cache.empty()) {
    std::string key;
    DIST_RETURN_IF_ERROR(cacheKey(options, arguments, &key));
    target = cache + "/" + key;
    if (isPackage(target)) {
      // Marks it as used.
      utimensat(AT_FDCWD, target.c_str(), nullptr, 0);
      out->folder = target;
      std::shared_ptr<const FileBytes> seconds;
      if (FileBytes::open(target + "/compile_seconds", &seconds).ok())
        out->compileSeconds = std::atof(std::string(seconds->bytes()).c_str());
      return Status();
    }
  }
  const char *given = std::getenv("TMPDIR");
  DIST_RETURN_IF_ERROR(out->temporary.make(!cache.empty()    ? cache
                                           : given && *given ? given
                                                             : "/tmp"));
  std::string package = out->temporary.getPath() + "/package";
  out->folder = package;
  std::vector<std::string> words = {compilerPath(), options.model,
                                    "--emit=package", "--output=" + package};
  words.insert(words.end(), arguments.begin(), arguments.end());
  double begin = now();
  setActivity("compiling the model");
  Status status = runCompiler(words, failure);
  DIST_RETURN_IF_ERROR(status);
  out->compileSeconds = now() - begin;
  if (!isPackage(package))
    return Status::error(StatusCode::Internal, "the compiler left no package",
                         options.model);
  if (cache.empty())
    return Status();
  // What moves to the cache must not be cleaned away on its way.
  Shield shield("putting the package into the cache");
  DIST_RETURN_IF_ERROR(writeFile(package + "/compile_seconds",
                                 std::to_string(out->compileSeconds)));
  // Another run may have been first; then its package is as good.
  if (::rename(package.c_str(), target.c_str()) != 0 && !isPackage(target))
    return Status(); // Stays a temporary program.
  out->folder = target;
  out->temporary.remove();
  prune(cache);
  return Status();
}

std::vector<std::string> modelNotes(const manifest::Manifest &manifest) {
  std::vector<std::string> notes;
  auto found = manifest.options().find("notes");
  if (found == manifest.options().end())
    return notes;
  std::istringstream lines(found->second);
  for (std::string line; std::getline(lines, line);)
    notes.push_back(line);
  return notes;
}

/// By the plan; what is on the host takes nothing of a device.
static Status checkMemory(const Options &options, const Program &program) {
  manifest::Manifest manifest;
  DIST_RETURN_IF_ERROR(readManifest(program.folder, &manifest));
  for (int number = 0; number < manifest.programs_size(); ++number) {
    const manifest::Program &item = manifest.programs(number);
    if (isOfHost(manifest, number))
      continue;
    for (const manifest::Entry &entry : item.entries()) {
      int64_t needed = stateBytes(manifest, item) + entry.arena_bytes();
      if (double(needed) <= options.memoryLimitGiB * (1 << 30))
        continue;
      std::string parts;
      for (const manifest::MemoryPart &part : entry.parts())
        parts += (parts.empty() ? "" : ", ") + part.what() + " " +
                 formatGiB(part.bytes());
      return Status::error(StatusCode::InvalidInput,
                           "the program exceeds --memory-limit",
                           "entry '" + entry.name() + "'",
                           "each device needs " + formatNeededGiB(needed) +
                               (parts.empty() ? "" : ": " + parts),
                           "lower --batch-size or raise the limit");
    }
  }
  return Status();
}

Status openSession(const Options &options, const Program &program,
                   std::unique_ptr<Session> *session, double *loadSeconds) {
  double begin = now();
  setActivity("loading the program");
  if (options.memoryLimitGiB > 0)
    DIST_RETURN_IF_ERROR(checkMemory(options, program));
  SessionOptions settings;
  settings.collectiveTimeout = options.collectiveTimeout;
  settings.trace = !options.trace.empty();
  DIST_RETURN_IF_ERROR(Session::open(program.folder, settings, session));
  if (loadSeconds)
    *loadSeconds = now() - begin;
  return Status();
}

int openProgram(const Options &options, int64_t defaultBatch, Program *program,
                std::unique_ptr<Session> *session, double *loadSeconds) {
  CompileFailure failure;
  std::vector<std::string> more;
  if (options.batchSize.value == 0)
    more.push_back("--batch-size=" + std::to_string(defaultBatch));
  Status status = makeProgram(options, more, program, &failure);
  if (failure.exitCode) {
    std::fputs(failure.text.c_str(), stderr);
    return failure.exitCode;
  }
  if (status.ok())
    status = openSession(options, *program, session, loadSeconds);
  return report(status);
}

} // namespace dist::tools
