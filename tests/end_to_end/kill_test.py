"""Kills a training run at random times and resumes it, repeatedly: the run continues each time, a
damaged checkpoint is never accepted, and the final weights have the same bits as those of an
uninterrupted run. Usage: kill_test.py PROGRAM [KILLS]."""
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

FLAGS = ["--model=toy_model_bn", "--optimizer=adam", "--micro-batch-size=16", "--num-epochs=4",
         "--ckpts-per-epoch=12", "--slices=2", "--validation=false", "--keep-last=3", "--quiet"]


class Runs:
    def __init__(self, program, folder, seed):
        self.program = program
        self.folder = folder
        self.random = random.Random(seed)
        self.damaged = 0
        data = folder / "data"
        subprocess.run([program, "data", "make-cifar10", data, "--train=960", "--test=16"],
                       check=True, stdout=subprocess.DEVNULL)
        self.command = [program, "train", f"--dataset-path={data}"] + FLAGS

    def unbroken(self):
        begin = time.monotonic()
        subprocess.run(self.command + [f"--run-dir={self.folder / 'whole'}"], check=True)
        self.seconds = time.monotonic() - begin
        return self.last("whole")

    def last(self, name):
        return (self.folder / name / "checkpoints" / "epoch_4.0.h5").read_bytes()

    def start(self, name):
        return subprocess.Popen(self.command + [f"--run-dir={self.folder / name}", "--resume=auto"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def damage_newest(self, name):
        """Damages the newest checkpoint as a disk could; a run must name the file and skip it."""
        files = sorted((self.folder / name / "checkpoints").glob("epoch_*.h5"),
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

    def killed_until_done(self, name, most):
        """Returns the number of kills."""
        kills = 0
        while True:
            process = self.start(name)
            if kills < most:
                try:
                    process.wait(self.random.uniform(0.02, 0.8 * self.seconds))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
            output, _ = process.communicate()
            if process.returncode == 0:
                return kills
            if process.returncode != -signal.SIGKILL:
                raise SystemExit(f"{name}: exit code {process.returncode} after {kills} kills:\n{output}")
            kills += 1
            self.damage_newest(name)


def main(program, wanted):
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(program, pathlib.Path(name), seed=wanted)
        whole = runs.unbroken()
        kills = 0
        number = 0
        while kills < wanted:
            number += 1
            kills += runs.killed_until_done(f"run{number}", wanted - kills)
            if runs.last(f"run{number}") != whole:
                raise SystemExit(f"run {number}: other final weights than the uninterrupted run")
        print(f"{kills} kills, {runs.damaged} damaged checkpoints, {number} runs: all have the same weights")
    return 0


sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10))
