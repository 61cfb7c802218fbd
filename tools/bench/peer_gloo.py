"""Times PyTorch's all_reduce over Gloo: prints "BYTES SECONDS", the median of rank 0's times.

python peer_gloo.py RANKS SIZES      SIZES: bytes, between commas
"""
import os
import socket
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes


def run(rank, ranks, port, sizes):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    for size in sizes:
        data = torch.zeros(size // 4)
        # As process_collectives.cpp does, at 200 us and 1 GB/s.
        times = max(5, min(1000, int(0.2 / (200e-6 + size / 1e9))))
        seconds = []
        for i in range(-2, times):
            begin = time.perf_counter()
            dist.all_reduce(data, op=dist.ReduceOp.SUM)
            if i >= 0:
                seconds.append(time.perf_counter() - begin)
        if rank == 0:
            print(size, f"{statistics.median(seconds):.9f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = int(sys.argv[1])
    processes.spawn(run, (ranks, port, [int(size) for size in sys.argv[2].split(",")]), nprocs=ranks)
