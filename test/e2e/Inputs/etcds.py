"""Members of an etcd that scripts start on this machine, with or without TLS."""
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.request

import tasks


class Etcd:
    """So many members. `folder`: where their certificates are; empty: clear text.
    A member that is started again has what it held, unless it is told to be `name`d anew."""

    def __init__(self, count=1, folder=""):
        self.certificates = folder
        # In memory, if it can be: etcd waits for the disk at each write.
        self.data = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None, prefix="dist-etcd-")
        tasks.atexit.register(shutil.rmtree, self.data, ignore_errors=True)
        self.addresses = [tasks.reserve() for _ in range(count)]
        self.peers = ["http://" + tasks.reserve() for _ in range(count)]
        self.members = [None] * count
        for member in range(count):
            self.start(member, wait=False)
        self.wait()

    def start(self, member, name="", wait=True):
        scheme = "https" if self.certificates else "http"
        url = f"{scheme}://{self.addresses[member]}"
        words = ["etcd", "--name", f"m{member}", "--data-dir", f"{self.data}/{member}{name}", "--listen-client-urls", url, "--advertise-client-urls", url]
        words += ["--listen-peer-urls", self.peers[member], "--initial-advertise-peer-urls", self.peers[member]]
        words += ["--initial-cluster", ",".join(f"m{i}={peer}" for i, peer in enumerate(self.peers))]
        if self.certificates:
            words += ["--client-cert-auth", "--trusted-ca-file", f"{self.certificates}/ca.pem"]
            words += ["--cert-file", f"{self.certificates}/etcd.pem", "--key-file", f"{self.certificates}/etcd.key"]
        self.members[member] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tasks.started.append(self.members[member])
        if wait:
            self.wait()

    def wait(self):
        """Until all members that are started serve."""
        trusted = None
        if self.certificates:
            trusted = ssl.create_default_context(cafile=f"{self.certificates}/ca.pem")
            trusted.load_cert_chain(f"{self.certificates}/client.pem", f"{self.certificates}/client.key")
        for member, address in enumerate(self.addresses):
            for _ in range(1200):
                if self.members[member] is None:
                    break
                try:
                    url = f"{'https' if trusted else 'http'}://{address}/health"
                    if "true" in urllib.request.urlopen(url, timeout=5, context=trusted).read().decode():
                        break
                except OSError:
                    pass
                time.sleep(0.05)
            else:
                raise SystemExit("etcd does not start")

    def kill(self, member=0):
        self.members[member].kill()
        self.members[member].wait()
        self.members[member] = None

    def url(self):
        return f"etcd{'s' if self.certificates else ''}://{','.join(self.addresses)}"


def make_certificates(folder):
    """An authority, and what it has signed for an etcd at 127.0.0.1 and for its clients;
    another authority that has signed none of them."""

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL, capture_output=True)

    os.makedirs(folder, exist_ok=True)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for authority in ("ca", "other-ca"):
        openssl("req", "-x509", *key, "-days", "2", "-subj", f"/CN={authority}", "-keyout", f"{authority}.key", "-out", f"{authority}.pem")
    for name in ("etcd", "client"):
        with open(f"{folder}/{name}.ext", "w") as extensions:
            print("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth", file=extensions)
        openssl("req", *key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")
