"""Runs the examples' job files where there is no Slurm and no Kubernetes.

    job_files.py slurm FILE [stop]     the script, with an `srun` that starts its tasks on this machine; stop: its time is over
    job_files.py kubernetes FILE INDEX    what a pod of that index understands
    job_files.py kubernetes FILE train    the pods' command, with all its words, in as many processes of this machine
"""
import glob
import os
import re
import signal
import stat
import subprocess
import sys
import time

kind, path = sys.argv[1:3]
text = open(path).read()

SRUN = """#!/bin/bash
# Two nodes of two tasks, all of them here. Told to end it kills them, as Slurm's does, and its code is the highest of theirs.
trap 'kill -KILL "${tasks[@]}"' TERM
echo "srun" >&2
while [[ $1 == --* ]]; do echo "option $1" >&2; shift; done
for i in 0 1 2 3; do
  SLURM_PROCID=$i SLURM_NODEID=$((i / 2)) "$@" &
  tasks+=($!)
  echo $! > task$i.pid
done
code=0
for task in "${tasks[@]}"; do
  wait "$task"; one=$?
  code=$((one > code ? one : code))
done
exit $code
"""


def is_training():
    """Whether the chief has told of a few steps."""
    return os.path.exists("history.jsonl") and open("history.jsonl").read().count('"step"') > 10


def end_time(script, option):
    """What Slurm does when the job's time is over, by --signal=[B:]TERM@SECONDS, and then as scancel --full does it."""
    pids = [int(open(name).read()) for name in sorted(glob.glob("task*.pid"))]
    assert option.partition("@")[0].split(":")[-1] == "TERM" and len(pids) == 4, (option, pids)
    for pid in [script.pid] if option.startswith("B:") else pids + [script.pid]:
        os.kill(pid, signal.SIGTERM)


def run_slurm(stops):
    options = dict(re.findall(r"#SBATCH --([\w-]+)=(\S+)", text))
    nodes, each = int(options["nodes"]), int(options["ntasks-per-node"])
    assert (nodes, each) == (2, 2), options
    os.makedirs("bin", exist_ok=True)
    for name, script in (("srun", SRUN), ("scontrol", "#!/bin/sh\necho scontrol $@ >&2\n")):
        with open(f"bin/{name}", "w") as file:
            file.write(script)
        os.chmod(f"bin/{name}", stat.S_IRWXU)
    slurm = {
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_STEP_NODELIST": "127.0.0.[1-2]",
        "SLURM_STEP_NUM_TASKS": str(nodes * each),
        "SLURM_STEP_TASKS_PER_NODE": f"{each}(x{nodes})",
    }
    environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    environment.update(slurm, PATH=f"{os.getcwd()}/bin:{os.environ['PATH']}")
    with open("job.out", "w") as out:
        script = subprocess.Popen(["bash", path], env=environment, stdout=out, stderr=out)
        until = time.monotonic() + 120
        while stops and not is_training() and script.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        if stops:
            end_time(script, options["signal"])
        code = script.wait(timeout=120)
    print(f"exit {code}\n{open('job.out').read()}")


def run_pod(index):
    # The few forms of YAML that the file has.
    own = dict(re.findall(r'- name: (DIST_\w+)\n\s+value: "?([\w-]+)', text))
    job, completions = re.search(r"kind: Job\nmetadata:\n  name: (\S+)", text)[1], re.search(r"completions: (\d+)", text)[1]
    subdomain, service = re.search(r"subdomain: (\S+)", text)[1], re.search(r"kind: Service\nmetadata:\n  name: (\S+)", text)[1]
    assert own == {"DIST_WORKERS": completions, "DIST_SERVICE": subdomain} and subdomain == service, (own, completions, subdomain, service)
    words = re.findall(r"^            - (/?\S+)$", text, re.M)
    environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    if index == "train":
        # What stands there but for the places: the image's files, the volume, and the port, which others here may have.
        command = re.search(r"command: \[(.+)\]", text)[1].split(", ")
        places = {r"^/models": os.environ["MODELS"], r"=/data/": f"={os.environ['DATA']}/", "=/state/": "=", r"^(--metrics-port=.+):\d+$": r"\1:0"}
        for place, here in places.items():
            assert sum(bool(re.search(place, word)) for word in words) > 0, (place, words)
            words = [re.sub(place, here, word) for word in words]
        words = [re.sub(r"^--epochs=\d+$", "--epochs=1", word) for word in words]
        done = subprocess.run(command + words + [f"--workers={completions}"], env=environment, capture_output=True, text=True, timeout=300)
        print(f"exit {done.returncode}\n{done.stdout}{done.stderr}")
        return
    words = [word for word in words if word.startswith("--strategy") or word == "--elastic"]
    environment.update(own, JOB_COMPLETION_INDEX=index, HOSTNAME=f"{job}-{index}")
    done = subprocess.run(["dist-opt", "--print-cluster", words[0]], env=environment, capture_output=True, text=True)
    print(words, done.stdout, done.stderr)


if kind == "slurm":
    run_slurm(stops=sys.argv[3:] == ["stop"])
else:
    run_pod(sys.argv[3])
