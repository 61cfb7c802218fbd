//===- output_package.cpp - The trained model as a package ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/output_package.h"
#include "runtime/checkpoint/values.h"
#include "runtime/core/manifest_bytes.h"
#include "runtime/core/digest.h"
#include "runtime/core/package_files.h"
#include "runtime/core/variants.h"
#include "runtime/core/package.h"
#include "runtime/formats/file.h"
#include "runtime/formats/links.h"
#include "runtime/formats/safetensors.h"
#include "tools/dist-run/output.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>

namespace dist::tools {

Status cannotWrite(const std::string &path, const std::string &why) {
  return Status::error(StatusCode::Unavailable, "cannot write", path, why,
                       "check the folder, its permissions and free space");
}

/// Under which name a trained value is in the package's weights; empty: it
/// begins with the value that the manifest says. That was one number for all
/// elements of zero biases, which after training are others.
static std::string keyOf(const manifest::Variable &variable) {
  return variable.weights_key().empty() && isOfModel(variable.group())
             ? variable.name()
             : variable.weights_key();
}

/// weights.safetensors of the package `from` with the values of now, in `to`.
static Status writeValues(const std::string &from, const std::string &to,
                          const manifest::Manifest &manifest,
                          const GlobalReader &read) {
  std::error_code error;
  std::string weights = from + "/weights.safetensors";
  std::unique_ptr<SafetensorsFile> old;
  if (std::filesystem::exists(weights, error))
    DIST_RETURN_IF_ERROR(SafetensorsFile::open(weights, &old, FileAccess::Map));
  SafetensorsWriter writer(to + "/weights.safetensors");
  std::map<std::string, bool> written;
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const std::string key = keyOf(manifest.variables(i));
    if (key.empty() || written[key])
      continue;
    const auto &type = manifest.variables(i).global_type();
    std::vector<int64_t> shape = shapeOf(type);
    written[key] = true;
    writer.add(key, type.type(), shape, [&read, i, shape](Tensor *value) {
      DIST_RETURN_IF_ERROR(read(i, value));
      // What is read of all replicas becomes each replica's again.
      if (value->shape != shape && !value->data.empty()) {
        Buffer one = value->data;
        value->shape = shape;
        value->data.clear();
        while (value->data.size() < value->view().bytes())
          value->data.insert(value->data.end(), one.begin(), one.end());
      }
      return Status();
    });
  }
  if (old)
    for (auto &[key, view] : old->tensors())
      if (!written[key])
        writer.add(key, view.type, view.shape, view.data);
  return writer.finish(/*durable=*/true);
}

/// A server's values: of each of its parts, the rows that it has of a variable.
static Status writeServerValues(const std::string &from, const std::string &to,
                                const manifest::Manifest &worker, int number,
                                const GlobalReader &read) {
  manifest::Manifest server;
  DIST_RETURN_IF_ERROR(readManifest(from, &server));
  std::map<std::string, const manifest::ServerPart *> parts;
  for (const manifest::ServerPart &part : worker.servers(number).parts())
    parts[part.name_there()] = &part;
  // What is no part of a variable is filled, or stays as it is in the old file.
  for (manifest::Variable &variable : *server.mutable_variables())
    if (!parts.count(variable.name())) {
      variable.clear_weights_key();
      variable.clear_group();
    }
  return writeValues(from, to, server, [&](int index, Tensor *out) {
    const manifest::ServerPart &part = *parts[server.variables(index).name()];
    Tensor whole;
    DIST_RETURN_IF_ERROR(read(part.variable(), &whole));
    if (whole.shape.empty()) {
      *out = std::move(whole);
      return Status();
    }
    size_t row = whole.shape[0] ? whole.data.size() / whole.shape[0] : 0;
    out->type = whole.type;
    out->shape = whole.shape;
    out->shape[0] = part.size();
    out->data.assign(whole.data.begin() + row * part.begin(),
                     whole.data.begin() + row * (part.begin() + part.size()));
    return Status();
  });
}

/// The manifests of a package whose weights are others than before.
static Status writeManifests(const std::string &from, const std::string &to) {
  std::vector<std::string> variants;
  manifest::Manifest first;
  std::unique_ptr<SafetensorsFile> weights;
  DIST_RETURN_IF_ERROR(SafetensorsFile::open(to + "/weights.safetensors",
                                             &weights, FileAccess::Map));
  DIST_RETURN_IF_ERROR(readManifest(from, &first));
  DIST_RETURN_IF_ERROR(listVariants(first, from, &variants));
  for (const std::string &variant : variants) {
    manifest::Manifest changed;
    DIST_RETURN_IF_ERROR(readVariant(from, variant, &changed));
    std::string digest;
    DIST_RETURN_IF_ERROR(digestPackage(to, variant, &digest));
    changed.set_digest(digest);
    for (manifest::Variable &variable : *changed.mutable_variables())
      if (weights->find(keyOf(variable)))
        variable.set_weights_key(keyOf(variable));
    for (int number = 0; number < changed.servers_size(); ++number) {
      manifest::Manifest server;
      DIST_RETURN_IF_ERROR(
          readVariant(serverPath(to, number), variant, &server));
      changed.mutable_servers(number)->set_digest(server.digest());
    }
    DIST_RETURN_IF_ERROR(
        writeFile(manifestPath(to, variant), toBytes(changed), true));
  }
  return Status();
}

Status writePackage(const std::string &package,
                    const manifest::Manifest &manifest,
                    const GlobalReader &read, const std::string &target) {
  namespace fs = std::filesystem;
  std::error_code error;
  // Again, because hours may have passed.
  DIST_RETURN_IF_ERROR(checkModelName(target));
  std::string name = withoutLinks(target), beside;
  while (name.size() > 1 && name.back() == '/')
    name.pop_back();
  DIST_RETURN_IF_ERROR(makeFolderBeside(name, &beside));
  struct Remover {
    std::string path;
    ~Remover() { removeAll(path); }
  } remover{beside};
  for (const auto &item : fs::recursive_directory_iterator(package, error)) {
    // What the compile cache keeps for itself is no part of a package.
    fs::path file = fs::relative(item.path(), package), copy = beside / file;
    if (file.filename() == "weights.safetensors" || file == "digest" ||
        file == "compile_seconds")
      continue;
    if (item.is_directory(error)) {
      DIST_RETURN_IF_ERROR(makeFolders(copy));
      continue;
    }
    // Not by the standard library's copy, to which a full disk is an
    // input/output error.
    std::shared_ptr<const FileBytes> bytes;
    DIST_RETURN_IF_ERROR(FileBytes::open(item.path(), &bytes, FileAccess::Map));
    DIST_RETURN_IF_ERROR(writeFile(copy, bytes->bytes(), true));
  }
  if (error)
    return cannotWrite(package, error.message());
  DIST_RETURN_IF_ERROR(writeValues(package, beside, manifest, read));
  for (int number = 0; number < manifest.servers_size(); ++number) {
    std::string from = serverPath(package, number),
                to = serverPath(beside, number);
    DIST_RETURN_IF_ERROR(writeServerValues(from, to, manifest, number, read));
    DIST_RETURN_IF_ERROR(writeManifests(from, to));
  }
  DIST_RETURN_IF_ERROR(writeManifests(package, beside));
  DIST_RETURN_IF_ERROR(flushToDisk(beside));
  // In one step, so that a crash leaves the old package or the new one.
  DIST_RETURN_IF_ERROR(replaceFolder(beside, name));
  return flushToDisk(parentFolder(name));
}

} // namespace dist::tools
