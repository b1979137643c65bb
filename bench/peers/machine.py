# The machine of the comparison: the peak of its cores, and what used them during a measurement.
# SPDX-License-Identifier: MIT
import os
import pathlib
import subprocess
import tempfile
import time

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def core_count():
    return len(os.sched_getaffinity(0))


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def busy_seconds():
    """Processor seconds spent by all processes on all processors since the start."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = (
        int(field) for field in pathlib.Path("/proc/stat").read_text().split('\n')[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND


def process_seconds(pid):
    """Processor seconds of one process, all its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


class CpuWatch:
    """Attributes processor time during a `with` block to the measured process, to the idle one
    (which should use none), and to all others. A block shorter than a few clock ticks cannot be
    attributed and counts as undisturbed."""

    MIN_TICKS = 20

    def __init__(self, measured_pid, idle_pid=None):
        self.measured_pid, self.idle_pid = measured_pid, idle_pid
        self.idle_cores = self.other_cores = 0.0

    def _read(self):
        idle = process_seconds(self.idle_pid) if self.idle_pid else 0.0
        return time.monotonic(), busy_seconds(), process_seconds(self.measured_pid), idle

    def __enter__(self):
        self.start = self._read()
        return self

    def __exit__(self, *_):
        wall, busy, measured, idle = (b - a for a, b in zip(self.start, self._read()))
        if wall * TICKS_PER_SECOND < self.MIN_TICKS:
            return
        self.idle_cores = idle / wall
        self.other_cores = max(busy - measured - idle, 0.0) / wall


class FmaPeak:
    """Builds fma_peak.cc once and measures the machine's multiply-add peak with it."""

    def __init__(self, threads):
        self.threads = threads
        self.isa = ""
        self.folder = tempfile.TemporaryDirectory(prefix="pando_peers_")
        self.program = pathlib.Path(self.folder.name, "fma_peak")
        here = pathlib.Path(__file__).resolve().parent
        library = here.parent.parent / "src"
        base = [library / f"pando/base/{name}.cc" for name in ("cpu", "error", "strings", "threads")]
        sources = [here / "fma_peak.cc", library / "pando/profile/multiply_add_peak.cc", *base]
        subprocess.run(["c++", "-std=c++20", "-O2", "-pthread", "-I", library, *sources,
                        "-o", self.program], check=True)

    def measure(self, seconds):
        """GFLOP/s of all threads together."""
        output = subprocess.run([self.program, str(self.threads), str(seconds)], check=True,
                                capture_output=True, text=True).stdout
        self.isa, gflops = output.split()
        return float(gflops)
