"""Machines made of namespaces: each with a network, processes, shared memory and a
/dev/shm of its own, joined by a bridge, or by a relay that takes its time.

    with Hosts(2) as hosts:
        hosts.start(0, ["dist-run", ...], ...)   # a Popen

Needs root, ip (iproute2), unshare and, for losses and partitions, nft (nftables).
"""
import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import threading
import time


def run(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


def make_port(space):
    """A network interface eth0 in a namespace, whose other end is a file of this process."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(where):
        if libc.setns(where.fileno(), 0x40000000) != 0:  # CLONE_NEWNET
            raise OSError(ctypes.get_errno(), "setns")

    with open("/proc/thread-self/ns/net") as own, open(f"/run/netns/{space}") as other:
        enter(other)
        try:
            port = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(port, 0x400454CA, struct.pack("16sH22x", b"eth0", 0x1002))  # TUNSETIFF: a TAP device, frames alone
        finally:
            enter(own)
    return port


class Hosts:
    def __init__(self, count, delay=0):
        """`delay`: seconds from one host to another, which cost Python's time a packet; 0: what the kernel takes."""
        # Of this process: other tests have theirs at the same time. Names of
        # interfaces have at most 15 characters.
        self.name = f"d{os.getpid() % 10**7}"
        self.count, self.delay = count, delay
        self.ports, self.over = [], threading.Event()
        self.address = [f"10.77.0.{i + 1}" for i in range(count)]

    def space(self, i):
        return f"{self.name}h{i}"

    def link(self, i):
        return f"{self.name}v{i}"

    def __enter__(self):
        # The bridge is in a namespace as well: nothing of this is seen by the machine.
        self.bridge = f"{self.name}b"
        try:
            run("ip", "netns", "add", self.bridge)
            run("ip", "-n", self.bridge, "link", "add", "bridge", "type", "bridge")
            run("ip", "-n", self.bridge, "link", "set", "bridge", "up")
            for i in range(self.count):
                space, link = self.space(i), self.link(i)
                run("ip", "netns", "add", space)
                if self.delay:
                    self.ports.append(make_port(space))
                else:
                    run("ip", "-n", self.bridge, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
                    run("ip", "-n", self.bridge, "link", "set", link, "master", "bridge", "up")
                run("ip", "-n", space, "addr", "add", f"{self.address[i]}/24", "dev", "eth0")
                run("ip", "-n", space, "link", "set", "eth0", "up")
                run("ip", "-n", space, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        if self.delay:
            self.relay = threading.Thread(target=self.pass_on)
            self.relay.start()
        return self

    def pass_on(self):
        """Each frame of a host to all others, `delay` later."""
        waiting = collections.deque()
        while not self.over.is_set():
            limit = max(0, waiting[0][0] - time.monotonic()) if waiting else 0.1
            for port in select.select(self.ports, [], [], limit)[0]:
                waiting.append((time.monotonic() + self.delay, port, os.read(port, 65536)))
            while waiting and waiting[0][0] <= time.monotonic():
                _, source, frame = waiting.popleft()
                for port in self.ports:
                    if port != source:
                        os.write(port, frame)

    def __exit__(self, *_):
        self.over.set()
        if hasattr(self, "relay"):
            self.relay.join()
        for port in self.ports:
            os.close(port)
        for i in range(self.count):
            subprocess.run(["ip", "netns", "del", self.space(i)], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.bridge], capture_output=True)

    def inside(self, i, words):
        """A command as it runs on host i: with a /dev/shm of its own, and ended with who started it."""
        script = 'mount -t tmpfs shm /dev/shm && exec "$@"'
        return ["ip", "netns", "exec", self.space(i), "unshare", "--mount", "--ipc", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc",
                "bash", "-c", script, "host", *words]

    def start(self, i, words, **options):
        return subprocess.Popen(self.inside(i, words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def wire(self, i):
        """Bytes that host i's link has carried away from it so far, headers included."""
        return int(run("ip", "netns", "exec", self.space(i), "cat", "/sys/class/net/eth0/statistics/tx_bytes"))

    def resent(self, i):
        """Segments that host i has sent once more so far: an answer that is late is taken for one that was lost."""
        lines = run("ip", "netns", "exec", self.space(i), "cat", "/proc/net/snmp").splitlines()
        names, values = (line.split() for line in lines if line.startswith("Tcp:"))
        return int(values[names.index("RetransSegs")])

    def filter(self, i, rule):
        """What host i hears goes through a rule of nft's besides."""
        space = self.space(i)
        run("ip", "netns", "exec", space, "nft", "-f", "-", input=f"table ip test {{ chain heard {{ type filter hook input priority 0; {rule}\n}}\n}}\n")

    def lose(self, percent):
        for i in range(self.count):
            self.filter(i, f"numgen random mod 100 < {percent} counter drop")

    def cut_off(self, i):
        """As when the cable is pulled: it neither hears nor is heard."""
        run("ip", "-n", self.bridge, "link", "set", self.link(i), "down")

    def dropped(self, i):
        """Packets that the rule has taken away from host i."""
        words = run("ip", "netns", "exec", self.space(i), "nft", "list", "ruleset").split()
        return int(words[words.index("packets") + 1])


if __name__ == "__main__":  # whether they can be made here
    try:
        with Hosts(1) as hosts:
            hosts.lose(1)
            subprocess.run(hosts.inside(0, ["true"]), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit(1)
