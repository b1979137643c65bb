"""Two machines for tests: network namespaces with host names, addresses, half of the cores each and
a link between them, which can be cut and slowed. Each has a server that runs commands for a remote
shell, so that remote processes are not descendants of the caller. Needs root.

usage: machines.py serve SOCKET PREPARE_FILE (on a machine) | call SOCKET COMMAND... (the shell)"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

HOSTS = {"hosta": "10.77.0.1", "hostb": "10.77.0.2"}

REMOTE_SHELL = """#!/bin/sh
host=$1; shift
exec {python} {this} call {folder}/$host.socket "$@"
"""

# Succeeds if the host answers, even if no program listens on the port.
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
        """Raises OSError or CalledProcessError if the machines cannot be created."""
        self.folder = pathlib.Path(folder)
        self.prefix = f"pando{os.getpid()}"
        cores = sorted(os.sched_getaffinity(0))
        half = max(1, len(cores) // 2)
        self.cores = {"hosta": ",".join(map(str, cores[:half])),
                      "hostb": ",".join(map(str, cores[-half:]))}
        self.remote_shell = self.folder / "remote_shell"
        self.remote_shell.write_text(REMOTE_SHELL.format(
            python=sys.executable, this=pathlib.Path(__file__).resolve(), folder=self.folder))
        self.remote_shell.chmod(0o755)
        self.made = []
        self.servers = {}
        try:
            self.make()
        except BaseException:
            self.remove()
            raise

    def space(self, host):
        return self.prefix + host

    def settings(self, host):
        """The folder that takes the place of /etc on that host."""
        return pathlib.Path("/etc/netns") / self.space(host)

    def make(self):
        for host in HOSTS:
            run("ip", "netns", "add", self.space(host))
            self.made.append(host)
            self.prepare(host, "")
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
        for host in HOSTS:
            self.serve(host)

    def serve(self, host):
        file = self.folder / f"{host}.socket"
        server = [sys.executable, __file__, "serve", file, self.prepare_file(host)]
        self.servers[host] = subprocess.Popen(self.command(host, server))
        while not file.exists():
            if self.servers[host].poll() is not None:
                raise OSError(f"{host} does not start")
            time.sleep(0.01)

    def remove(self):
        for host in self.made:
            for pid in self.processes(host) + [each.pid for each in self.servers.values()]:
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    pass
            run("ip", "netns", "delete", self.space(host), check=False)
            shutil.rmtree(self.settings(host), ignore_errors=True)
        for server in self.servers.values():
            server.wait()

    def command(self, host, words):
        """The command that runs the words, unchanged, on that host."""
        return ["ip", "netns", "exec", self.space(host), "unshare", "--uts", "taskset", "-c",
                self.cores[host], "sh", "-c",
                f'hostname "$0"; . {self.prepare_file(host)}; exec "$@"', host] + \
            [str(word) for word in words]

    def prepare_file(self, host):
        return self.folder / f"prepare_{host}"

    def prepare(self, host, commands):
        """Sets commands that every process started on that host runs first. Only that process sees
        what they mount."""
        self.prepare_file(host).write_text(commands)

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
        """The pids of the processes started there, without zombies."""
        done = run("ip", "netns", "pids", self.space(host), check=False)
        return [int(word) for word in done.stdout.split()
                if int(word) not in [each.pid for each in self.servers.values()] and
                state_of(word) not in ("Z", "X", "")]


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


def answer(caller, prepare):
    """Runs one command with the caller's input and output; only the command sees what it mounts."""
    with caller:
        command, descriptors, _, _ = socket.recv_fds(caller, 1 << 20, 3)
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f". {prepare}; {command.decode()}"],
            stdin=descriptors[0], stdout=descriptors[1], stderr=descriptors[2],
            start_new_session=True)
        for descriptor in descriptors:
            os.close(descriptor)
        code = process.wait()
        try:
            caller.send(str(code if code >= 0 else 128 - code).encode())
        except OSError:  # the caller has ended, as a remote shell may
            pass


def serve(file, prepare):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(file)
        listener.listen()
        while True:
            caller, _ = listener.accept()
            threading.Thread(target=answer, args=(caller, prepare), daemon=True).start()


def call(file, *words):
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(file)
        socket.send_fds(server, [" ".join(words).encode()], [0, 1, 2])
        return int(server.recv(16) or 255)


if __name__ == "__main__":
    sys.exit({"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:]))
