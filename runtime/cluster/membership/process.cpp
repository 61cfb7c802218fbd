//===- process.cpp - What a process of a cluster is to the others ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/membership/process.h"
#include "runtime/cluster/network.h"
#include "runtime/core/manifest_bytes.h"
#include "runtime/core/text.h"
#include "runtime/core/variants.h"
#include "runtime/device/cpu/features.h"
#include "runtime/formats/sha256.h"
#include <map>

namespace dist::cluster {

Status describeProgram(const std::string &package,
                       const std::string &cpuVariant, MemberFacts *out) {
  manifest::Manifest first;
  DIST_RETURN_IF_ERROR(readManifest(package, &first));
  std::vector<std::string> names;
  DIST_RETURN_IF_ERROR(listVariants(first, package, &names));
  Sha256 hash;
  // Those of most features first.
  std::multimap<int, std::string> runnable;
  for (const std::string &name : names) {
    manifest::Manifest m;
    DIST_RETURN_IF_ERROR(readVariant(package, name, &m));
    bool isWanted = cpuVariant.empty() || m.target_cpu() == cpuVariant;
    if (isWanted &&
        cpu::missingFeatures({m.cpu_features().begin(), m.cpu_features().end()},
                             cpu::hostFeatures())
            .empty())
      runnable.emplace(-m.cpu_features_size(), m.target_cpu());
    if (auto made = m.options().find("arguments"); made != m.options().end())
      out->arguments = splitList(made->second, '\n');
    m.clear_options();
    hash.addPiece(toBytes(m));
  }
  out->program = hash.hex();
  for (auto &[features, cpu] : runnable)
    out->cpuVariants.push_back(cpu);
  // Its error says what is lacking.
  Variant variant;
  return chooseVariant(package, {cpu::hostFeatures()}, cpuVariant, &variant);
}

std::string ownInterface(const ClusterSpec &spec) {
  const Address *own = spec.find(*spec.self);
  if (!own || own->host.empty())
    return "";
  SystemNetwork network;
  std::string why;
  for (const std::string &literal : network.resolve(own->host, &why))
    if (std::string name = network.findInterface(literal); !name.empty())
      // A name that means this machine alone, here, is another's elsewhere.
      return name != "lo" || isLoopback(own->host) ? name : "";
  return "";
}

MemberName describeMember(const Member &member, const ClusterSpec &spec) {
  const Address *address = spec.find(member.task);
  return {member.task.text(),
          address && !address->host.empty() ? address->text() : "",
          member.hostName, member.process};
}

static std::string hostOfChief(const Membership &membership,
                               const ClusterSpec &spec) {
  const Member &first = membership.members().front();
  const Address *named = spec.find(first.task);
  return named && !named->host.empty() ? named->host : first.hostName;
}

Status watchAgain(Membership &membership, const ClusterSpec &spec,
                  HeartbeatOptions options, int number,
                  std::unique_ptr<Heartbeat> *out) {
  options.self = number;
  const std::vector<Member> &members = membership.members();
  for (const Member &member : members)
    options.members.push_back(describeMember(member, spec));
  // Others that came back in between have the numbers before it.
  options.members.resize(number + 1,
                         describeMember(members[membership.self()], spec));
  std::vector<std::string> endpoint;
  DIST_RETURN_IF_ERROR(membership.readOfChief(kControlEndpoint, &endpoint));
  return Heartbeat::join(options, hostOfChief(membership, spec),
                         endpoint.empty() ? "" : endpoint[0], out);
}

Status watchMembers(Membership &membership, const ClusterSpec &spec,
                    HeartbeatOptions options, std::unique_ptr<Heartbeat> *out) {
  options.self = membership.self();
  for (const Member &member : membership.members())
    options.members.push_back(describeMember(member, spec));
  const std::string chief = hostOfChief(membership, spec);
  std::string endpoint;
  bool serves = options.self == 0;
  if (serves)
    DIST_RETURN_IF_ERROR(
        Heartbeat::serve(options, listenLiteral(chief), out, &endpoint));
  std::vector<std::vector<std::string>> all;
  DIST_RETURN_IF_ERROR(membership.exchange(kControlEndpoint, {endpoint}, &all));
  return serves ? Status() : Heartbeat::join(options, chief, all[0].at(0), out);
}

} // namespace dist::cluster
