"""A cluster of processes on this machine, each with its TF_CONFIG.

    cluster_run.py CASE FOLDER ARGUMENTS...

Runs `dist-run ARGUMENTS...` as so many workers as the case has, in FOLDER, with each
one's number for {index}, does what the case says, and prints what becomes of each, for FileCheck.
"""
import ctypes
import glob
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import tasks
from etcds import Etcd

case, folder, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]


def start(index, ports, *more, **environment):
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    words = [argument.replace("{index}", str(index)) for argument in arguments]
    return tasks.start(cluster, "worker", index, folder, [*words, *more], **environment)


def finish(workers, limit=240):
    """What became of each; the time until the last was over."""
    begin = time.time()
    for index, worker in enumerate(workers):
        out, err = worker.communicate(timeout=limit)
        print(f"== worker {index}: exit {worker.returncode}\n{out}{err}", end="")
    return time.time() - begin


def finish_within(limit, workers):
    """The same, and whether they were over by then: generous, since the machine may be
    busy; the time itself is printed for who reads the log."""
    seconds = finish(workers)
    print(f"{'all over within' if seconds < limit else 'NOT over within'} {limit} s: {seconds:.2f} s")


def wait_until_told(told, text):
    tasks.wait_for(text, lambda: any(text in line for line in told))


def lose_one():
    """Three workers, of which the last is killed in the middle; the others go on."""
    workers = [start(index, ports) for index in range(3)]
    told, reader = tasks.listen(workers[0])
    wait_for_steps(20)
    workers[2].kill()
    workers[2].wait()
    wait_until_told(told, "going on with 2 workers")
    return workers, told, reader


def end_job(told, reader):
    """Ends what would train on, a while from now, and tells what became of each; the chief's lines are read already."""
    tasks.wait_for_steps(folder, steps_done() + 200)
    print(f"{len(scratch_folders(workers[0].pid))} folders held while it trained on")
    workers[1].send_signal(signal.SIGTERM)
    reader.join(240)
    print(f"== worker 0: exit {workers[0].wait(240)}\n{''.join(told)}", end="")
    for index, worker in enumerate(workers[1:], 1):
        out, err = worker.communicate(timeout=240)
        print(f"== worker {index}: exit {worker.returncode}\n{out}{err}", end="")


def steps_done():
    return tasks.steps_done(folder)


before = steps_done()  # of a run that this one goes on from


def wait_for_steps(count):
    tasks.wait_for_steps(folder, before + count)


def stop_threads(process, but):
    """Stops a process's threads, as a debugger does, for as long as this one lives."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
    for thread in map(int, os.listdir(f"/proc/{process}/task")):
        if open(f"/proc/{process}/task/{thread}/comm").read().strip() == but:
            continue
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            if libc.ptrace(request, thread, None, None) != 0:
                raise OSError(ctypes.get_errno(), "ptrace")


def listening(process):
    """Ports at which a process listens."""
    own = set()
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            own.add(os.readlink(f"/proc/{process}/fd/{name}"))
        except OSError:
            pass
    found = []
    for table in ("tcp", "tcp6"):
        for line in open(f"/proc/net/{table}").read().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                found.append(int(words[1].split(":")[1], 16))
    return found


def scratch_folders(process):
    """Those in memory that a process has, whose locks it holds."""
    found = set()
    try:
        for name in os.listdir(f"/proc/{process}/fd"):
            target = os.readlink(f"/proc/{process}/fd/{name}")
            if target.startswith("/dev/shm/dist-run-scratch"):
                found.add(target)
    except OSError:
        pass  # it has ended, or closed one meanwhile
    return found


def find_preparing():
    """Processes that compile ahead for this cluster, which is the one of its ports."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            words = open(path).read().split("\0")
        except OSError:
            continue
        if "DIST_RUN_PREPARE=2 1" in words and any(f":{ports[0]}" in word for word in words if word.startswith("TF_CONFIG=")):
            found.append(path)
    return found


ports = [int(tasks.reserve().split(":")[1]) for _ in range(3)]
if case == "train":
    # Started one after the other, as one types them; the last first.
    workers = [start(2, ports)]
    time.sleep(0.3)
    finish([start(0, ports), start(1, ports)] + workers)
