"""Runs the examples' job files where there is no Slurm and no Kubernetes.

    job_files.py slurm FILE     the script, with an `srun` that starts its tasks on this machine
    job_files.py kubernetes FILE INDEX    what a pod of that index understands
"""
import os
import re
import stat
import subprocess
import sys

kind, path = sys.argv[1:3]
text = open(path).read()

SRUN = """#!/bin/bash
# Two nodes of two tasks, all of them here.
echo "srun $1" >&2
shift
for i in 0 1 2 3; do
  SLURM_PROCID=$i SLURM_NODEID=$((i / 2)) "$@" &
  tasks+=($!)
done
for task in "${tasks[@]}"; do wait "$task" || code=$?; done
exit ${code:-0}
"""

if kind == "slurm":
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
    done = subprocess.run(["bash", path], env=environment, capture_output=True, text=True, timeout=120)
    print(f"exit {done.returncode}\n{done.stdout}{done.stderr}")
else:
    # The few forms of YAML that the file has.
    own = dict(re.findall(r'- name: (DIST_\w+)\n\s+value: "?([\w-]+)', text))
    job, completions = re.search(r"kind: Job\nmetadata:\n  name: (\S+)", text)[1], re.search(r"completions: (\d+)", text)[1]
    subdomain, service = re.search(r"subdomain: (\S+)", text)[1], re.search(r"kind: Service\nmetadata:\n  name: (\S+)", text)[1]
    assert own == {"DIST_WORKERS": completions, "DIST_SERVICE": subdomain} and subdomain == service, (own, completions, subdomain, service)
    words = re.findall(r"^            - (/?\S+)$", text, re.M)
    words = [word for word in words if word.startswith("--strategy") or word == "--elastic"]
    environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    environment.update(own, JOB_COMPLETION_INDEX=sys.argv[3], HOSTNAME=f"{job}-{sys.argv[3]}")
    done = subprocess.run(["dist-opt", "--print-cluster", words[0]], env=environment, capture_output=True, text=True)
    print(words, done.stdout, done.stderr)
