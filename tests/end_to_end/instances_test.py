"""Tests training with several instances that a plain mpirun starts: weights equal those of one
process up to rounding errors; a repeated run gives the same bits; there is one set of files; a run
may be resumed with any number of instances; all instances stop and refuse together.
Usage: instances_test.py PROGRAM MPIRUN."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

FLAGS = ["--model=toy_model_bn", "--optimizer=sgd", "--learning-rate=0.02", "--micro-batch-size=8",
         "--num-epochs=3", "--ckpts-per-epoch=2", "--slices=1", "--cores-per-device=1",
         "--num-replicas=4", "--pipeline-num-parallel=1"]
SECONDS = 300  # a job that takes longer hangs


class Jobs:
    def __init__(self, program, mpirun, folder):
        self.program = program
        self.mpirun = mpirun
        self.folder = folder
        self.data = folder / "data"
        subprocess.run([program, "data", "make-cifar10", self.data, "--train=336", "--test=50"],
                       check=True, stdout=subprocess.DEVNULL)

    def words(self, run, *flags, command="train"):
        return [self.program, command, f"--dataset-path={self.data}", *FLAGS,
                f"--run-dir={self.folder / run}", *flags]

    def launched(self, instances, words):
        return words if instances == 1 else [self.mpirun, "-n", str(instances), *words]

    def run(self, instances, run, *flags, code=0, env=None):
        words = self.launched(instances, self.words(run, *flags))
        return self.finished(words, code, env)

    def finished(self, words, code, env=None):
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS,
                              cwd=self.folder, env={**os.environ, **(env or {})}, check=False)
        output = done.stdout + done.stderr
        if done.returncode != code:
            raise SystemExit(f"exit code {done.returncode}, expected {code}: {words}\n{output}")
        return output

    def checkpoint(self, run, epoch="3.0"):
        return self.folder / run / "checkpoints" / f"epoch_{epoch}.h5"


def weights_of(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]})
                        if isinstance(item, h5py.Dataset) else None)
    return found


def expect(condition, text):
    if not condition:
        raise SystemExit(text)


def expect_close(path, other, text):
    found, wanted = weights_of(path), weights_of(other)
    expect(found.keys() == wanted.keys(), f"{text}: other names")
    for name, values in found.items():
        if not np.issubdtype(values.dtype, np.floating):
            continue
        distance = np.max(np.abs(values - wanted[name]), initial=0)
        expect(distance < 2e-5, f"{text}: {name} differs by {distance}")


def is_like_one_process(jobs):
    jobs.run(1, "alone")
    output = jobs.run(2, "two")
    expect_close(jobs.checkpoint("two"), jobs.checkpoint("alone"), "2 x 2 and 1 x 4 replicas")
    expect("4 replicas on 2 instances" in output, output)
    expect("exchange between instances: each sent" in output, output)
    lines = [line for line in output.splitlines() if line.startswith("epoch 3.0: loss")]
    expect(len(lines) == 1, f"printed {len(lines)} times:\n{output}")
    expect(output.count("\ntest loss") == 1, output)
    jobs.run(2, "again")
    expect(jobs.checkpoint("two").read_bytes() == jobs.checkpoint("again").read_bytes(),
           "two runs of 2 x 2 replicas differ")
    for name in ("history.csv", "class_report.csv", "confusion.csv"):
        expect(len((jobs.folder / "two" / name).read_text().splitlines()) ==
               len((jobs.folder / "alone" / name).read_text().splitlines()), f"{name} differs")
    expect((jobs.folder / "two" / "config.yml").read_text().startswith("# 4 replicas on 2"),
           "config.yml does not name the instances")
    names = sorted(path.name for path in (jobs.folder / "two" / "checkpoints").glob("*.h5"))
    expect(names == [f"epoch_{half / 2:.{1 if half % 2 == 0 else 4}f}.h5" for half in range(1, 7)],
           f"checkpoints {names}")
    summary = json.loads((jobs.folder / "two" / "summary.json").read_text())
    expect((summary["instances"], summary["state"]) == (2, "done"), f"summary {summary}")
    events = list((jobs.folder / "two").glob("events.out.tfevents.*"))
    expect(len(events) == 1, f"event files {events}")


def validates(jobs):
    alone = jobs.finished([jobs.program, "validate", jobs.folder / "two", "--output-dir=v1"], 0)
    output = jobs.finished([jobs.mpirun, "-n", "2", jobs.program, "validate", jobs.folder / "two",
                            "--output-dir=v2"], 0)
    result = [line for line in output.splitlines() if line.startswith("test loss")]
    expect(len(result) == 1 and result[0] in alone, f"validation:\n{output}\nalone:\n{alone}")
    for name in ("class_report.csv", "confusion.csv"):
        expect((jobs.folder / "v1" / name).read_text() == (jobs.folder / "v2" / name).read_text(),
               f"{name} of a validation by two instances differs")


def goes_on_with_other_numbers(jobs):
    for instances, epochs in ((2, 1), (1, 2), (4, 3)):
        output = jobs.run(instances, "changing", f"--num-epochs={epochs}", "--resume=auto")
        if epochs > 1:
            expect("warning: --resume: instances was" in output, output)
    expect_close(jobs.checkpoint("changing"), jobs.checkpoint("alone"), "2, 1 and 4 instances")


def instance_of(mpirun, index):
    """The process id of an instance that is training."""
    wanted = f"OMPI_COMM_WORLD_RANK={index}".encode()
    for folder in pathlib.Path("/proc").iterdir():
        try:
            status = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(status[1]) == mpirun and wanted in (folder / "environ").read_bytes().split(b"\0"):
                return int(folder.name)
        except (OSError, IndexError, ValueError):
            continue
    return None


def stopped_by_signal(jobs, run, *flags, env=None):
    words = jobs.launched(2, jobs.words(run, "--num-epochs=2000", "--ckpts-per-epoch=1/2000",
                                        "--logs-per-epoch=1", *flags))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=jobs.folder, env={**os.environ, **(env or {})}) as process:
        output = ""
        for line in process.stdout:
            output += line
            if line.startswith("epoch 2.0: loss"):
                break
        os.kill(instance_of(process.pid, 1), signal.SIGUSR1)
        output += process.communicate(timeout=SECONDS)[0]
        expect(process.returncode == 75, f"exit code {process.returncode}:\n{output}")
    expect(output.count("stopped by SIGUSR1 to instance 1") == 1, output)
    files = list((jobs.folder / run / "checkpoints").glob("*.h5"))
    expect(len(files) == 1, f"checkpoints {files}")
    return float(files[0].stem.split("_")[1])


def stops_together_and_goes_on(jobs):
    env = {"PANDO_JOB": "test-1", "PANDO_RESTART": "0"}
    epoch = stopped_by_signal(jobs, "stopped", env=env)
    epochs = f"--num-epochs={int(epoch) + 2}"
    same = [epochs, "--ckpts-per-epoch=1/2000", "--logs-per-epoch=1"]
    last = f"{int(epoch) + 2}.0"
    jobs.run(2, "whole", *same, "--validation=false")
    # Restarted as by the launcher.
    output = jobs.run(2, "stopped", *same, "--validation=false", env={**env, "PANDO_RESTART": "1"})
    expect("resuming from" in output, output)
    expect(jobs.checkpoint("stopped", last).read_bytes() == jobs.checkpoint("whole", last).read_bytes(),
           f"a run that was stopped at epoch {epoch} ends with different bits")


def refuses_what_differs(jobs):
    def refused(first, second):
        words = [jobs.mpirun, "-n", "1", *jobs.words("refused", *first), ":", "-n", "1",
                 *jobs.words("refused", *second)]
        output = jobs.finished(words, 2)
        expect(output.count("pando: error: ") == 1, output)
        expect(not (jobs.folder / "refused").exists(), "a refused run left files")
        return output
    output = refused(["--seed=1"], ["--seed=2"])
    expect("--seed is '1' on instance 0 and '2' on instance 1" in output, output)
    output = refused([], [f"--dataset-path={jobs.folder / 'none'}"])
    expect("pando: error: instance 1: " in output, output)
    output = refused(["--num-replicas=3"], ["--num-replicas=3"])
    expect("multiple of the 2 instances" in output, output)
    other = jobs.folder / "other"
    subprocess.run([jobs.program, "data", "make-cifar10", other, "--train=344", "--test=50"],
                   check=True, stdout=subprocess.DEVNULL)
    output = refused([], [f"--dataset-path={other}"])
    expect("the number of training samples is '336' on instance 0 and '344'" in output, output)


def fails_together(jobs):
    output = jobs.run(2, "wild", "--learning-rate=1e30", code=3)
    expect(output.count("pando: error: ") == 1, output)
    output = jobs.run(2, "back", "--learning-rate=1e30", "--on-nan=rollback", code=3)
    expect(output.count("Going back to the beginning") == 3, output)
    expect(output.count("pando: error: ") == 1, output)


def every_instance_saves(jobs):
    jobs.run(2, "all", "--ckpt-all-instances", "--keep-last=1", "--exchange-format=f16")
    folder = jobs.folder / "all" / "checkpoints"
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.h5"))
    expect(names == ["rank0/epoch_3.0.h5", "rank1/epoch_3.0.h5"], f"checkpoints {names}")
    first, second = [(folder / name).read_bytes() for name in names]
    expect(first == second, "instances have different weights")
    for instances, epochs in (2, 4), (1, 5):
        output = jobs.run(instances, "all", "--resume=auto", "--ckpt-all-instances",
                          f"--num-epochs={epochs}")
        expect("resuming from" in output, output)
    owners = {path.read_text() for path in folder.rglob(".run")}
    expect(len(owners) == 1, f"the folders belong to {owners}")


def stops_early(jobs):
    jobs.run(2, "early", "--num-epochs=6", "--early-stopping=val_loss", "--min-delta=100",
             "--validate-during-training", "--restore-best", "--keep-best")
    names = {path.name for path in (jobs.folder / "early").iterdir()}
    expect("best_epoch.h5" in names, f"files {names}")
    expect(jobs.checkpoint("early", "2.0").exists() and not jobs.checkpoint("early", "3.0").exists(),
           "training did not stop after the second epoch")


def main(program, mpirun):
    tests = [is_like_one_process, validates, goes_on_with_other_numbers, stops_together_and_goes_on,
             refuses_what_differs, fails_together, every_instance_saves, stops_early]
    with tempfile.TemporaryDirectory() as name:
        jobs = Jobs(program, mpirun, pathlib.Path(name))
        for test in tests:
            begin = time.monotonic()
            test(jobs)
            print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).absolute()), sys.argv[2])
