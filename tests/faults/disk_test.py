"""Lets every call of a resumed training run that changes a file fail once, by turns: with ENOSPC, EIO and
EDQUOT, and writes by writing half. The run must say which file failed and why, earlier checkpoints
must be intact, and the next run must end with the bits of an undisturbed one and leave nothing over.
The same for a limit on the size of files. Usage: disk_test.py PROGRAM LIBRARY [EVERY]; with EVERY only
each EVERY-th call fails."""
import errno
import json
import os
import pathlib
import resource
import shutil
import sys
import tempfile

from disk import Trainer, check, leftovers

FIRST = ["--num-epochs=1", "--ckpts-per-epoch=2"]
SECOND = ["--num-epochs=2", "--ckpts-per-epoch=2", "--resume=auto"]
LAST = "checkpoints/epoch_2.0.h5"
KINDS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EDQUOT": errno.EDQUOT, "short": "short"}


class Disk:
    def __init__(self, trainer):
        self.trainer = trainer
        self.folder = trainer.folder
        self.run = self.folder / "run"
        self.before = self.folder / "before"  # a run after its first epoch
        self.must_train(self.before, *FIRST)
        self.again()
        self.must_train(self.run, *SECOND)
        self.whole = (self.run / LAST).read_bytes()

    def must_train(self, run, *flags):
        code, output = self.trainer.train(run, *flags)
        check(code == 0, "exit code", code, output)

    def again(self):
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(self.before, self.run)

    def calls(self):
        """The functions of all calls of an undisturbed second run."""
        self.again()
        log = self.folder / "calls"
        code, output = self.trainer.train(self.run, *SECOND, fault={"root": self.run, "log": log})
        check(code == 0, "exit code", code, output)
        return [line.split(" ", 1) for line in log.read_text().splitlines()]

    def check_intact(self, what):
        for earlier in self.before.glob("checkpoints/epoch_*.h5"):
            now = self.run / "checkpoints" / earlier.name
            check(now.exists() and now.read_bytes() == earlier.read_bytes(), what, earlier.name,
                  "has changed")

    def check_resumes(self, what):
        code, output = self.trainer.train(self.run, *SECOND)
        check(code == 0, what, "the next run: exit code", code, output)
        check((self.run / LAST).read_bytes() == self.whole, what, "the next run has other weights")
        check(not leftovers(self.run), what, "left over:", *leftovers(self.run))

    def fail(self, number, call, kind):
        function, path = call
        what = f"call {number}, {function} of {path}, {kind}:"
        self.again()
        code, output = self.trainer.train(
            self.run, *SECOND, fault={"root": self.run, "call": number, "kind": KINDS[kind]})
        self.check_intact(what)
        if kind == "short":
            check(code == 0, what, "exit code", code, output)
        else:
            reason = os.strerror(KINDS[kind])
            if code == 0 and not output:  # an interim summary: the last one replaces it
                state = json.loads((self.run / "summary.json").read_text())["state"]
                check(state == "done" and "/checkpoints" not in path, what, "summary:", state)
                return
            check("warning: the report will show" in output if code == 0 else
                  code in (1, 2) and "pando: error: " in output, what, "exit code", code, output)
            check(reason in output and str(self.run) in output, what, "unclear error:", output)
        self.check_resumes(what)

    def limit(self, size):
        """Sets a limit on the size of files, smaller than a checkpoint."""
        what = f"files of at most {size} bytes:"
        self.again()
        code, output = self.trainer.train(
            self.run, *SECOND,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        check(code in (1, 2), what, "exit code", code, output)
        check("pando: error: " in output and os.strerror(errno.EFBIG) in output, what, output)
        self.check_intact(what)
        self.check_resumes(what)


def main(program, library, every):
    with tempfile.TemporaryDirectory() as name:
        disk = Disk(Trainer(program, library, pathlib.Path(name).resolve(), samples=96))
        count = {kind: 0 for kind in KINDS}
        calls = disk.calls()
        for number, call in enumerate(calls, 1):
            if call[0] == "remove":  # a file that cannot be removed costs nothing
                continue
            for turn, kind in enumerate(KINDS):
                if kind == "short" and call[0] != "write" or (number + turn) % every:
                    continue
                disk.fail(number, call, kind)
                count[kind] += 1
        sizes = [15000, 3000][:2 if every == 1 else 1]
        for size in sizes:
            disk.limit(size)
        print(f"{len(calls)} calls; failed:", count, "and", len(sizes), "limits on the size of files")
    return 0


sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1))
