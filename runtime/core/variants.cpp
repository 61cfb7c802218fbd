//===- variants.cpp - A package's code for several CPUs -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/variants.h"
#include "runtime/device/features.h"

namespace dist {

namespace {

Status damaged(const std::string &where, const std::string &why) {
  return Status::error(StatusCode::InvalidInput, "the package is damaged",
                       where, why, "compile it again");
}

/// What variants have in common, whatever their kernels and memory plans are:
/// all that callers and checkpoints see.
std::string commonPart(const manifest::Manifest &manifest) {
  manifest::Manifest common;
  *common.mutable_mesh() = manifest.mesh();
  common.set_ranks(manifest.ranks());
  common.set_threads_per_device(manifest.threads_per_device());
  *common.mutable_program_of_rank() = manifest.program_of_rank();
  common.set_global_batch(manifest.global_batch());
  for (manifest::Variable variable : manifest.variables()) {
    variable.clear_state_offset();
    *common.add_variables() = variable;
  }
  for (manifest::Server server : manifest.servers()) {
    server.clear_digest();
    *common.add_servers() = server;
  }
  auto addBindings = [](const auto &from, auto *to) {
    for (const manifest::Binding &binding : from) {
      if (binding.role() == manifest::Binding::PREPARED)
        continue;
      manifest::Binding &copy = *to->Add();
      copy.set_role(binding.role());
      copy.set_name(binding.name());
      *copy.mutable_global_type() = binding.global_type();
      *copy.mutable_sharding() = binding.sharding();
    }
  };
  for (const manifest::Program &program : manifest.programs()) {
    manifest::Program &copy = *common.add_programs();
    for (const manifest::Entry &entry : program.entries()) {
      manifest::Entry &common = *copy.add_entries();
      common.set_name(entry.name());
      addBindings(entry.arguments(), common.mutable_arguments());
      addBindings(entry.results(), common.mutable_results());
    }
  }
  return common.SerializeAsString();
}

std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

} // namespace

Status listVariants(const manifest::Manifest &first, const std::string &folder,
                    std::vector<std::string> *names) {
  names->assign(1, "");
  for (const std::string &name : first.variants()) {
    bool isPlain = !name.empty() && name.size() < 100 && name[0] != '.';
    for (unsigned char c : name)
      isPlain &= std::isalnum(c) || c == '-' || c == '_' || c == '.';
    if (!isPlain)
      return damaged(manifestPath(folder, ""),
                     "a variant has no name that a file may have");
    names->push_back(name);
  }
  return Status();
}

Status readVariant(const std::string &folder, const std::string &variant,
                   manifest::Manifest *out) {
  return readManifestFile(manifestPath(folder, variant), out);
}

Status chooseVariant(const std::string &folder, const Host &host,
                     const std::string &wanted, Variant *out) {
  Variant best;
  DIST_RETURN_IF_ERROR(readVariant(folder, "", &best.manifest));
  std::vector<std::string> names;
  DIST_RETURN_IF_ERROR(listVariants(best.manifest, folder, &names));
  const std::string common =
      names.size() > 1 ? commonPart(best.manifest) : std::string();
  bool found = false, known = false;
  std::vector<std::string> cpus, lacking;
  for (const std::string &name : names) {
    Variant variant{name, {}};
    if (name.empty())
      variant.manifest = best.manifest;
    else
      DIST_RETURN_IF_ERROR(readVariant(folder, name, &variant.manifest));
    const manifest::Manifest &m = variant.manifest;
    if (!name.empty() && commonPart(m) != common)
      return damaged(manifestPath(folder, name),
                     "it is not of the program that the others are of");
    cpus.push_back(m.target_cpu());
    if (!wanted.empty() && m.target_cpu() != wanted)
      continue;
    known = true;
    std::vector<std::string> missing = missingFeatures(
        {m.cpu_features().begin(), m.cpu_features().end()}, host.cpuFeatures);
    if (!missing.empty()) {
      lacking.push_back(
          "its code (" + m.target_cpu() +
          ") uses features that this one lacks: " + join(missing));
      continue;
    }
    if (!found || m.cpu_features_size() > best.manifest.cpu_features_size())
      best = std::move(variant);
    found = true;
  }
  if (!known)
    return Status::error(StatusCode::InvalidArgument,
                         "the package has no code for '" + wanted + "'", folder,
                         "it has " + join(cpus), "give one of them");
  if (!found) {
    std::string why;
    for (const std::string &text : lacking)
      why += (why.empty() ? "" : "; ") + text;
    return Status::error(StatusCode::InvalidInput,
                         "the package is for another CPU",
                         manifestPath(folder, ""), why,
                         "recompile it here, or with a --target-cpu that has "
                         "no more than both");
  }
  *out = std::move(best);
  return Status();
}

} // namespace dist
