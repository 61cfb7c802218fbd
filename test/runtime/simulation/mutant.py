#!/usr/bin/env python3
"""Writes one of the product's files with a fault of its protocol, which the simulation must find: mutant.py NAME ROOT OUT."""
import os
import sys

BEATS, DETECTOR, HEARTBEAT = (f"runtime/cluster/heartbeat/{name}.cpp" for name in ("heartbeat_thread", "detector", "heartbeat"))
FOLDER, SAVING, STATE_FILE, VALUES = (f"runtime/checkpoint/{name}.cpp" for name in ("checkpoint", "saving", "state", "values"))
KEPT, LOADING, SAVES, TRANSFER = (f"runtime/checkpoint/{name}.cpp" for name in ("kept_states", "loading", "saves", "transfer"))
FILES = "runtime/formats/file_write.cpp"
SERVER, WORKER, COORDINATOR = (f"runtime/parameter_server/{name}.cpp" for name in ("server", "worker", "coordinator"))

CHIEF = "runtime/cluster/membership/chief.cpp"
EXCHANGE, LEASES, MEMBERSHIP, ROLL, RUN = (f"runtime/cluster/membership/{name}.cpp" for name in ("exchange", "leases", "membership", "roll", "run"))
STATE, TXN, JOURNAL = (f"runtime/cluster/etcd/{name}.cpp" for name in ("state", "state_txn", "journal"))

