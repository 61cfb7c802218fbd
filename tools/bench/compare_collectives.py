#!/usr/bin/env python3
"""Times all-reduces between processes beside Gloo and raw UCX, interleaved in one run, and prints what each takes.

    tools/bench/compare_collectives.py [--build build] [--ranks 2] [--rounds 3]

Ours goes through shared memory and through TCP; Gloo is PyTorch's (see compare.py for where it comes from), over
TCP; `raw` is half of what ucx_perftest's active messages take there and back (of ucx-utils; left out without). Each
figure is the smallest of its rounds' medians; GB/s are of one rank's buffer. Ends with 1 when a figure is not reached.
"""
import argparse
import shutil
import subprocess
import sys
import time

from compare import python_of
from programs import TOP, run

SIZES = [8, 1024, 65536, 1 << 20, 2 << 20, 32 << 20]
# What an all-reduce of two ranks is to reach: (wire, bytes, microseconds at most or GB/s at least or times Gloo's).
FIGURES = [("shm", 8, "us", 1), ("shm", 1 << 20, "GB/s", 6), ("shm", 32 << 20, "GB/s", 3),
           ("tcp", 8, "us", 10), ("tcp", 2 << 20, "GB/s", 3.2), ("tcp", 8, "x gloo", 10), ("tcp", 2 << 20, "x gloo", 1.7)]


def lines(command):
    rows = [line.split() for line in run(command).splitlines()]
    return {int(size): float(seconds) for size, seconds in rows}


def raw(tls):
    """One-way seconds by size; both ends are on this machine."""
    result = {}
    for size in SIZES:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=f"{TOP}/build")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    sizes = ",".join(map(str, SIZES))
    ours = [f"{args.build}/bin/process_collectives", "--ranks", str(args.ranks), "--sizes", sizes]
    makers = {"shm": lambda: lines([*ours, "--wire", "shm"]), "tcp": lambda: lines([*ours, "--wire", "tcp"]),
              "gloo": lambda: lines([python_of("torch"), f"{TOP}/tools/bench/peer_gloo.py", str(args.ranks), sizes])}
    if shutil.which("ucx_perftest"):
        makers.update({"raw shm": lambda: raw("posix"), "raw tcp": lambda: raw("tcp")})
    best = {name: {} for name in makers}
    for _ in range(args.rounds):
        for name, make in makers.items():
            for size, seconds in make().items():
                best[name][size] = min(best[name].get(size, seconds), seconds)
    print(f"{'bytes':>10}" + "".join(f"{name:>24}" for name in best))
    for size in SIZES:
        print(f"{size:>10}" + "".join(f"{best[n][size] * 1e6:>12.2f} us{size / best[n][size] / 1e9:>5.2f} GB/s" for n in best))
    missed = 0
    for wire, size, unit, limit in FIGURES if args.ranks == 2 else []:
        seconds = best[wire][size]
        value = {"us": seconds * 1e6, "GB/s": size / seconds / 1e9, "x gloo": best["gloo"][size] / seconds}[unit]
        good = value <= limit if unit == "us" else value >= limit
        missed += not good
        print(f"{'ok  ' if good else 'MISS'} {wire} {size}: {value:.2f} {unit}, {'at most' if unit == 'us' else 'at least'} {limit}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
