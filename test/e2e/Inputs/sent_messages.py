"""sent_messages.py PROCESSES STRATEGY DIST_RUN_ARGUMENTS...: what each process counts when it has sent a step's messages, beside what
dist-opt --explain says before. The runs' difference is that of their steps: what starts and ends a run is in both."""
import json
import re
import subprocess
import sys

processes, strategy, *words = sys.argv[1:]
split = words.index("--data")
program = [*words[:split], "--strategy", *strategy.split(), "--workers", processes]
few, many = 3, 8


def counted(steps):
    run = subprocess.run(["dist-run", "fit", *program, *words[split:], "--steps", str(steps)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = re.findall(r"note: worker (\d+) \(process \d+\) sent (\d+) messages, (\d+) bytes", run.stderr)
    assert len(found) == int(processes), run.stderr
    return {int(worker): (int(messages), int(size)) for worker, messages, size in found}


explained = json.loads(subprocess.run(["dist-opt", *program, "--explain=json"], capture_output=True, text=True, check=True).stdout)
# Of a pipeline each stage is a program, of ranks that may be of one process; with --sync-every 1 the variables' mean is behind each step.
programs = [entry["sent"] for entry in explained["entries"] if entry["of"] in ("train_step", "sync")]
step = [{what: sum(sent[worker][what] for sent in programs) for what in ("messages", "bytes")} for worker in range(int(processes))]
less, more = counted(few), counted(many)
different = 0
nothing = [{"messages": 0, "bytes": 0}] * int(processes)
for worker, (own, agreement, results) in enumerate(zip(step, explained["agreement"], explained["results"] or nothing)):
    for i, what in enumerate(("messages", "bytes")):
        sent, said = more[worker][i] - less[worker][i], (many - few) * (own[what] + agreement[what] + results[what])
        different += sent != said
        if sent != said:
            print(f"worker {worker} sent {sent} {what}, and was to send {said}")
print(f"{processes} processes, {strategy}: {'as explained' if not different else 'otherwise'}, worker 0 "
      f"{step[0]['messages']} messages, {step[0]['bytes']} bytes a step")
