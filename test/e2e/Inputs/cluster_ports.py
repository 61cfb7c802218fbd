"""Where the processes of a coordinator's cluster listen: cluster_ports.py START PACKAGE

Runs cluster-ports as each of them by START, with a range of ports and one of this machine's
interfaces, another one than that of its addresses if there is one.
"""
import fcntl
import re
import socket
import struct
import subprocess
import sys

import tasks

COUNT = 20


def address_of(interface):
    """Its IPv4 address; empty: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            got = fcntl.ioctl(one, 0x8915, struct.pack("256s", interface.encode()))  # SIOCGIFADDR
        except OSError:
            return ""
    return socket.inet_ntoa(got[20:24])


addresses = {name: address_of(name) for _, name in socket.if_nameindex()}
others = [name for name, address in addresses.items() if address and name != "lo"]
first = tasks.free_range(COUNT)
for interface in ("-", (others + ["lo"])[0]):
    words = [sys.executable, sys.argv[1], "cluster-ports", sys.argv[2], str(first), str(first + COUNT - 1), interface]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    found = [(at, int(port)) for at, port in re.findall(r"listens at (\S+) port (\d+)", done.stdout)]
    ranged = [at for at, port in found if first <= port < first + COUNT]
    expected = addresses.get(interface, "127.0.0.1")
    print(f"exit {done.returncode}: {len(found)} sockets, {len(ranged)} in the range")
    print(f"all but the chief's at {'the interface' if interface != '-' else '127.0.0.1'}: {ranged.count(expected) >= 5}")
    print(done.stderr, end="")
