//===- cache.cpp - Compiled packages, kept by content -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/cache.h"
#include "runtime/abi/abi.h"
#include "runtime/core/digest.h"
#include "runtime/core/variants.h"
#include "runtime/device/cpu/cpus.h"
#include "runtime/formats/dependencies.h"
#include "runtime/formats/file.h"
#include "runtime/formats/sha256.h"
#include "runtime/export/onnx_export.h"
#include "tools/dist-run/compiler.h"
#include "tools/dist-run/console.h"
#include "tools/dist-run/program.h"
#include "tools/dist-run/scratch.h"
#include "tools/options/machine.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

/// Packages kept in the cache; the least recently used go.
static constexpr size_t kCacheLimit = 48;
/// Digits of a key, and the ending of a list.
static constexpr size_t kKeyDigits = 64;
static const std::string kList = ".inputs";

//===----------------------------------------------------------------------===//
// What a package depends on
//===----------------------------------------------------------------------===//

/// Size and time of change: which build of the compiler it is.
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
  auto line = [&](const char *name) {
    size_t at = text.find(name);
    return at == std::string_view::npos
               ? std::string()
               : std::string(text.substr(at, text.find('\n', at) - at));
  };
  return line("model name") + line("flags");
}

/// A file's content as a piece of a key; a file that is not there is one, too.
static std::string hashOrNone(const std::string &path) {
  std::string hex;
  return hashFile(path, &hex).ok() ? hex : "none";
}

/// FILE of `--bind=NAME=FILE`; empty: it is another option.
static std::string boundFile(const std::string &word) {
  const std::string option = "--bind=";
  size_t equals = word.find('=', option.size());
  return word.compare(0, option.size(), option) == 0 &&
                 equals != std::string::npos
             ? word.substr(equals + 1)
             : "";
}

std::string CompileCache::keyOf(const std::string &hashOfModel) const {
  Sha256 hash;
  hash.addPiece(versionText());
  // What was compiled for another runtime's interface this one cannot load.
  hash.addPiece(std::to_string(DIST_RT_ABI_VERSION));
  hash.addPiece(stamp(compilerPath()));
  hash.addPiece(cpuFlags());
  // As the compiler shares them out.
  hash.addPiece(std::to_string(cpu::usableCpus().size()));
  // Figures and plans are read with the options, before any model.
  hash.addPiece(hashOrNone(machineFile(options.machine)));
  for (const std::string &table : {options.collectivesTable, options.linkTable})
    if (!table.empty())
      hash.addPiece(hashOrNone(table));
  const std::string plan = "--strategy=@";
  for (const std::string &word : arguments) {
    hash.addPiece(word);
    if (word.compare(0, plan.size(), plan) == 0)
      hash.addPiece(hashOrNone(word.substr(plan.size())));
    // A bound value is part of the program.
    if (std::string file = boundFile(word); !file.empty())
      hash.addPiece(hashOrNone(file));
  }
  hash.addPiece("model");
  hash.addPiece(hashOfModel);
  return hash.hex();
}

/// The folder that the model's own names start from, with its slash.
static std::string prefixOf(const std::string &model) {
  return model.substr(0, model.rfind('/') + 1);
}