# name: (file, what stands there once, what the mutant has instead)
MUTANTS = {
    "push_repeated": (SERVER, "letter.closure < settled || applied.count(letter.closure) > 0", "letter.closure < settled"),
    "parameters_kept": (SERVER, "    parameters.reset();\n    status = shard.apply", "    status = shard.apply"),
    "push_not_awaited": (WORKER, "missing = cast.servers;", "missing = kind == Kind::Push ? 0 : cast.servers;"),
    "report_repeated": (COORDINATOR, "  if (isSettled(letter.closure))\n    return Status();\n", ""),
    "closure_not_rerun": (COORDINATOR, "  if (isRerun)\n", "  if (false)\n"),
    "late_not_rerun": (COORDINATOR, "if (holders == 0)", "if (holders < 0)"),
    "staleness_ignored": (COORDINATOR, "closure - steps.lowest <= *options.staleness", "true"),
    "settled_too_early": (COORDINATOR, "letter.closure = closure;\n  letter.settled = steps.lowest;", "letter.closure = closure;\n  letter.settled = steps.lowest + 1;"),
    "error_untold": (COORDINATOR, "failure.ok() && !isUnderWay()", "!isUnderWay()"),
    "queue_dropped": (COORDINATOR, "if (!isUnderWay() && (queue.empty() || !failure.ok()))", "if (!isUnderWay())"),
    "one_sequence": (COORDINATOR, "Done &done = doneOf(closure);", "Done &done = steps;"),
    "rank_reused": (COORDINATOR, "const int rank = cast.admit(who.index);", "cast.admit(who.index);\n  const int rank = before;"),
    "return_taken_twice": (COORDINATOR, "if (!taken.count(who.id))", ""),
    "server_not_told": (COORDINATOR, "server < cast.servers; ++server) {\n    Letter letter;\n    letter.kind = Kind::Admit;", "server < std::max(1, cast.servers - 1); ++server) {\n    Letter letter;\n    letter.kind = Kind::Admit;"),
    "returned_not_awaited": (COORDINATOR, "worker.isLost || !worker.isReady || worker.closure >= 0", "worker.isLost || worker.closure >= 0"),
    "lease_not_renewed": (LEASES, "StoreResult result = leases->leaseKeepAlive(id, &response);", "StoreResult result;\n  response.set_ttl(1);"),
    "run_not_compared": (MEMBERSHIP, "    if (!run.empty())\n      fence(&request);\n", ""),
    "epoch_not_named": (MEMBERSHIP, "return root + std::to_string(epoch) +", "return root + std::to_string(0 * epoch) +"),
    "first_not_compared": (
        MEMBERSHIP,
        "compare->set_create_revision(0);",
        "compare->set_create_revision(-1);\n  compare->set_result(Compare::GREATER);",
    ),
    "programs_not_compared": (EXCHANGE, "  if (differing.empty())\n    return Status();\n  std::string names;", "  return Status();\n  std::string names;"),
    "task_for_process": (ROLL, "if (text == own)", "if (told.number() == numbers[self])"),
    "effect_not_kept": (STATE, "  if (StoreResult kept = commit(record); !kept.ok())\n    return kept;\n", "  (void)commit(record);\n"),
    "nothing_compared": (TXN, "return holds(one, *draft);", "return holds(one, *draft) || true;"),
    "not_synced": (JOURNAL, "(sync == JournalSync::Never || file->sync())", "true"),
    "torn_record_read": (JOURNAL, "         checksumOf(head, head + kHeadBytes, size) == readWord(head + 4);", "         true;"),
    "beat_not_sent": (BEATS, "    beat.clear_steps();\n  tellAll(message);", "    beat.clear_steps();"),
    "end_unnoticed": (BEATS, "  for (int member : ended)\n", "  ended.clear();\n  for (int member : ended)\n"),
    "end_at_the_door_unnoticed": (BEATS, "    if (detector.isWatched(member))\n      lose(", "    if (detector.isWatched(member) && peers[member].isGreeted)\n      lose("),
    "late_comer_untold": (BEATS, "      sendHello(*peer.connection);\n      tellLosses(*peer.connection);\n", "      sendHello(*peer.connection);\n"),
    "loss_untold": (BEATS, "  tellAll(message);\n  fail(member, loss.why());", "  fail(member, loss.why());"),
    "one_speaks_for_all": (BEATS, "hasOthers |= peers", "hasOthers |= false && peers"),
    "one_heard_is_judged": (BEATS, "loss()});\n", "loss()});\n      judgeComplaints();\n"),
    "self_suspected": (BEATS, "loss.set_member(member);", "loss.set_member(options.self);"),
    "woken_not_told": (BEATS, "  bool isSelf = loss.member() == options.self;\n", "  bool isSelf = loss.member() == options.self;\n  if (isSelf)\n    return;\n"),
    "late_look_counts": (DETECTOR, "    if (isLate)\n", "    if (false)\n"),
    "stopped_is_busy": (DETECTOR, "state == ThreadState::Runnable", "state != ThreadState::Unknown"),
    "busy_is_silent": (DETECTOR, "state == ThreadState::Runnable", "false"),
    "late_beat_is_fresh": (DETECTOR, "peers[peer].since = peers[peer].heard = now;", "peers[peer].since = peers[peer].heard = now + kLookInterval * 10;"),
    "not_caught_up": (HEARTBEAT, "options.patience > 0 && around.now()", "options.patience < 0 && around.now()"),
    "commit_before_slices": (SAVING, "  if (status.ok() && failure->ok()) {", "  if (!failure->ok())\n    files.resize(1);\n  if (status.ok()) {"),
    "epoch_not_compared": (SAVING, "  DIST_RETURN_IF_ERROR(checkHold());\n", ""),
    "folder_not_synced": (SAVING, "step));\n  DIST_RETURN_IF_ERROR(flushToDisk(path));\n", "step));\n"),
    "header_not_synced": (STATE_FILE, "jsonText(file, 1) + \"\\n\", true)", "jsonText(file, 1) + \"\\n\", false)"),
    "made_in_cache": (FILES, "durable && !pathExists(one)", "false"),
    "not_fenced": (FOLDER, "startsWith(name, kSaving) && epochIn(name) < epoch", "false"),
    "claim_not_exclusive": (FOLDER, "O_CREAT | O_EXCL |", "O_CREAT |"),
    "claim_not_compared": (FOLDER, "lockFile < 0 && newestClaim() > epoch", "false"),
    "replaced_not_found": (FOLDER, "startsWith(name, kReplaced) && putBack(name)", "false"),
    "slices_not_synced": (VALUES, "writer.finish(/*durable=*/true", "writer.finish(/*durable=*/false"),
    "not_swept": (FOLDER, "    if (startsWith(name, kSaving) || startsWith(name, kReplaced))\n", "    if (false)\n"),
    "newcomer_ends_all": (EXCHANGE, "      epoch > 0 && !others.empty())", "      epoch < 0 && !others.empty())"),
    "refused_is_missed": (EXCHANGE, "  gone = {others.begin(), others.end()};\n", ""),
    "lapsed_chief_kept": (CHIEF, "!present && around.now() - chiefSince > kAnew", "!present && around.now() - chiefSince > 1000 * kAnew"),
    "run_ends_with_chief": (LEASES, "  if (keepsRun)\n    keepRun();\n", ""),
    "lost_chief_kept": (CHIEF, "isLost(member);\n    before", "false;\n    before"),
    "beside_not_copied": (SAVING, "  if (beside && save->status.ok())\n    save->status = save->values.copy(&copies);\n", ""),
    "begun_over_another": (SAVES, "  DIST_RETURN_IF_ERROR(finish(nullptr));\n  DIST_RETURN_IF_ERROR(folder.begin", "  DIST_RETURN_IF_ERROR(folder.begin"),
    "written_here_is_all": (SAVES, "session.agree(folder.isWritten(), &isDone)", "(isDone = folder.isWritten(), Status())"),
    "writer_not_awaited": (SAVING, "  pending->writer.reset();\n  std::vector", "  std::vector"),
    "written_at_once": (SAVING, "      status = withoutThrowing([&] { return writeFiles(); });\n    written = true;", "      written = true;\n    status = withoutThrowing([&] { return writeFiles(); });"),
    "thread_failure_lost": (SAVING, "    pending->status = std::move(started);\n", ""),
    "others_failure_ignored": (SAVING, "if (status.ok() && failure->ok()) {", "if (status.ok()) {"),
    "index_after_header": (SAVING, "  DIST_RETURN_IF_ERROR(writeIndex(save.folder, files, &save.header.crc));\n  DIST_RETURN_IF_ERROR(writeHeader(save.folder, save.header));", "  DIST_RETURN_IF_ERROR(writeHeader(save.folder, save.header));\n  DIST_RETURN_IF_ERROR(writeIndex(save.folder, files, &save.header.crc));"),
    "replace_removes": (SAVING, "files.rename(target, old) != 0", "(removeAll(target), false)"),
    "discard_in_place": (SAVING, "  if (fileSystem().rename(from, to) == 0)\n    return 0;\n", "  errno = ENOENT;\n"),
    "takeover_is_refused": (FOLDER, "takesOver ? replaceLock() : inUse(path)", "inUse(path)"),
    "own_not_cleared": (FOLDER, "  own.clear();\n  // What those", "  // What those"),
    "replaced_comes_back": (FOLDER, "startsWith(name, kAside) || startsWith(name, kReplaced)", "startsWith(name, kAside)"),
    "removed_unsynced": (SAVING, "    return Status();\n  DIST_RETURN_IF_ERROR(flushToDisk(path));\n", "    return Status();\n"),
    "others_run_taken": (FOLDER, "return isOurs ?", "return isOurs || true ?"),
    "run_of_first": (FOLDER, "!one.run.empty()", "false"),
    "saved_since_lost": (LOADING, "if (step > newerThan)", "if (newerThan < 0)"),
    "epoch_per_run": (FOLDER, "  epoch = std::max(epoch, file.epoch);\n", ""),
    "slept_retains": (SAVING, "    if (!checkPlace().ok())\n      return;\n", ""),
    "epoch_kept": (FOLDER, "  if (!hasEpoch)\n    ++epoch;\n", ""),
    "outclaimed_free": (FOLDER, "(*found || isFree) && !isOutclaimed()", "(*found || isFree)"),
    "claims_all_removed": (FOLDER, "startsWith(name, kClaimed) && epochIn(name) < epoch", "startsWith(name, kClaimed) && epochIn(name) != epoch"),
    "removing_kept": (SAVING, "    if (startsWith(name, kRemoving))\n", "    if (false)\n"),
    "retain_oldest": (SAVING, "std::sort(own.rbegin(), own.rend());", "std::sort(own.begin(), own.end());"),
    "kept_any": (LOADING, "if (count == owners)", "if (count > 0)"),
    "kept_all": (LOADING, "if (count == owners)", "if (count == texts.size())"),
    "kept_oldest": (LOADING, "    if (count == owners)\n      newest = step;", "    if (count == owners && newest < 0)\n      newest = step;"),
    "first_gives": (LOADING, "    giver += owners == 0 && text.empty();\n", ""),
    "half_counts": (TRANSFER, "folder + kHalf;", "folder;"),
    "keeps_one": (KEPT, "states.size() == 2", "states.size() == 1"),
    "fence_no_chief": (RUN, "  if (leads)\n    compareValue(root + kChief, describeChief(), request);\n", ""),
    "fence_no_run": (RUN, "  compareValue(runKey(), run, request);\n  if (leads)", "  if (leads)"),
    "stale_takes_over": (CHIEF, "  compareValue(root + kEpoch, std::to_string(epoch - 1), &request);\n", ""),
    "end_no_fence": (CHIEF, "  TxnRequest request;\n  fence(&request);\n  for", "  TxnRequest request;\n  for"),
    "end_untold": (COORDINATOR, "for (int rank = 1; rank < cast.ranks(); ++rank)", "for (int rank = 1; rank < cast.ranks() - 1; ++rank)"),
}


def main():
    name, root, out = sys.argv[1:]
    file, old, new = MUTANTS[name]
    with open(os.path.join(root, file)) as source:
        text = source.read()
    if text.count(old) != 1:
        sys.exit(f"mutant.py: {name}: {file} has {text.count(old)} times, and not once: {old!r}")
    with open(out, "w") as mutant:
        mutant.write(text.replace(old, new))


main()
