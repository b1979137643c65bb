"""Tests training on two machines, which are network namespaces, while instances are killed, stopped
and signalled and the link between the machines is cut and slowed, each at a random moment. The job
has to end everywhere, in time and naming the first cause, or to continue with the same results.

usage: faults_test.py PROGRAM [ROUNDS [SCENARIO...]], with ROUNDS as in 50 or 26-50"""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from machines import HOSTS, Machines, variable_of, words_of

SKIPPED = 77
IN_TIME = 30  # seconds in which all processes have to end
LAST = "epoch_4.0.h5"
FLAGS = ["--model=toy_model_bn", "--optimizer=adam", "--micro-batch-size=8", "--num-epochs=4",
         "--ckpts-per-epoch=12", "--slices=1", "--validation=false", "--keep-last=3", "--quiet"]
HOST_OF = list(HOSTS)  # of each instance


class Wrong(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(part) for part in what))


class Job:
    """One `pando run` of an instance on each machine."""

    def __init__(self, faults, name, *train_options, **run_options):
        self.faults = faults
        self.machines = faults.machines
        self.folder = faults.folder / name
        run = [f"--num-instances={len(HOSTS)}", "--host=" + ",".join(HOSTS),
               "--allow-run-as-root=1", "--heartbeat-period=1",
               f"--mpi-global-args=--mca plm_rsh_agent {self.machines.remote_shell}"]
        run += [f"--{key.replace('_', '-')}={value}" for key, value in run_options.items()]
        command = ([faults.program, "run"] + run + [faults.program, "train"] + FLAGS +
                   [f"--dataset-path={faults.data}", f"--run-dir={self.folder}"] +
                   list(train_options))
        self.log = faults.folder / "log.txt"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(self.machines.command("hosta", command), stdout=log,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.begin = time.monotonic()

    def pid(self, instance):
        for pid in self.machines.processes(HOST_OF[instance]):
            if words_of(pid)[1:2] == ["train"] and \
                    variable_of(pid, "OMPI_COMM_WORLD_RANK") == str(instance):
                return pid
        raise Wrong(f"instance {instance} does not run")

    def progress(self):
        """Returns the epoch of the newest checkpoint."""
        return max((float(path.stem.split("_")[1])
                    for path in self.folder.glob("checkpoints/epoch_*.h5")), default=-1.0)

    def wait_for_a_moment(self, earliest=0.0, latest=3.3):
        """Waits for a random moment well before the end of the last epoch. Returns its epoch."""
        epoch = self.faults.random.uniform(earliest, latest)
        while self.progress() < epoch:
            check(self.process.poll() is None, "ended before epoch", epoch)
            time.sleep(0.002)
        time.sleep(self.faults.random.uniform(0, 0.02))
        return epoch

    def send(self, instance, number):
        """Sends a signal to an instance. Returns how messages name the instance."""
        pid = self.pid(instance)
        os.kill(pid, number)
        return f"instance {instance} on {HOST_OF[instance]} (pid {pid})"

    def end(self, patience=2 * IN_TIME):
        """Waits for the end. Returns the exit code and the output."""
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired as error:
            raise Wrong("hangs") from error
        return code, self.log.read_text()

    def check_failed(self, who, cause):
        code, said = self.end()
        check(code not in (0, 3, 75), "exit code", code)
        check(cause in said, f"the output does not contain '{cause}'")
        check(f"first failure: {who}" in said, f"the output does not name {who} as first failure")

    def check_done(self):
        code, _ = self.end(patience=20 * IN_TIME)  # it trains, beside whatever else runs here
        check(code == 0, "exit code", code)
        check((self.folder / "checkpoints" / LAST).read_bytes() == self.faults.whole,
              "its weights differ from those of an undisturbed run")


def killed(faults, name):
    job = Job(faults, name)
    job.wait_for_a_moment()
    faults.now()
    who = job.send(faults.one(), signal.SIGKILL)
    job.check_failed(who, who)
    return who


def stopped(faults, name):
    job = Job(faults, name)
    job.wait_for_a_moment()
    faults.now()
    who = job.send(faults.one(), signal.SIGSTOP)
    job.check_failed(who, who + ": silent")
    return who


def orphaned(faults, name):
    """The launcher is killed, so nobody supervises the job."""
    job = Job(faults, name)
    job.wait_for_a_moment(latest=1)
    faults.now()
    job.process.kill()
    check(job.end()[0] == -signal.SIGKILL, "the launcher was not killed")
    faults.all_has_ended()
    check(job.progress() < 4, "the job ran to its end")
    return f"ended at epoch {job.progress()}"


def cut(faults, name):
    job = Job(faults, name)
    job.wait_for_a_moment()
    faults.now()
    faults.machines.cut()
    job.check_failed("instance 1 on hostb", ": silent")
    faults.all_has_ended()  # on both sides of the cut
    return "instance 1 on hostb"


def slowed(faults, name):
    job = Job(faults, name)
    job.wait_for_a_moment()
    faults.now()
    faults.machines.slow("2mbit")
    time.sleep(faults.random.uniform(1, 5))
    faults.machines.quicken()
    job.check_done()
    return "went on"


def full_disk(faults, name):
    """The disk of the first instance, which saves checkpoints, is full."""
    folder = faults.folder / name
    folder.mkdir()
    size = faults.random.randrange(2, 6) * len(faults.whole)
    faults.machines.prepare("hosta", f"mount -t tmpfs -o size={size} none {folder}")
    faults.now()
    job = Job(faults, name)
    job.check_failed("instance 0 on hosta", "No space left on device")
    return f"after {size} bytes"


def bad_data(faults, name):
    """One machine has a truncated data file."""
    who = faults.one()
    file = next(faults.data.rglob("data_batch_1.bin"))
    bad = faults.folder / "bad"
    bad.write_bytes(file.read_bytes()[:-faults.random.randrange(1, 3000)])
    faults.machines.prepare(HOST_OF[who], f"mount --bind {bad} {file}")
    faults.now()
    Job(faults, name).check_failed(f"instance {who} on {HOST_OF[who]}", file.name)
    return f"instance {who}"


def signalled(faults, name):
    """One instance gets a signal: all stop after the same weight update and can be resumed."""
    job = Job(faults, name)
    job.wait_for_a_moment()
    faults.now()
    number = faults.random.choice([signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
    who = job.send(faults.one(), number)
    code, _ = job.end()
    check(code == 75, "exit code", code)
    faults.all_has_ended()
    Job(faults, name, "--resume=auto").check_done()
    return f"{number.name} to {who}, resumed"


def restarted(faults, name):
    """Instances are killed or stopped twice: noticed in time, and the weights are the same."""
    job = Job(faults, name, max_restarts=2)
    job.wait_for_a_moment(latest=1.5)
    first = lose_one(faults, job, 1)
    job.wait_for_a_moment(earliest=job.progress() + 0.2)  # it has to train again
    second = lose_one(faults, job, 2)
    job.check_done()
    return f"{first}; {second}; went on"


def lose_one(faults, job, restart):
    """Kills or stops an instance and waits until the job restarts. Returns what happened."""
    number = faults.random.choice([signal.SIGKILL, signal.SIGSTOP])
    faults.now()
    who = job.send(faults.one(), number)
    while f"(restart {restart} of " not in job.log.read_text():
        check(time.monotonic() < faults.moment + IN_TIME, f"{number.name} to {who} is not noticed")
        time.sleep(0.01)
    return f"{number.name} to {who}, restarted after {time.monotonic() - faults.moment:.1f} s"


def healed(faults, name):
    """The link is cut and comes back, before or after an instance notices."""
    job = Job(faults, name, max_restarts=3)
    job.wait_for_a_moment(latest=2)
    faults.machines.cut()
    seconds = faults.random.uniform(1, 20)
    time.sleep(seconds)
    faults.machines.join()
    faults.now()
    job.check_done()
    restarts = job.log.read_text().count("restarting the job")
    return f"cut for {seconds:.1f} s, {restarts} restarts"


SCENARIOS = {each.__name__: each for each in
             [killed, stopped, orphaned, cut, slowed, full_disk, bad_data, signalled, restarted,
              healed]}
WENT_ON = ("slowed", "signalled", "restarted", "healed")  # these take as long as the training


class Faults:
    def __init__(self, program, folder, machines):
        self.program = program
        self.folder = folder
        self.machines = machines
        self.random = random.Random()
        self.data = folder / "data"
        self.moment = 0.0
        subprocess.run([program, "data", "make-cifar10", self.data, "--train=4800", "--test=16"],
                       check=True, stdout=subprocess.DEVNULL)
        whole = Job(self, "whole")
        code, said = whole.end(patience=20 * IN_TIME)
        check(code == 0, "the undisturbed run ended with code", code, "\n" + said)
        self.seconds = time.monotonic() - whole.begin
        self.whole = (whole.folder / "checkpoints" / LAST).read_bytes()

    def one(self):
        return self.random.randrange(len(HOSTS))

    def now(self):
        self.moment = time.monotonic()

    def all_has_ended(self):
        """Waits until nothing runs on the machines any more. Returns the seconds since now()."""
        while any(self.machines.processes(host) for host in HOSTS):
            if time.monotonic() > self.moment + 2 * IN_TIME:
                left = [" ".join(words_of(pid)) for host in HOSTS
                        for pid in self.machines.processes(host)]
                raise Wrong("still running: " + "; ".join(left))
            time.sleep(0.05)
        return time.monotonic() - self.moment

    def play(self, name, number):
        self.random.seed(f"{name}{number}")
        result = SCENARIOS[name](self, f"{name}{number}")
        self.machines.join()
        for host in HOSTS:
            self.machines.prepare(host, "")
        seconds = self.all_has_ended()
        check(seconds < IN_TIME or name in WENT_ON, "took", seconds, "s")
        print(f"{name:10} {number:3}: {result}; all had ended after {seconds:.1f} s", flush=True)


def rounds_of(text):
    first, _, last = text.rpartition("-")
    return range(int(first or 1), int(last) + 1)


def play_all(program, rounds, names):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            machines = Machines(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"skipped: cannot create network namespaces: {error}")
            return SKIPPED
        try:
            faults = Faults(program, folder, machines)
            print(f"undisturbed   : {faults.seconds:.1f} s", flush=True)
            for number in rounds:
                for each in names:
                    try:
                        faults.play(each, number)
                    except Wrong as wrong:
                        log = (folder / "log.txt").read_text()
                        raise SystemExit(f"{each} {number}: {wrong}\n{log}") from wrong
        finally:
            machines.remove()
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(play_all(pathlib.Path(sys.argv[1]).resolve(),
                      rounds_of(sys.argv[2] if len(sys.argv) > 2 else "1"),
                      sys.argv[3:] or list(SCENARIOS)))