/// The key of a model's package, from that of the model alone and the files
/// that it opens besides (path -> hash).
static std::string keyWith(const std::string &key,
                           const std::map<std::string, std::string> &files) {
  if (files.empty())
    return key;
  Sha256 hash;
  hash.addPiece(key);
  for (auto &[name, content] : files) {
    hash.addPiece(name);
    hash.addPiece(content);
  }
  return hash.hex();
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

CompileCache::CompileCache(const Options &options,
                           const std::vector<std::string> &arguments)
    : options(options), arguments(arguments) {
  struct stat info;
  // What is no file can be read only once, and that is for the compiler.
  if (options.noCompileCache || stat(options.model.c_str(), &info) != 0 ||
      !S_ISREG(info.st_mode))
    return;
  open();
  if (folder.empty())
    return;
  // A model that cannot be read is for the compiler to tell.
  if (!hashFile(options.model, &modelHash).ok())
    folder.clear();
}

void CompileCache::leave(const std::string &why) {
  std::string line = why.substr(0, why.find('\n'));
  size_t error = line.find("error: ");
  if (error != std::string::npos)
    line = line.substr(error + 7);
  printNote("dist-run: warning: the compile cache is not used (" +
            (folder.empty() ? "no folder" : folder) + "): " + line);
  folder.clear();
}

void CompileCache::open() {
  folder = options.compileCache;
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (folder.empty() && cache && *cache)
    folder = std::string(cache) + "/dist-mlir";
  else if (folder.empty() && home && *home)
    folder = std::string(home) + "/.cache/dist-mlir";
  if (folder.empty())
    return leave("neither HOME nor XDG_CACHE_HOME is set; give "
                 "--compile-cache");
  if (Status made = makeFolders(parentFolder(folder)); !made.ok())
    return leave(made.message());
  struct stat info;
  if ((mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) ||
      stat(folder.c_str(), &info) != 0)
    return leave(std::string("it cannot be made: ") + std::strerror(errno));
  if (!S_ISDIR(info.st_mode))
    return leave("it is no folder; give another with --compile-cache");
  if (info.st_uid != geteuid())
    return leave("it is another user's, and loading a package runs its code; "
                 "give one of yours with --compile-cache");
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return leave("others may write to it, and loading a package runs its code; "
                 "take the right away (chmod go-w)");
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
    return leave(std::strerror(errno));
}

bool CompileCache::withdraw(const std::string &path) {
  FolderLock lock;
  if (FolderLock::isOthers(lock.take(path, FolderLock::Kind::Owner)))
    return false;
  // At once and as a whole: others must not find what is left of it.
  ScratchFolder gone;
  if (!gone.make(parentFolder(path)).ok() ||
      ::rename(path.c_str(), (gone.getPath() + "/gone").c_str()) != 0)
    removeAll(path);
  return true;
}

/// Removes what was used the longest ago, and is not used now.
void CompileCache::prune() const {
  std::vector<std::pair<int64_t, std::string>> packages, lists;
  if (DIR *handle = opendir(folder.c_str())) {
    while (dirent *item = readdir(handle)) {
      std::string name = item->d_name, path = folder + "/" + name;
      bool isList = name.size() == kKeyDigits + kList.size() &&
                    name.substr(kKeyDigits) == kList;
      struct stat info;
      if ((isList || name.size() == kKeyDigits) &&
          stat(path.c_str(), &info) == 0)
        (isList ? lists : packages).emplace_back(info.st_mtime, path);
    }
    closedir(handle);
  }
  for (auto *items : {&packages, &lists}) {
    std::sort(items->rbegin(), items->rend());
    for (size_t i = kCacheLimit; i < items->size(); ++i)
      withdraw((*items)[i].second);
  }
}

//===----------------------------------------------------------------------===//
// Packages
//===----------------------------------------------------------------------===//

namespace {
/// The manifest of one CPU and program.
struct Part {
  std::string folder, variant;
};
} // namespace

static Status listParts(const std::string &package, std::vector<Part> *out) {
  std::vector<std::string> variants;
  manifest::Manifest first;
  DIST_RETURN_IF_ERROR(readManifest(package, &first));
  DIST_RETURN_IF_ERROR(listVariants(first, package, &variants));
  for (const std::string &variant : variants) {
    out->push_back({package, variant});
    for (int server = 0; server < first.servers_size(); ++server)
      out->push_back({serverPath(package, server), variant});
  }
  return Status();
}

/// The digest of a package's small files. Those of weights and code are in the
/// manifests.
static Status digestSmallFiles(const std::string &package, std::string *out) {
  std::vector<std::string> paths;
  std::vector<Part> parts;
  DIST_RETURN_IF_ERROR(listParts(package, &parts));
  for (const Part &part : parts)
    paths.push_back(manifestPath(part.folder, part.variant));
  std::string skeleton = package + "/" + kOnnxSkeletonName;
  if (access(skeleton.c_str(), F_OK) == 0)
    paths.push_back(skeleton);
  return digestFiles(paths, out);
}

static bool isSound(const std::string &package) {
  std::shared_ptr<const FileBytes> kept;
  std::string digest;
  return digestSmallFiles(package, &digest).ok() &&
         FileBytes::open(package + "/digest", &kept).ok() &&
         kept->bytes() == digest;
}

/// Whether weights and code are those of the manifests.
static bool hasItsLargeFiles(const std::string &package) {
  std::vector<Part> parts;
  if (!listParts(package, &parts).ok())
    return false;
  return std::all_of(parts.begin(), parts.end(), [](const Part &part) {
    manifest::Manifest manifest;
    std::string digest;
    return readManifestFile(manifestPath(part.folder, part.variant), &manifest)
               .ok() &&
           digestPackage(part.folder, part.variant, &digest).ok() &&
           digest == manifest.digest();
  });
}

bool CompileCache::find(std::string *package, FolderLock *use,
                        double *compileSeconds) {
  if (folder.empty())
    return false;
  std::string key = keyOf(modelHash), list = folder + "/" + key + kList;
  std::map<std::string, std::string> files;
  if (access(list.c_str(), F_OK) == 0) {
    std::shared_ptr<const FileBytes> bytes;
    Dependencies known;
    Status status = FileBytes::open(list, &bytes);
    if (status.ok())
      status = Dependencies::parse(bytes->bytes(), list, &known);
    if (!status.ok()) {
      printNote("dist-run: warning: damaged entry in the compile cache (" +
                list + "); it is removed, and the model compiled again");
      removeAll(list);
      return false;
    }
    // As they are now. One that is missing is for the compiler to tell.
    for (auto &[name, hash] : known.files())
      if (!hashFile(prefixOf(options.model) + name, &files[name]).ok())
        return false;
    utimensat(AT_FDCWD, list.c_str(), nullptr, 0);
  }
  std::string found = folder + "/" + keyWith(key, files);
  if (access(found.c_str(), F_OK) != 0)
    return false;
  // Others: it is being removed.
  FolderLock::Answer answer = use->take(found, FolderLock::Kind::Use);
  if (answer == FolderLock::Answer::Gone || FolderLock::isOthers(answer))
    return false;
  // One process finds out when it loads them, and compiles again. Of several
  // none can: the others have the package already, or wait for it.
  bool isOfMany = options.workers > 0 || options.clusterFound;
  if (!isSound(found) || (isOfMany && !hasItsLargeFiles(found))) {
    use->release();
    if (!withdraw(found)) {
      leave("an entry is damaged that another run works with (" + found + ")");
      return false;
    }
    printNote("dist-run: warning: damaged entry in the compile cache (" +
              found + "); it is removed, and the model compiled again");
    return false;
  }
  // Marks it as used.
  utimensat(AT_FDCWD, found.c_str(), nullptr, 0);
  std::shared_ptr<const FileBytes> seconds;
  if (FileBytes::open(found + "/compile_seconds", &seconds).ok())
    *compileSeconds = std::atof(std::string(seconds->bytes()).c_str());
  *package = found;
  return true;
}

std::string CompileCache::keep(const std::string &package,
                               const std::string &inputs, double compileSeconds,
                               FolderLock *use) {
  if (folder.empty())
    return "";
  // What was read, which may be newer than what was looked for.
  std::shared_ptr<const FileBytes> bytes;
  Dependencies read;
  Status status = FileBytes::open(inputs, &bytes);
  if (status.ok())
    status = Dependencies::parse(bytes->bytes(), inputs, &read);
  std::map<std::string, std::string> files = read.files();
  auto model = files.find(options.model);
  if (status.ok() && model == files.end())
    status = Status::error(StatusCode::Internal,
                           "the compiler did not say what it read", inputs);
  std::string key, target, digest;
  if (status.ok()) {
    key = keyOf(model->second);
    files.erase(model);
    for (const std::string &word : arguments)
      files.erase(boundFile(word));
    // What is left are the model's own, by names that hold wherever it lies.
    std::map<std::string, std::string> besides;
    Dependencies list;
    for (auto &[path, hash] : files) {
      std::string name = path.substr(prefixOf(options.model).size());
      besides[name] = hash;
      list.set(name, hash);
    }
    target = folder + "/" + keyWith(key, besides);
    if (!besides.empty())
      status = writeFile(folder + "/" + key + kList, list.text());
  }
  if (status.ok())
    status =
        writeFile(package + "/compile_seconds", std::to_string(compileSeconds));
  if (status.ok())
    status = digestSmallFiles(package, &digest);
  if (status.ok())
    status = writeFile(package + "/digest", digest);
  // Another run may be first; then its package is as good.
  bool taken = false;
  // From before it has its name, under which others may remove it.
  (void)use->take(package, FolderLock::Kind::Use);
  if (status.ok())
    status = offerFolder(
        package, target, [&] { return isSound(target); }, package + ".old",
        &taken);
  if (!status.ok()) {
    leave(status.message());
    return "";
  }
  if (taken) {
    prune();
    return target;
  }
  // It is no longer there: what was made here will do.
  FolderLock::Answer answer = use->take(target, FolderLock::Kind::Use);
  return answer == FolderLock::Answer::Gone || FolderLock::isOthers(answer)
             ? ""
             : target;
}

} // namespace dist::tools
