"""Runs of `pando train` whose calls to the disk fail or kill the process, by failing_calls.cc, and what
has to be true of their folders."""
import os
import re
import signal
import subprocess

FLAGS = ["--model=toy_model_bn", "--optimizer=adam", "--micro-batch-size=16", "--slices=2",
         "--validation=false", "--quiet"]
# What a run may leave in its folder. Files of a run that was killed before its first checkpoint are
# moved to previous-<n>.
FILES = re.compile(r"previous-\d+|(previous-\d+/)?(\.run|config\.yml|class_names\.txt|"
                   r"curves\.svg|history\.(csv|json)|(summary|run)\.json|log\.txt|"
                   r"load\.csv|input\.(json|png)|"
                   r"events\.out\.tfevents\..*|checkpoints|"
                   r"checkpoints/(\.run|epoch_[0-9.]+\.h5(\.damaged)?))")


class Trainer:
    """The program, its data and the library."""

    def __init__(self, program, library, folder, samples=960):
        self.folder = folder
        self.library = library
        data = folder / "data"
        subprocess.run([program, "data", "make-cifar10", data, f"--train={samples}", "--test=16"],
                       check=True, stdout=subprocess.DEVNULL)
        self.command = [program, "train", f"--dataset-path={data}"] + FLAGS

    def start(self, run, *flags, fault=None, **how):
        """`fault` has the values of the variables that failing_calls.cc describes."""
        environment = dict(os.environ)
        if fault:
            environment.update({f"FAULT_{key.upper()}": str(value) for key, value in fault.items()})
            environment["LD_PRELOAD"] = str(self.library)
        return subprocess.Popen(self.command + [f"--run-dir={run}", *flags], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)

    def train(self, run, *flags, **how):
        """Returns the exit code and the output."""
        process = self.start(run, *flags, **how)
        output, _ = process.communicate()
        return process.returncode, output


def leftovers(run):
    """The files of a run directory that no run should leave."""
    names = (str(path.relative_to(run)) for path in run.rglob("*"))
    return sorted(name for name in names if not FILES.fullmatch(name))


def check(condition, *what):
    if not condition:
        raise SystemExit(" ".join(str(part) for part in what))


def is_killed(code):
    return code == -signal.SIGKILL