elif case == "kill":
    workers = [start(index, ports) for index in range(3)]
    wait_for_steps(5)
    workers[2].kill()
    finish_within(3, workers)
elif case == "freeze":
    # The process WHO is stopped; when the others are over, it is woken.
    who = int(os.environ["WHO"])
    workers = [start(index, ports) for index in range(3)]
    wait_for_steps(5)
    time.sleep(0.5)  # beats tell of these steps
    workers[who].send_signal(signal.SIGSTOP)
    finish_within(8, [worker for worker in workers if worker is not workers[who]])
    written = steps_done()
    workers[who].send_signal(signal.SIGCONT)
    finish_within(8, [workers[who]])
    print(f"{steps_done() - written} steps written by who was woken")
elif case == "lose":
    # The processes WHO get SIGNAL, and the others go on without them; then those that
    # were only stopped are woken.
    workers = [start(index, ports) for index in range(3)]
    lost = [workers[int(who)] for who in os.environ["WHO"].split(",")]
    wait_for_steps(60)
    for worker in lost:
        worker.send_signal(signal.Signals[os.environ["SIGNAL"]])
    # In the same moment another one may be told to stop.
    if "STOPPED" in os.environ:
        workers[int(os.environ["STOPPED"])].send_signal(signal.SIGTERM)
    finish_within(60, [worker for worker in workers if worker not in lost])
    written = steps_done()
    for worker in lost:
        worker.send_signal(signal.SIGCONT)
    finish_within(8, lost)
    print(f"{steps_done() - written} steps written by who was lost")
elif case == "begin":
    # Worker 2 is lost, and WHO as those that are left begin the next epoch: the chief has
    # told that they have met, and none has done a step yet.
    workers = [start(index, ports) for index in range(3)]
    told, reader = tasks.listen(workers[0])
    wait_for_steps(60)
    workers[2].kill()
    wait_until_told(told, "going on with 2")
    workers[int(os.environ["WHO"])].send_signal(signal.Signals[os.environ["SIGNAL"]])
    left = [worker for index, worker in enumerate(workers[:2]) if index != int(os.environ["WHO"])]
    for worker in left:
        worker.wait(240)
    for worker in workers:
        worker.send_signal(signal.SIGCONT)
    reader.join(240)
    print(f"== worker 0: exit {workers[0].wait(240)}\n{''.join(told)}", end="")
    finish(workers[1:2])  # which it counts from 0
elif case == "return":
    # Worker 2 is lost, and started again.
    workers, told, reader = lose_one()
    workers[2] = start(2, ports)
    wait_until_told(told, "going on with 3 workers")
    end_job(told, reader)
elif case == "refuse":
    # Worker 2 is lost, and started again with another learning rate.
    workers, told, reader = lose_one()
    arguments = [argument.replace("lr=0.002", "lr=0.003") for argument in arguments]
    workers[2] = start(2, ports)
    tasks.wait_for("worker 2 is refused", lambda: workers[2].poll() is not None)
    end_job(told, reader)
elif case == "room":
    # Worker 2 is lost, and started again where nothing has room for the others' state.
    workers, told, reader = lose_one()
    workers[2] = start(2, ports, TMPDIR="/nonexistent")
    tasks.wait_for("worker 2 fails", lambda: workers[2].poll() is not None)
    end_job(told, reader)
elif case == "prepare":
    # What is to be trained by one worker less is being compiled when one is lost.
    workers = [start(index, ports) for index in range(3)]
    while not (preparing := find_preparing()) and workers[0].poll() is None:
        time.sleep(0.02)
    workers[2].kill()
    finish(workers)
    programs = glob.glob(f"{os.environ['XDG_CACHE_HOME']}/*/" + 64 * "[0-9a-f]")
    print(f"{len(preparing)} was preparing, {len(programs)} programs")
