# Servers and clients for the measurements of this folder.
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Programs:
    """The programs of a build, and a folder for models, removed by close()."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.pando = self.build / "bin/pando"
        self.server = self.build / "bin/pando-serve"
        self.bench = self.build / "bin/serve_bench"
        for program in (self.pando, self.server):
            if not program.exists():
                raise SystemExit(f"{program} is missing: ./pando build serve")
        self._folder = tempfile.TemporaryDirectory(prefix="pando_bench_")
        self.folder = pathlib.Path(self._folder.name)

    def close(self):
        self._folder.cleanup()

    def export(self, model, *flags):
        """The folder of versions of a model of the zoo with random weights."""
        base = self.folder / "-".join([model, *flags]).replace("/", "")
        if not base.exists():
            subprocess.run([self.pando, "export", "--model", model, "--export-dir", base, *flags], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return base


class Server:
    """A server that is ready; ends with the block."""

    def __init__(self, programs, models, *flags):
        words = [f"{name}={path}" for name, path in models.items()]
        self.process = subprocess.Popen(
            [programs.server, *words, "--rest_api_port=-1", "--port=-1", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.line = self.process.stdout.readline()
        if "ready after" not in self.line:
            raise SystemExit("the server did not start: " + self.line)
        self.http = int(re.search(r"http://[\d.]+:(\d+)", self.line)[1])
        self.grpc = int(re.search(r"grpc://[\d.]+:(\d+)", self.line)[1])

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)

    def memory(self):
        """Resident memory in MB."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


class Load:
    """`pando request` against a server; result() waits for its figures."""

    def __init__(self, programs, server, model, *flags):
        self.file = programs.folder / f"load-{id(self)}.json"
        self.process = subprocess.Popen(
            [programs.server, "request", "--host", "127.0.0.1", "--port", str(server.grpc), "--rest-api-port",
             str(server.http), "--model-name", model, "--json", self.file, *map(str, flags)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def wait_until_it_sends(self):
        for line in self.process.stdout:
            if line.startswith("Sending requests"):
                return
        raise SystemExit("pando request ended before it sent")

    def result(self):
        text = self.process.stdout.read()
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0  # 1 only says that requests failed, as the figures do
        if not self.file.exists():
            raise SystemExit("pando request failed: " + text)
        figures = json.loads(self.file.read_text())
        figures["processor_seconds"] = usage.ru_utime + usage.ru_stime
        return figures


def table(rows):
    """Prints rows of (measure, mark, got, whether it is reached)."""
    for measure, mark, got, reached in rows:
        print(f"{'ok  ' if reached else 'MISS'} {measure}: {got} (mark: {mark})", flush=True)
