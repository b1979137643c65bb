"""Kills a training run and resumes it, repeatedly: the run continues each time, a damaged checkpoint is
never accepted, the final weights have the same bits as those of an uninterrupted run, and nothing is
left over. Three in ten of the kills come before, within or after one of the calls that save a
checkpoint, the others at a random time. Usage: kill_test.py PROGRAM LIBRARY [KILLS]."""
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from disk import Trainer, check, is_killed, leftovers

FLAGS = ["--num-epochs=4", "--ckpts-per-epoch=12", "--keep-last=3"]
CALLS = 100  # of the first saves of a process, which are more than ten


class Kills:
    def __init__(self, trainer, seed):
        self.trainer = trainer
        self.random = random.Random(seed)
        self.in_saves = 0
        self.at_times = 0
        self.damaged = 0

    def unbroken(self):
        begin = time.monotonic()
        code, output = self.trainer.train(self.trainer.folder / "whole", *FLAGS)
        check(code == 0, "exit code", code, output)
        self.seconds = time.monotonic() - begin
        return self.last("whole")

    def last(self, name):
        return (self.trainer.folder / name / "checkpoints" / "epoch_4.0.h5").read_bytes()

    def damage_newest(self, name):
        """Damages the newest checkpoint as a disk could; a run must name the file and skip it."""
        files = sorted((self.trainer.folder / name / "checkpoints").glob("epoch_*.h5"),
                       key=lambda path: float(path.stem.split("_")[1]))
        if not files or self.random.random() > 0.2:
            return
        content = bytearray(files[-1].read_bytes())
        if self.random.random() < 0.5:
            del content[self.random.randrange(len(content)):]
        else:
            content[self.random.randrange(len(content))] ^= 1 << self.random.randrange(8)
        files[-1].write_bytes(content)
        self.damaged += 1

    def end_of_one(self, run):
        """Starts the run and kills it. Returns its exit code and output."""
        flags = FLAGS + ["--resume=auto"]
        if self.random.random() < 0.3:
            fault = {"root": run / "checkpoints", "call": self.random.randrange(1, CALLS + 1),
                     "kind": self.random.choice(["kill", "kill_half", "kill_after"])}
            code, output = self.trainer.train(run, *flags, fault=fault)
            self.in_saves += is_killed(code)
            return code, output
        process = self.trainer.start(run, *flags)
        try:
            process.wait(self.random.uniform(0.02, 0.8 * self.seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
        self.at_times += is_killed(process.returncode)
        return process.returncode, output

    def killed_until_done(self, name, wanted):
        run = self.trainer.folder / name
        while self.in_saves + self.at_times < wanted:
            code, output = self.end_of_one(run)
            if code == 0:
                return
            check(is_killed(code), f"{name}: exit code {code}:\n{output}")
            self.damage_newest(name)
        code, output = self.trainer.train(run, *FLAGS, "--resume=auto")
        check(code == 0, f"{name}: exit code {code}:\n{output}")


def main(program, library, wanted):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        kills = Kills(Trainer(program, library, folder), seed=wanted)
        whole = kills.unbroken()
        number = 0
        while kills.in_saves + kills.at_times < wanted:
            number += 1
            kills.killed_until_done(f"run{number}", wanted)
            check(kills.last(f"run{number}") == whole,
                  f"run {number}: other final weights than the uninterrupted run")
            left = leftovers(folder / f"run{number}")
            check(not left, f"run {number}: left over:", *left)
            print(f"{kills.at_times} kills at random times and {kills.in_saves} in saves, "
                  f"{kills.damaged} damaged checkpoints, {number} runs: all have the same weights, "
                  "nothing is left over", flush=True)
    return 0


sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 10))
