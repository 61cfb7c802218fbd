#!/usr/bin/env python3
"""Writes one of the product's files with a fault of its protocol, which the simulation must find: mutant.py NAME ROOT OUT."""
import os
import sys

SERVER, WORKER, COORDINATOR = (f"runtime/parameter_server/{name}.cpp" for name in ("server", "worker", "coordinator"))

EXCHANGE, LEASES, MEMBERSHIP, ROLL = (f"runtime/cluster/membership/{name}.cpp" for name in ("exchange", "leases", "membership", "roll"))
STATE, TXN, JOURNAL = (f"runtime/cluster/etcd/{name}.cpp" for name in ("state", "state_txn", "journal"))

# name: (file, what stands there once, what the mutant has instead)
MUTANTS = {
    "push_repeated": (SERVER, "letter.closure < settled || applied.count(letter.closure) > 0", "letter.closure < settled"),
    "parameters_kept": (SERVER, "    parameters.reset();\n    status = shard.apply", "    status = shard.apply"),
    "push_not_awaited": (WORKER, "missing = cast.servers;", "missing = kind == Kind::Push ? 0 : cast.servers;"),
    "report_repeated": (COORDINATOR, "  if (isSettled(letter.closure))\n    return Status();\n", ""),
    "closure_not_rerun": (COORDINATOR, "  if (isRerun)\n", "  if (false)\n"),
    "late_not_rerun": (COORDINATOR, "if (holders == 0)", "if (holders < 0)"),
    "staleness_ignored": (COORDINATOR, "closure - lowest <= *options.staleness", "true"),
    "settled_too_early": (COORDINATOR, "letter.settled = lowest;", "letter.settled = lowest + 1;"),
    "error_untold": (COORDINATOR, "failure.ok() && !isUnderWay()", "!isUnderWay()"),
    "queue_dropped": (COORDINATOR, "if (!isUnderWay() && (queue.empty() || !failure.ok()))", "if (!isUnderWay())"),
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
