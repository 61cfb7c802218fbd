#!/usr/bin/env python3
"""Times all-reduces between processes beside Open MPI, Gloo and raw UCX, interleaved in one run, and prints what each takes.

    tools/bench/compare_collectives.py [--build build] [--ranks 2] [--rounds 3] [--only shm,mpi-shm] [--sizes 8,1048576]
        [--keep FILE]

Ours goes through shared memory and through TCP, and so does Open MPI (mpirun, mpicc); Gloo is PyTorch's (see compare.py
for where it comes from), over TCP; `raw` is half of what ucx_perftest's active messages take there and back (of
ucx-utils). What is not installed is left out, and said. Each figure is the smallest of its rounds' medians; GB/s are of
one rank's buffer. With --keep, what earlier calls wrote to FILE counts, too, so that the rounds may be several runs.
Ends with 1 when a figure is not reached.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

from compare import python_of
from programs import TOP, run

SIZES = "8,1024,65536,1048576,2097152,33554432"
# What an all-reduce of two ranks is to reach: (wire, bytes, microseconds at most or GB/s at least or times Gloo's).
FIGURES = [("shm", 8, "us", 1), ("shm", 1 << 20, "GB/s", 6), ("shm", 32 << 20, "GB/s", 3),
           ("tcp", 8, "us", 10), ("tcp", 2 << 20, "GB/s", 3.2), ("tcp", 8, "x gloo", 10), ("tcp", 2 << 20, "x gloo", 1.7)]
RIVALS = {"shm": "mpi-shm", "tcp": "mpi-tcp"}


def lines(command):
    rows = [line.split() for line in run(command).splitlines()]
    return {int(size): float(seconds) for size, seconds in rows}


def raw(tls, sizes):
    """One-way seconds by size; both ends are on this machine."""
    result = {}
    for size in map(int, sizes.split(",")):
        environment = {"UCX_TLS": f"{tls},self", "UCX_NET_DEVICES": "lo", "UCX_WARN_UNUSED_ENV_VARS": "n"}
        if tls == "posix":  # connections are made over TCP all the same
            environment["UCX_NET_DEVICES"] = "all"
        times = "20000" if size < 100000 else "200"
        command = ["env", *(f"{k}={v}" for k, v in environment.items()), "ucx_perftest", "-p", "13579", "-f"]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        last = run([*command, "127.0.0.1", "-t", "ucp_am_lat", "-s", str(size), "-n", times]).splitlines()[-1]
        server.wait()
        result[size] = float(last.split()[-7]) * 1e-6
    return result


def mpi_program(build):
    program, source = f"{build}/peer_mpi", f"{TOP}/tools/bench/peer_mpi.c"
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        run(["mpicc", "-O2", source, "-o", program])
    return program


def mpi(args, wire, sizes):
    """Ranks are bound to no CPU: ours are not, either."""
    wires = {"shm": "self,vader", "tcp": "self,tcp"}
    return lines(["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(args.ranks), "--mca", "pml", "ob1",
                  "--mca", "btl", wires[wire], "--mca", "btl_tcp_if_include", "lo", mpi_program(args.build), sizes])


def find_makers(args):
    """What is timed, by name; and what is not there."""
    sizes = args.sizes
    ours = [f"{args.build}/bin/process_collectives", "--ranks", str(args.ranks), "--sizes", sizes]
    makers = {"shm": lambda: lines([*ours, "--wire", "shm"]), "tcp": lambda: lines([*ours, "--wire", "tcp"]),
              "mpi-shm": lambda: mpi(args, "shm", sizes), "mpi-tcp": lambda: mpi(args, "tcp", sizes),
              "gloo": lambda: lines([python_of("torch"), f"{TOP}/tools/bench/peer_gloo.py", str(args.ranks), sizes]),
              "raw-shm": lambda: raw("posix", sizes), "raw-tcp": lambda: raw("tcp", sizes)}
    asked = args.only.split(",") if args.only else list(makers)
    for name in asked:
        if name not in makers:
            sys.exit(f"compare_collectives.py: error: --only has no '{name}': expected one of {', '.join(makers)}")
    for name in asked:
        needs = ["mpirun", "mpicc"] if name.startswith("mpi") else ["ucx_perftest"] if name.startswith("raw") else []
        missing = [program for program in needs if not shutil.which(program)]
        if missing:
            print(f"compare_collectives.py: note: {name} is left out: there is no {' and no '.join(missing)}", file=sys.stderr)
            del makers[name]
    return {name: make for name, make in makers.items() if name in asked}


def read_kept(args):
    """Seconds by name and size, of earlier calls with as many ranks."""
    if not args.keep or not os.path.exists(args.keep):
        return {}
    kept = json.load(open(args.keep))
    if kept["ranks"] != args.ranks:
        sys.exit(f"compare_collectives.py: error: {args.keep} has times of {kept['ranks']} ranks, not of {args.ranks}: give another --keep")
    return {name: {int(size): seconds for size, seconds in times.items()} for name, times in kept["seconds"].items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=f"{TOP}/build")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="names of columns, between commas")
    parser.add_argument("--sizes", default=SIZES, help="bytes, between commas (default: %(default)s)")
    parser.add_argument("--keep", metavar="FILE", help="adds to the times of earlier calls, which are there")
    args = parser.parse_args()
    makers, best = find_makers(args), read_kept(args)
    for _ in range(args.rounds):
        for name, make in makers.items():
            times = best.setdefault(name, {})
            for size, seconds in make().items():
                times[size] = min(times.get(size, seconds), seconds)
    if args.keep:
        with open(args.keep, "w") as file:
            json.dump({"ranks": args.ranks, "seconds": best}, file, indent=1)
    print(f"{'bytes':>10}" + "".join(f"{name:>25}" for name in best))
    sizes = sorted(set.intersection(*(set(times) for times in best.values()))) if best else []
    for size in sizes:
        print(f"{size:>10}" + "".join(f"{best[n][size] * 1e6:>10.2f} us {size / best[n][size] / 1e9:>6.2f} GB/s" for n in best))
    for wire, rival in RIVALS.items():
        if wire in best and rival in best:
            print(f"{wire} / {rival}: " + ", ".join(f"{size} bytes {best[wire][size] / best[rival][size]:.2f}" for size in sizes))
    missed = 0
    for wire, size, unit, limit in FIGURES if args.ranks == 2 else []:
        if size not in sizes or wire not in best or (unit == "x gloo" and "gloo" not in best):
            continue
        seconds = best[wire][size]
        value = {"us": seconds * 1e6, "GB/s": size / seconds / 1e9, "x gloo": best.get("gloo", best[wire])[size] / seconds}[unit]
        good = value <= limit if unit == "us" else value >= limit
        missed += not good
        print(f"{'ok  ' if good else 'MISS'} {wire} {size}: {value:.2f} {unit}, {'at most' if unit == 'us' else 'at least'} {limit}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
