"""A cluster of three processes on this machine that meet in an etcd, or in a coordinator.

    etcd_run.py CASE FOLDER ARGUMENTS...

Runs `dist-run ARGUMENTS...` as each of them, in FOLDER, does what the case says, and prints
what becomes of each, for FileCheck.
"""
import os
import signal
import subprocess
import sys
import time

import tasks
from etcds import Etcd, make_certificates

case, folder, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
addresses = [tasks.reserve() for _ in range(3)]


def start(index, *more):
    return tasks.start({"worker": addresses}, "worker", index, folder, [*arguments, *more])


def finish(workers, limit=240):
    for index, worker in workers.items():
        out, err = worker.communicate(timeout=limit)
        print(f"== worker {index}: exit {worker.returncode}\n{out}{err}", end="")


def steps_done():
    return tasks.steps_done(folder)


def train_on(count=5, without=()):
    """Waits for so many steps, or the end of the run."""
    first = steps_done()
    others = [task for index, task in workers.items() if index not in without]
    while steps_done() <= first + count and any(task.poll() is None for task in others):
        time.sleep(0.05)
    return "trained on" if steps_done() > first else "did NOT train on"


if case == "chief":
    # The chief gets SIGNAL, and so does one of the etcd's members; then it is woken. WHO
    # others are lost with it.
    etcd = Etcd(3)
    meet = ("--coordination", etcd.url())
    workers = {index: start(index, *meet) for index in range(3)}
    tasks.wait_for_steps(folder, 60)
    told = signal.Signals[os.environ["SIGNAL"]]
    lost = [0, *map(int, os.environ.get("WHO", "").split())]
    etcd.members[0].send_signal(told)
    begin = time.time()
    for index in lost:
        workers[index].send_signal(told)
    # One that is killed may leave a step that its history does not have yet.
    time.sleep(0.2)
    print(f"the new chief {train_on(without=lost)}")
    print(f"{time.time() - begin:.2f} s without a chief")
    finish({index: worker for index, worker in workers.items() if index not in lost})
    written = steps_done()
    for index in lost:
        workers[index].send_signal(signal.SIGCONT)
    finish({index: workers[index] for index in lost})
    print(f"{steps_done() - written} steps written by who was lost")
elif case == "return":
    # The chief is lost, and its task started again: another one stays chief.
    etcd = Etcd(1)
    meet = ("--coordination", etcd.url())

    def ask(address):
        return subprocess.run(["dist-run", "status", address, *meet], capture_output=True, text=True).stdout

    workers = {index: start(index, *meet) for index in range(3)}
    tasks.wait_for_steps(folder, 20)
    workers[0].kill()
    workers[0].wait()
    time.sleep(0.2)
    train_on()
    print(ask(addresses[0]), ask(addresses[1]), sep="")
    workers[0] = start(0, *meet)
    for _ in range(2400):
        if addresses[0] in (said := ask(addresses[0])):
            break
        time.sleep(0.1)
    print(said)
    train_on()
    workers[2].send_signal(signal.SIGTERM)
    finish(workers)
elif case == "members":
    # Members of the etcd are killed and come again, one after the other, while processes
    # meet and train.
    etcd = Etcd(3)
    etcd.kill(0)
    workers = {index: start(index, "--coordination", etcd.url()) for index in range(3)}
    train_on()
    for member in (1, 2):
        etcd.start(member - 1)
        etcd.kill(member)
        print(f"without another one: {train_on()}")
    workers[2].kill()
    workers[2].wait()
    time.sleep(0.2)
    train_on(50)
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
elif case == "journal":
    # The coordinator is killed, and started again with what it held; then a worker is lost.
    address, journal = tasks.reserve(), ("--journal", f"{folder}/journal")
    coordinator, line = tasks.start_coordinator(address, *journal)
    workers = {index: start(index, "--coordination", f"coordinator://{address}") for index in range(3)}
    tasks.wait_for_steps(folder, 20)
    coordinator.kill()
    coordinator.wait()
    print(f"it is away: {train_on()}")
    tasks.start_coordinator(address, *journal)
    begin = time.time()
    workers[2].kill()
    workers[2].wait()
    time.sleep(0.2)
    print(f"it is back: {train_on(without=[2])}")
    print(f"{time.time() - begin:.2f} s to meet again")
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
elif case == "tls":
    make_certificates(f"{folder}/certificates")
    etcd = Etcd(1, f"{folder}/certificates")
    shown = ("--etcd-cert", "certificates/client.pem", "--etcd-key", "certificates/client.key")
    meet = ("--coordination", etcd.url(), "--etcd-ca", "certificates/ca.pem", *shown)
    workers = {index: start(index, *meet) for index in range(3)}
    train_on()
    status = subprocess.run(["dist-run", "status", addresses[0], *meet], cwd=folder, capture_output=True, text=True)
    print(f"status: exit {status.returncode}\n{status.stdout}{status.stderr}", end="")
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
    # Whom the worker does not know it leaves at once; for who does not answer it waits.
    ways = {
        "another authority": (120, etcd.url(), "--etcd-ca", "certificates/other-ca.pem", *shown),
        "no certificate": (3, etcd.url(), "--etcd-ca", "certificates/ca.pem"),
        "clear text": (3, etcd.url().replace("etcds", "etcd")),
        "another name": (120, etcd.url().replace("127.0.0.1", "localhost"), "--etcd-ca", "certificates/ca.pem", *shown),
    }
    for how, (seconds, *more) in ways.items():
        print(f"with {how}:")
        finish({1: start(1, "--coordination", *more, "--start-timeout", str(seconds))})
elif case == "away":
    # How fast they train while the etcd is there, is away for SECONDS, and is back.
    etcd = Etcd(1)
    workers = {index: start(index, "--coordination", etcd.url()) for index in range(3)}
    tasks.wait_for_steps(folder, 200)
    seconds = float(os.environ["SECONDS"])

    def rate(of):
        first, begin = steps_done(), time.time()
        time.sleep(of)
        return (steps_done() - first) / (time.time() - begin)

    rates = [rate(20)]
    etcd.members[0].send_signal(signal.Signals[os.environ["SIGNAL"]])
    rates.append(rate(seconds))
    etcd.members[0].send_signal(signal.SIGCONT)
    rates.append(rate(20))
    print("steps a second before, meanwhile, after:", *(f"{one:.1f}" for one in rates))
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
else:
    raise SystemExit(f"no case {case}")
