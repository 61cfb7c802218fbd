"""sent_messages.py PROCESSES STRATEGY DIST_RUN_ARGUMENTS...: what each process counts when it has sent a step's messages, beside what
dist-opt --explain says before. The runs' difference is that of their steps: what starts and ends a run is in both."""
import json
import re
import subprocess
import sys

processes, strategy, *words = sys.argv[1:]
split = words.index("--data")
program = [*words[:split], "--strategy", *strategy.split(), "--workers", processes]
averaged = re.search(r"--sync-every (\d+)", strategy)
every = int(averaged[1]) if averaged else 1
few, many = 3 * every, 5 * every


def counted(steps):
    run = subprocess.run(["dist-run", "fit", *program, *words[split:], "--steps", str(steps)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = re.findall(r"note: worker (\d+) \(process \d+\) sent (\d+) messages, (\d+) bytes", run.stderr)
    assert len(found) == int(processes), run.stderr
    return {int(worker): (int(messages), int(size)) for worker, messages, size in found}


explained = json.loads(subprocess.run(["dist-opt", *program, "--explain=json"], capture_output=True, text=True, check=True).stdout)
# Of a pipeline each stage is a program, of ranks that may be of one process. Batches that the replicas do not divide are all partial ones.
parts = {part: [entry["sent"] for entry in explained["entries"] if entry["of"] == part] for part in ("train_step", "train_step_partial", "sync")}


def summed(programs):
    return [{what: sum(sent[worker][what] for sent in programs) for what in ("messages", "bytes")} for worker in range(int(processes))]


step, sync = summed(parts["train_step"] or parts["train_step_partial"]), summed(parts["sync"])
less, more = counted(few), counted(many)
different = 0
nothing = [{"messages": 0, "bytes": 0}] * int(processes)
steps = many - few
launches = steps // explained["launch_steps"]
for worker, (own, mean, agreement, results) in enumerate(zip(step, sync, explained["agreement"], explained["results"] or nothing)):
    for i, what in enumerate(("messages", "bytes")):
        sent, said = more[worker][i] - less[worker][i], steps * own[what] + steps // every * mean[what] + launches * (agreement[what] + results[what])
        different += sent != said
        if sent != said:
            print(f"worker {worker} sent {sent} {what}, and was to send {said}")
print(f"{processes} processes, {strategy}: {'as explained' if not different else 'otherwise'}, worker 0 "
      f"{step[0]['messages']} messages, {step[0]['bytes']} bytes a step")
