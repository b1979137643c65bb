"""Two machines for tests: network namespaces with host names, addresses, half of the cores each and a
link of their own, which can be cut and slowed. Needs root."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

HOSTS = {"hosta": "10.77.0.1", "hostb": "10.77.0.2"}

# What a remote shell would do: a word for the host, the others are a command line for its shell. The
# file prepare_<host> beside it is run there before.
REMOTE_SHELL = """#!/bin/sh
host=$1; shift
case $host in {names}) ;; *) echo "no host $host" >&2; exit 255 ;; esac
case $host in {first}) cores={first_cores} ;; *) cores={other_cores} ;; esac
exec ip netns exec {prefix}$host unshare --uts taskset -c $cores sh -c 'hostname "$0"; . {folder}/prepare_$0; '"$*" "$host"
"""

# Succeeds when the host answers, be it that nobody listens.
CALL = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 5)
except ConnectionRefusedError:
    pass
"""


def run(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Machines:
    def __init__(self, folder):
        """Raises OSError or CalledProcessError where there can be none."""
        self.prefix = f"pando{os.getpid()}"
        self.remote_shell = pathlib.Path(folder) / "remote_shell"
        cores = sorted(os.sched_getaffinity(0))
        half = max(1, len(cores) // 2)
        self.cores = {"hosta": ",".join(map(str, cores[:half])),
                      "hostb": ",".join(map(str, cores[-half:]))}
        self.folder = pathlib.Path(folder)
        for host in HOSTS:
            self.prepare(host, "")
        self.remote_shell.write_text(REMOTE_SHELL.format(
            folder=self.folder, prefix=self.prefix, names="|".join(HOSTS), first="hosta",
            first_cores=self.cores["hosta"], other_cores=self.cores["hostb"]))
        self.remote_shell.chmod(0o755)
        self.made = []
        try:
            self.make()
        except BaseException:
            self.remove()
            raise

    def space(self, host):
        return self.prefix + host

    def settings(self, host):
        """What stands for /etc on that host."""
        return pathlib.Path("/etc/netns") / self.space(host)

    def make(self):
        for host in HOSTS:
            run("ip", "netns", "add", self.space(host))
            self.made.append(host)
            self.settings(host).mkdir(parents=True)
            (self.settings(host) / "hosts").write_text(
                "127.0.0.1 localhost\n" + "".join(f"{a} {h}\n" for h, a in HOSTS.items()))
        first, second = (self.space(host) for host in HOSTS)
        run("ip", "link", "add", "eth0", "netns", first, "type", "veth",
            "peer", "name", "eth0", "netns", second)
        for host, address in HOSTS.items():
            run("ip", "-n", self.space(host), "address", "add", address + "/24", "dev", "eth0")
            run("ip", "-n", self.space(host), "link", "set", "lo", "up")
        self.join()
        run(self.remote_shell, "hosta", "true")

    def remove(self):
        for host in self.made:
            for pid in self.processes(host):
                os.kill(pid, 9)
            run("ip", "netns", "delete", self.space(host), check=False)
            shutil.rmtree(self.settings(host), ignore_errors=True)

    def command(self, host, words):
        """The words as a command on that host; they reach it as they are."""
        return ["ip", "netns", "exec", self.space(host), "unshare", "--uts", "taskset", "-c",
                self.cores[host], "sh", "-c", f'hostname "$0"; . {self.folder}/prepare_$0; exec "$@"', host] + \
            [str(word) for word in words]

    def prepare(self, host, commands):
        """To be run first by what starts there from now on. What they mount, only that sees."""
        (self.folder / f"prepare_{host}").write_text(commands)

    def cut(self):
        run("ip", "-n", self.space("hosta"), "link", "set", "eth0", "down")

    def join(self):
        for host in HOSTS:
            run("ip", "-n", self.space(host), "link", "set", "eth0", "up")
        for host, other in zip(HOSTS, reversed(HOSTS)):
            call = [sys.executable, "-c", CALL, HOSTS[other]]
            while run(*self.command(host, call), check=False).returncode != 0:
                time.sleep(0.1)

    def slow(self, rate):
        for host in HOSTS:
            run("tc", "-n", self.space(host), "qdisc", "replace", "dev", "eth0", "root", "tbf",
                "rate", rate, "burst", "16kb", "latency", "200ms")

    def quicken(self):
        for host in HOSTS:
            run("tc", "-n", self.space(host), "qdisc", "delete", "dev", "eth0", "root", check=False)

    def processes(self, host):
        """The pids of what runs there; what has ended and waits for its parent does not count."""
        done = run("ip", "netns", "pids", self.space(host), check=False)
        return [int(word) for word in done.stdout.split() if state_of(word) not in ("Z", "X", "")]


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def words_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def variable_of(pid, name):
    try:
        entries = pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0")
    except OSError:
        return None
    return next((entry[len(name) + 1:] for entry in entries if entry.startswith(name + "=")), None)
