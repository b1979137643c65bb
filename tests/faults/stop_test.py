"""Stops training runs as users and batch systems do, and resumes them. `timeout` ends runs and jobs
of two instances at random moments, with two signals each time; a terminal is closed; nobody reads
the output any more. Each run ends with code 75 and a checkpoint, and the resumed run has the bits of
an unbroken one.
Usage: stop_test.py PROGRAM [COUNT [PARALLEL]], where COUNT is how often `timeout` stops something:
jobs one time in four, if there is an mpirun."""
import concurrent.futures
import os
import pathlib
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 300  # seconds until a run counts as hanging
STOPPED = 75
TOO_EARLY = (143, -15)
LAST = "epoch_4.0.h5"
FLAGS = ["--model=toy_model_bn", "--optimizer=adam", "--micro-batch-size=8", "--num-epochs=4",
         "--ckpts-per-epoch=0.5", "--slices=1", "--validation=false", "--quiet"]


class Wrong(Exception):
    pass


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=PATIENCE)


class Runs:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.data = folder / "data"
        self.has_mpirun = shutil.which("mpirun") is not None
        subprocess.run([program, "data", "make-cifar10", self.data, "--train=1920", "--test=16"],
                       check=True, stdout=subprocess.DEVNULL)
        self.seconds = {}  # of an unbroken run, by instances
        self.whole = {}  # the weights of it, trained in one process
        for instances in (1, 2) if self.has_mpirun else (1,):
            begin = time.monotonic()
            self.check_code("timed", run(self.start(f"timed{instances}", instances)), 0)
            self.seconds[instances] = time.monotonic() - begin
            name = f"whole{instances}"
            self.check_code(name, run(self.train(name, instances)), 0)
            self.whole[instances] = self.weights(name)

    def train(self, name, replicas):
        return [self.program, "train", *FLAGS, f"--num-replicas={replicas}", "--cores-per-device=1",
                f"--dataset-path={self.data}", f"--run-dir={self.folder / name}", "--resume=auto"]

    def start(self, name, instances):
        """The command that trains one replica on each instance."""
        job = [self.program, "run", "--allow-run-as-root", f"--num-instances={instances}"]
        return (job if instances > 1 else []) + self.train(name, instances)

    def weights(self, name):
        return (self.folder / name / "checkpoints" / LAST).read_bytes()

    @staticmethod
    def check_code(name, done, code):
        if done.returncode != code:
            raise Wrong(f"{name}: exit code {done.returncode}, expected {code}:\n{done.stdout}")

    def check_stopped(self, name, done, instances):
        """The run has stopped with a checkpoint. Continued in one process, it has the same bits."""
        self.check_code(name, done, STOPPED)
        if not list((self.folder / name / "checkpoints").glob("epoch_*.h5")):
            raise Wrong(f"{name}: no checkpoint:\n{done.stdout}")
        self.check_code(name, run(self.train(name, instances)), 0)
        if self.weights(name) != self.whole[instances]:
            raise Wrong(f"{name}: other weights than those of an unbroken run:\n{done.stdout}")
        shutil.rmtree(self.folder / name)


def end_by_timeout(runs, number):
    """Repeats until `timeout` comes after the beginning and before the end. Returns the misses."""
    instances = 2 if runs.has_mpirun and number % 4 == 3 else 1
    chance = random.Random(number)
    for missed in range(50):
        name = f"stopped{number}_{missed}"
        seconds = chance.uniform(0.1, 0.9) * runs.seconds[instances]
        done = run(["timeout", "--preserve-status", f"{seconds:.3f}", *runs.start(name, instances)])
        begun = (runs.folder / name).exists()
        if done.returncode == 0 or (done.returncode in TOO_EARLY and not begun):
            shutil.rmtree(runs.folder / name, ignore_errors=True)
            continue
        runs.check_stopped(name, done, instances)
        return missed
    raise Wrong(f"{number}: never within a run")


def wait_for(path):
    end = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > end:
            raise Wrong(f"{path} does not appear")
        time.sleep(0.01)


def close_terminal(runs, name, instances):
    """The program runs in a terminal that is closed when training has begun."""
    command = runs.start(name, instances)
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup would have it ignored
        os.execvp(command[0], command)
    log = runs.folder / name / "log.txt"
    wait_for(log)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    runs.check_stopped(name, subprocess.CompletedProcess(command, code, log.read_text()), instances)


def close_output(runs, name, with_signal):
    """Nobody reads the output any more, as when Ctrl-C ends the `tee` of `pando train | tee log`."""
    command = [word for word in runs.train(name, 1) if word != "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL) as process:
        wait_for(runs.folder / name / "log.txt")
        if with_signal:
            process.send_signal(signal.SIGINT)
        process.stdout.close()
        code = process.wait(PATIENCE)
    runs.check_stopped(name, subprocess.CompletedProcess(command, code, "(not read)"), 1)


def play_all(program, count, parallel):
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(program, pathlib.Path(name))
        print(f"seconds of an unbroken run, by instances: {runs.seconds}", flush=True)
        close_terminal(runs, "terminal", 1)
        close_output(runs, "output", False)
        close_output(runs, "output_signal", True)
        if runs.has_mpirun:
            close_terminal(runs, "terminal_job", 2)
        missed = 0
        with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
            each = pool.map(lambda number: end_by_timeout(runs, number), range(count))
            for done, more in enumerate(each, 1):
                missed += more
                if done % 20 == 0:
                    print(f"{done} checkpoints", flush=True)
    print(f"a closed terminal, and {count} times `timeout`: {count} checkpoints, resumed to the same "
          f"bits ({missed} more came before the beginning or after the end)")
    return 0


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[2:]]
    sys.exit(play_all(pathlib.Path(sys.argv[1]).resolve(), *(numbers + [4, 2][len(numbers):])))