elif case == "launch":
    # The same by --workers: what is lost is one of this command's.
    launcher = subprocess.Popen(["dist-run", *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_steps(1)  # from here on nothing of its own ends before the run does
    workers = tasks.launched(launcher.pid)
    wait_for_steps(20)
    os.kill(workers[max(workers)][0], signal.SIGKILL)
    finish_within(60, [launcher])
elif case == "ports":
    # Where the processes listen, beside the chief's own port.
    first = tasks.free_range(8)
    workers = [start(index, ports, "--port-range", f"{first}:{first + 7}") for index in range(3)]
    wait_for_steps(5)
    at = sorted(port for worker in workers for port in listening(worker.pid) if port != ports[0])
    print(f"{len(at)} ports, {sum(first <= port <= first + 7 for port in at)} in the range")
    for worker in workers:
        worker.kill()
        worker.wait()
    with socket.socket() as taken:
        first = tasks.free_range(1)
        taken.bind(("127.0.0.1", first))
        taken.listen()
        finish([start(index, ports, "--port-range", f"{first}:{first}", "--start-timeout", "5") for index in range(3)])
    # Enough for the first to come, and not for the others.
    first = tasks.free_range(2)
    print("== two ports for three")
    finish([start(index, ports, "--port-range", f"{first}:{first + 1}") for index in range(3)])
elif case == "stuck":
    # All threads of worker 2 but that of its heartbeat are stopped.
    workers = [start(index, ports, "--collective-timeout", "2") for index in range(3)]
    wait_for_steps(5)
    stop_threads(workers[2].pid, but="heartbeat")
    finish_within(8, workers[:2])
    workers[2].kill()
    # Its threads are this process's to reap, which its own end does.
    sys.stdout.flush()
    os._exit(0)
elif case == "slow":
    # Worker 2 has a tenth of its time until the chief has noticed it: it is stopped for nine times as long as it
    # ran, which is longer than was asked for where this process has to wait for a CPU.
    workers = [start(index, ports) for index in range(3)]
    wait_for_steps(20)
    first = steps_done()
    noticed = threading.Event()
    lines = []
    threading.Thread(target=lambda: [(lines.append(line), noticed.set()) for line in workers[0].stderr if "note: worker 2" in line and "is slow" in line], daemon=True).start()
    end = time.monotonic() + 240
    while not noticed.is_set() and time.monotonic() < end:
        begin = time.monotonic()
        workers[2].send_signal(signal.SIGCONT)
        time.sleep(0.002)
        workers[2].send_signal(signal.SIGSTOP)
        time.sleep(9 * (time.monotonic() - begin))
    workers[2].send_signal(signal.SIGCONT)
    print(*lines, sep="")
    print(f"after {int(lines[0].split('by step ')[1].split()[0]) - first} steps" if lines else "never")
    for worker in workers:
        worker.kill()
elif case == "watch":
    workers = [start(index, ports, "--metrics-port", "0") for index in range(3)]
    metrics = next(line.split()[-1] for line in workers[0].stderr if "metrics at" in line)
    wait_for_steps(50)
    address = f"127.0.0.1:{ports[0]}"
    status = ["dist-run", "status"]

    def ask():
        """What it says, once it has heard of ten steps from all: beats come a while after them."""
        told = subprocess.run([*status, address], check=True, capture_output=True, text=True).stdout
        return told if len(re.findall(r"works  \d\d", told)) == 3 else ""

    def ask_json():
        told = subprocess.run([*status, "--json"], env={**os.environ, "TF_CONFIG": json.dumps(task)}, check=True, capture_output=True, text=True)
        told = json.loads(told.stdout)
        return told if told["step"] > 50 and all(member["compute_s"] > 0 for member in told["members"]) else None

    print(tasks.wait_for("beats of all that tell of steps", ask))
    task = {"cluster": {"worker": [address, f"127.0.0.1:{ports[1]}"]}, "task": {"type": "worker", "index": 1}}
    told = tasks.wait_for("the times of fifty steps", ask_json)
    assert told["step"] > 50 and told["examples_per_s"] > 0 and len(told["members"]) == 3, told
    assert [member["process"] for member in told["members"]] == [worker.pid for worker in workers], told
    assert all(member["state"] == "works" and member["compute_s"] > 0 for member in told["members"]), told
    assert told["slowest"]["reason"] in ("compute", "input", "network"), told
    print("the JSON is as it should be")
    # Nonsense, and those who say nothing, keep no one from the metrics.
    host, port = metrics.split("/")[2].split(":")
    strangers = [socket.create_connection((host, int(port))) for _ in range(20)]
    for stranger in strangers[:10]:
        stranger.sendall(b"\xff\0" * 50 + b"\r\n\r\n")
    values = {}
    for line in urllib.request.urlopen(metrics, timeout=30).read().decode().splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            values[name] = float(value)
    assert values["dist_step"] >= told["step"] and values["dist_examples_total"] > 50 * 30, values
    assert [values[f'dist_worker_up{{task="worker {i}"}}'] for i in range(3)] == [1, 1, 1], values
    print("the metrics are as they should be")
    for path, code in (("/", 404), ("/metrics/x", 404)):
        try:
            urllib.request.urlopen(metrics.removesuffix("/metrics") + path, timeout=30)
        except urllib.error.HTTPError as error:
            assert error.code == code, error
        else:
            raise SystemExit(path)
    workers[1].send_signal(signal.SIGTERM)
    for worker in workers:
        worker.communicate(timeout=60)
    print(subprocess.run([*status, address], capture_output=True, text=True).stderr)
elif case == "secret":
    # Who asks with the job's secret, with another, and with none.
    workers = [start(index, ports) for index in range(3)]
    wait_for_steps(5)
    without = {name: value for name, value in os.environ.items() if name != "DIST_JOB_SECRET"}
    for how, environment in (("it", os.environ), ("another", {**without, "DIST_JOB_SECRET": "another one of that length"}), ("out", without)):
        asked = subprocess.run(["dist-run", "status", f"127.0.0.1:{ports[0]}"], env=environment, capture_output=True, text=True)
        print(f"with{'' if how == 'out' else ' '}{how}: exit {asked.returncode}\n{asked.stdout}{asked.stderr}", end="")
    for worker in workers:
        worker.kill()
elif case == "flood":
    # Strangers come to the store's port before the others do, and stay; then to all ports
    # of the chief while it trains.
    strangers = []
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def flood(port, count):
        for i in range(min(count, most - 200 - len(strangers))):  # some systems let a process have a thousand
            try:
                one = socket.create_connection(("127.0.0.1", port), timeout=0.2)
                one.sendall((os.urandom(600), b"\x16\x03\x01\x02\x00\x01\x00", b"")[i % 3])
                strangers.append(one)
            except OSError:
                pass  # it was sent away, or is not let in

    def memory():
        return int(next(line for line in open(f"/proc/{workers[0].pid}/status") if line.startswith("VmRSS")).split()[1]) / 1024

    workers = [start(0, ports)]
    while ports[0] not in listening(workers[0].pid):
        time.sleep(0.02)
    first = memory()
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    flood(ports[0], 1500)
    print(f"{'flat' if memory() < first + 16 else 'NOT flat'} before the start: {first:.0f} to {memory():.0f} MiB")
    workers += [start(index, ports) for index in (1, 2)]
    wait_for_steps(5)
    first = memory()
    for port in listening(workers[0].pid):
        flood(port, 200)
    wait_for_steps(steps_done())
    print(f"{'flat' if memory() < first + 32 else 'NOT flat'} at work: {first:.0f} to {memory():.0f} MiB")
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
elif case == "etcd":
    # They meet in an etcd, which is killed while they train, and comes again without what
    # it held; then, in a second run, with it.
    def train_on(count):
        now = steps_done()
        wait_for_steps(now - before + count)
        return "trained on"

    etcd = Etcd()
    # Longer than the store's leases; shorter.
    for name, seconds in (("second", 12), ("second", 1)):
        before = steps_done()
        workers = [start(index, ports, "--coordination", etcd.url()) for index in range(3)]
        wait_for_steps(5)
        print(f"{'a' if ports[0] in listening(workers[0].pid) else 'no'} store in the chief")
        etcd.kill()
        begin = time.time()
        while time.time() - begin < seconds and all(worker.poll() is None for worker in workers):
            time.sleep(0.1)
        print(f"it is away: {train_on(5)}")
        etcd.start(0, name)
        print(f"it is back: {train_on(50)}")
        workers[1].send_signal(signal.SIGTERM)
        finish(workers)
elif case == "coordinator":
    # They meet in a store of its own process, which ends, and starts again, while they train.
    address = tasks.reserve()
    meet = ("--coordination", f"coordinator://{address}")

    def start_coordinator():
        one, line = tasks.start_coordinator(address)
        print(line.replace(address, "ADDRESS"), end="")
        return one

    coordinator = start_coordinator()
    workers = [start(index, ports, *meet) for index in range(3)]
    wait_for_steps(5)
    print(f"{'a' if ports[0] in listening(workers[0].pid) else 'no'} store in the chief")
    for how in (meet, ()):
        asked = subprocess.run(["dist-run", "status", f"127.0.0.1:{ports[0]}", *how], capture_output=True, text=True)
        print(f"status: exit {asked.returncode}\n{asked.stdout}{asked.stderr}", end="")
    # With another secret it is refused at once; with none it waits.
    for secret, seconds in (("another one of that length", "120"), (None, "2")):
        print(f"with {secret}:")
        if secret is None:
            del os.environ["DIST_JOB_SECRET"]
        finish([start(1, ports, *meet, "--start-timeout", seconds, **({"DIST_JOB_SECRET": secret} if secret else {}))])
    coordinator.terminate()
    print(f"the coordinator: exit {coordinator.wait()}")
    now = steps_done()
    wait_for_steps(now + 5)
    print("it is away: trained on")
    start_coordinator().terminate()
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
elif case == "launched-secret":
    launcher = subprocess.Popen(["dist-run", *arguments], cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_steps(5)
    workers = tasks.launched(launcher.pid)
    secrets = {index: variables["DIST_JOB_SECRET"] for index, (_, variables) in workers.items()}
    lines = "".join(open(f"/proc/{process}/cmdline").read() for process, _ in workers.values())
    chief = json.loads(workers[0][1]["TF_CONFIG"])["cluster"]["worker"][0]
    print(f"the chief has a secret of {len(secrets[0])} characters, and so has worker 1: {'the same' if secrets[0] == secrets[1] else 'ANOTHER'}")
    # Its user is answered without it, by its address or, if no other job runs here, without that, too.
    plain = {name: value for name, value in os.environ.items() if name not in ("TF_CONFIG", "DIST_JOB_SECRET")}
    asked = subprocess.run(["dist-run", "status", chief], env=plain, capture_output=True, text=True)
    print(f"by its address: exit {asked.returncode}\n{asked.stdout}{asked.stderr}", end="")
    asked = subprocess.run(["dist-run", "status"], env=plain, capture_output=True, text=True)
    isListed = asked.returncode == 2 and "several are running here: " in asked.stderr and chief in asked.stderr
    print("by nothing: found" if isListed or (asked.returncode == 0 and chief in asked.stdout) else f"by nothing: {asked}")
    asked = subprocess.run(["dist-run", "status", chief], env={**plain, "DIST_JOB_SECRET": "another one of that length"}, capture_output=True, text=True)
    print(f"with another: exit {asked.returncode}\n{asked.stdout}{asked.stderr}", end="")
    print("no command line has it" if secrets[0] not in lines else "a command line HAS it")
    launcher.terminate()
    launcher.wait(timeout=60)
elif case == "nap":
    # Worker 2 is stopped for so many seconds.
    workers = [start(index, ports) for index in range(3)]
    wait_for_steps(5)
    workers[2].send_signal(signal.SIGSTOP)
    time.sleep(float(os.environ["SECONDS"]))
    workers[2].send_signal(signal.SIGCONT)
    napped = steps_done()
    wait_for_steps(napped + 50)
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
elif case == "stop":
    workers = [start(index, ports) for index in range(3)]
    wait_for_steps(5)
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
elif case == "nan":
    workers = [start(index, ports) for index in range(3)]
    finish_within(30, workers)
elif case == "missing":
    finish([start(0, ports), start(1, ports)])
elif case == "unlike":
    finish([start(0, ports), start(1, ports, *os.environ["WORKER_1"].split()), start(2, ports)])
elif case == "chief":
    finish([start(0, ports, *os.environ["CHIEF"].split()), start(1, ports), start(2, ports)])
elif case == "port":
    tasks.held[0].listen()
    finish([start(0, ports)])
else:
    raise SystemExit(f"no case {case}")
