"""Runs the training commands in the description of the original application, with `pando train` in
place of `python3 train.py`, and checks that they do what it says. Without --full: fewer epochs and
CIFAR-10 files of 704 images, so that an epoch has 11 weight updates; with --full: 50,000 images and
781 = 11 x 71 updates. Usage: original_commands_test.py PROGRAM [--full]."""
import json
import pathlib
import subprocess
import sys
import tempfile

COMMON = ("--model cifar_resnet8 --num-epochs {epochs} --precision 16.16 --micro-batch-size 8 "
          "--validation False --half-partials True --gradient-accumulation 8 --logs-per-epoch {logs}")

FULL = 50000  # images
# Logs per epoch, epochs without --full (with it: 6), epochs between two rows of the history, a part
# of the warning.
EXAMPLES = [
    ("1", 2, 1, None),
    ("2", 1, 1, "The closest possible frequency is 1,"),
    ("10", 1, 1 / 11, "The closest possible frequency is 11,"),
    ("1/2", 2, 2, None),
    ("1/3", 3, 3, None),
    ("0", 1, None, "nothing is logged before the end of the run"),
]


class Application:
    def __init__(self, program, folder, images):
        self.program = program
        self.folder = folder
        self.number = 0
        self.data = folder / "data"
        subprocess.run([program, "data", "make-cifar10", self.data, f"--train={images}"],
                       check=True, stdout=subprocess.DEVNULL)

    def train(self, flags):
        self.number += 1
        run = self.folder / f"run{self.number}"
        command = [self.program, "train", *flags.split(), f"--run-dir={run}"]
        if self.data:
            command.append(f"--dataset-path={self.data}")
        done = subprocess.run(command, capture_output=True, text=True)
        return done, run


def check(condition, what, done):
    if not condition:
        raise SystemExit(f"{what}:\n{' '.join(map(str, done.args))}\n{done.stdout}{done.stderr}")


def main(program, images):
    with tempfile.TemporaryDirectory() as name:
        application = Application(program, pathlib.Path(name), images)
        for logs, epochs, step, warning in EXAMPLES:
            if images == FULL:
                epochs = 6
            expected = [i * step for i in range(1, round(epochs / step) + 1)] if step else [epochs]
            done, run = application.train(COMMON.format(epochs=epochs, logs=logs))
            check(done.returncode == 0, f"exit code {done.returncode}", done)
            rows = json.loads((run / "history.json").read_text())
            found = [row["epoch"] for row in rows if "loss" in row]
            same = len(found) == len(expected) and all(
                abs(a - b) < 1e-9 for a, b in zip(found, expected))
            check(same, f"--logs-per-epoch {logs}: logs at the epochs {found}", done)
            check(f"{images // 64} weight updates per epoch" in done.stdout, "updates", done)
            if warning:
                check(f"warning: --logs-per-epoch {logs}" in done.stdout and
                      warning in done.stdout, f"no warning '{warning}'", done)
            else:
                check("warning: --logs" not in done.stdout, "an unexpected warning", done)
            check("precision 16.16, stochastic rounding on, half partials" in done.stdout,
                  "no line about half precision", done)
            print(f"--logs-per-epoch {logs}: {len(found)} logs")
        done, run = application.train(COMMON.format(epochs=5, logs="1/2"))
        check(done.returncode == 2, f"exit code {done.returncode}", done)
        check("it is not possible to log 2 epochs at a time for 5 epochs" in done.stderr,
              "the error for 5 epochs", done)
        check(not run.exists(), "a run directory despite the error", done)
        done, _ = application.train(
            "--model cifar_resnet8 --auto-loss-scaling "
            '--auto-loss-scaling-params {"increase_factor":3}')
        check(done.returncode == 2, "an increase_factor of 3", done)
        application.data = ""  # synthetic images, no files
        flags = "--config resnet50_16ipus_8k_bn_pipeline --synthetic-data cpu --dry-run"
        done, _ = application.train(flags + ("" if images == FULL else " --image-size 32"))
        check(done.returncode == 0, f"exit code {done.returncode}", done)
        for text in ("Trainable params: 25,557,032", "4 stages on 4 devices, grouped schedule",
                     "128 micro-batches per weight update", "one weight update of 8192 samples"):
            check(text in done.stdout, f"no '{text}'", done)
    return 0


sys.exit(main(sys.argv[1], FULL if "--full" in sys.argv else 704))
