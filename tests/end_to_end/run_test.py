"""Tests `pando run` with a real mpirun and small programs. Usage: run_test.py PROGRAM.
Skipped (exit code 77) if there is no mpirun."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 120  # seconds until a test counts as hanging; a job takes about one


class Launcher:
    def __init__(self, program, mpirun, folder):
        self.program = program
        self.mpirun = mpirun
        self.folder = pathlib.Path(folder)
        self.environment = dict(os.environ, LC_ALL="C.UTF-8")
        for name in list(self.environment):
            if name.startswith(("OMPI_", "POPDIST_", "PANDO_", "PMI", "SLURM_")):
                del self.environment[name]

    def command(self, flags, program):
        return [self.program, "run", "--allow-run-as-root", "--mpirun", self.mpirun, *flags.split(),
                "--", *program]

    def run(self, flags, *program, **keywords):
        return subprocess.run(self.command(flags, program), capture_output=True, text=True,
                              env=self.environment, timeout=PATIENCE, **keywords)

    def start(self, flags, *program):
        return subprocess.Popen(self.command(flags, program), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment)

    def make_data(self):
        data = self.folder / "data"
        subprocess.run([self.program, "data", "make-cifar10", data, "--train=256", "--test=64"],
                       check=True, stdout=subprocess.DEVNULL)
        return data

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)


def check(condition, what, done):
    if not condition:
        raise SystemExit(f"{what}:\n{done.returncode}\n{done.stdout}\n{done.stderr}")


def lines_of(text, instance, stream="stdout"):
    tag = f"[1,{instance}]<{stream}>:"
    return [line[len(tag):] for line in text.splitlines() if line.startswith(tag)]


def output_is_tagged(launcher):
    done = launcher.run("--num-instances 4", "sh", "-c", "echo hello; echo oh >&2; printf end")
    check(done.returncode == 0, "exit code", done)
    for instance in range(4):
        check(lines_of(done.stdout, instance) == ["hello", "end"], f"output of {instance}", done)
        check(lines_of(done.stderr, instance, "stderr") == ["oh"], f"errors of {instance}", done)
    check(len(done.stdout.splitlines()) == 8, "nothing else", done)


def long_lines_stay_whole(launcher):
    done = launcher.run("--num-instances 2", "sh", "-c", "for i in 1 2 3; do head -c 30000 /dev/zero"
                        " | tr '\\0' $POPDIST_LOCAL_INSTANCE_INDEX; echo; done")
    for instance in range(2):
        check(lines_of(done.stdout, instance) == [str(instance) * 30000] * 3, "long lines", done)


def one_instance_is_shown(launcher):
    done = launcher.run("--num-instances 2 --only-output-from-instance 1", "sh", "-c",
                        "echo out; echo err >&2")
    check(done.stdout == "[1,1]<stdout>:out\n" and done.stderr.endswith("[1,1]<stderr>:err\n")
          and "[1,0]" not in done.stderr, "only instance 1", done)
    done = launcher.run("--num-instances 2 --only-output-from-instance 1", "sh", "-c",
                        "[ $POPDIST_LOCAL_INSTANCE_INDEX = 1 ] && sleep 60; echo bad >&2; exit 5")
    check(done.returncode == 5 and "[1,0]<stderr>:bad\n" in done.stderr, "its errors", done)


def environment_is_set(launcher):
    done = launcher.run("--num-instance 2 --num-replicas 4 --ipus-per-replica 3 "
                        "--heartbeat-period 0.5 --heartbeat-timeout=4", "env")
    job = set()
    for instance in range(2):
        found = dict(line.partition("=")[::2] for line in lines_of(done.stdout, instance))
        wanted = {"POPDIST_NUM_TOTAL_REPLICAS": "4", "POPDIST_NUM_LOCAL_REPLICAS": "2",
                  "POPDIST_NUM_IPUS_PER_REPLICA": "3",
                  "POPDIST_REPLICA_INDEX_OFFSET": str(2 * instance),
                  "POPDIST_LOCAL_INSTANCE_INDEX": str(instance),
                  "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE": "1", "PANDO_RESTART": "0",
                  "PANDO_DEFAULT_REPLICAS": "0",
                  "PANDO_HEARTBEAT_PERIOD": "0.5", "PANDO_HEARTBEAT_TIMEOUT": "4"}
        for name, value in wanted.items():
            check(found.get(name) == value, f"{name} of instance {instance}", done)
        job.add(found.get("PANDO_JOB"))
    check(len(job) == 1 and None not in job, "PANDO_JOB", done)


def affinity(launcher, flags, instances):
    done = launcher.run(f"{flags} --num-instances {instances}", sys.executable, "-c",
                        "import os; print(*os.sched_getaffinity(0))")
    check(done.returncode == 0, "exit code", done)
    return done, [set(lines_of(done.stdout, i)[0].split()) for i in range(instances)]


def cores_are_disjoint(launcher):
    allowed = {str(core) for core in os.sched_getaffinity(0)}
    if len(allowed) < 2:
        print("one core only: disjoint cores are not tested")
        return
    done, (first, second) = affinity(launcher, "", 2)
    check(first and second and not first & second, "disjoint cores", done)
    check(first | second <= allowed, "allowed cores", done)
    done, shared = affinity(launcher, "", 2 * len(allowed))
    check(all(shared) and "share its hardware threads" in done.stderr, "a warning", done)
    core = min(allowed, key=int)
    done = subprocess.run(["taskset", "-c", core, *launcher.command(
        "--num-instances 2", ["grep", "Cpus_allowed_list", "/proc/self/status"])],
        capture_output=True, text=True, env=launcher.environment, timeout=PATIENCE)
    for instance in range(2):
        check(lines_of(done.stdout, instance) == [f"Cpus_allowed_list:\t{core}"],
              "the outer affinity holds", done)


def codes_pass_through(launcher):
    for code in (0, 1, 3, 75):
        done = launcher.run("--num-instances 2", "sh", "-c", f"exit {code}")
        check(done.returncode == code, f"exit code {code}", done)
    done = launcher.run("--num-instances 2", "sh", "-c",
                        "[ $POPDIST_REPLICA_INDEX_OFFSET = 1 ] || sleep 60; exit 3")
    check(done.returncode == 3, "exit code", done)
    check(re.search(r"^pando: the job failed after [\d.]+ s with exit code 3; first failure: instance 1 on "
                    r"\S+ \(pid \d+\): exit code 3$", done.stderr, re.M), "who failed", done)
    check("Primary job" not in done.stderr and "-----" not in done.stderr, "no banners", done)
    done = launcher.run("", "/no/such/program")
    check(done.returncode == 127, "a program that does not exist", done)
    done = launcher.run("", "/etc/passwd")
    check(done.returncode == 126, "a file that is not a program", done)


def a_killed_instance_is_named(launcher):
    job = launcher.start("--num-instances 2 -v", "sleep", "60")
    started = {}
    while len(started) < 2:
        match = re.search(r"instance (\d) on \S+ \(pid (\d+)\): started", job.stderr.readline())
        if match:
            started[match[1]] = int(match[2])
    os.kill(started["1"], signal.SIGKILL)
    job.stdout.read()
    errors = job.stderr.read()
    job.wait(PATIENCE)
    found = f"(pid {started['1']}): killed by signal 9 (Killed)\n"
    if job.returncode != 137 or "first failure: instance 1 on " not in errors or found not in errors:
        raise SystemExit(f"a killed instance: {job.returncode}\n{errors}")
    if pathlib.Path(f"/proc/{started['0']}").exists():
        raise SystemExit("the other instance still runs")


STOPPABLE = """
import os, signal, sys, time
def stop(number, frame):
    print(signal.Signals(number).name, flush=True)
    open(sys.argv[1] + os.environ["POPDIST_REPLICA_INDEX_OFFSET"], "w").close()
    end = time.monotonic() + 20  # the other instance may not have the signal yet
    while not all(os.path.exists(sys.argv[1] + i) for i in "01") and time.monotonic() < end:
        time.sleep(0.01)
    sys.exit(75)
signal.signal(signal.SIGUSR1, stop if len(sys.argv) < 3 else lambda *_: print("USR1", flush=True))
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""


def await_lines(job, text, count):
    while count:
        line = job.stdout.readline()
        if not line:
            raise SystemExit(f"no '{text}': {job.stderr.read()}")
        count -= text in line


def a_signal_stops_all(launcher):
    script = launcher.script("stoppable.py", STOPPABLE)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        mark = str(launcher.folder / f"stopped{number}_")
        job = launcher.start("--num-instances 2 --max-restarts 3", sys.executable, script, mark)
        await_lines(job, "ready", 2)
        job.send_signal(number)
        out, err = job.communicate(timeout=PATIENCE)
        asked = f"received {signal.Signals(number).name}\n"
        if job.returncode != 75 or out.count("SIGUSR1") != 2 or "restarting" in err or asked not in err:
            raise SystemExit(f"{number}: {job.returncode}\n{out}\n{err}")
    # A later signal ends instances that ignore the first.
    job = launcher.start("--num-instances 2", sys.executable, script, "", "deaf")
    await_lines(job, "ready", 2)
    job.send_signal(signal.SIGINT)
    await_lines(job, "USR1", 2)
    time.sleep(1.1)
    job.send_signal(signal.SIGTERM)
    out, err = job.communicate(timeout=PATIENCE)
    if job.returncode != 128 + signal.SIGTERM:
        raise SystemExit(f"later signal: {job.returncode}\n{out}\n{err}")


SAVES = """
import signal, sys, time
def stop(number, frame):
    time.sleep(0.2)
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""


def mpirun_of(job):
    return int(pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()[0])


def a_stopped_mpirun_takes_a_signal(launcher):
    mark = str(launcher.folder / "stopped_")
    job = launcher.start("--num-instances 2", sys.executable,
                         launcher.script("stoppable.py", STOPPABLE), mark)
    await_lines(job, "ready", 2)
    os.kill(mpirun_of(job), signal.SIGSTOP)
    job.send_signal(signal.SIGTERM)
    out, err = job.communicate(timeout=PATIENCE)
    if job.returncode != 75:
        raise SystemExit(f"SIGTERM while mpirun is stopped: {job.returncode}\n{out}\n{err}")


def a_killed_mpirun_is_named(launcher):
    """The cause is told, and the instances remove what mpirun would have removed."""
    run = launcher.folder / "run"
    data = launcher.make_data()
    job = launcher.start("--num-instances 2", "pando", "train", "--model=toy_model",
                         f"--dataset-path={data}", "--micro-batch-size=8", "--num-epochs=1000000", "--validation=false",
                         f"--run-dir={run}", "--quiet")
    end = time.monotonic() + PATIENCE
    while not (run / "log.txt").exists() and job.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    if job.poll() is not None:
        err = job.communicate()[1]
        if "built without MPI" in err:
            print("without MPI: a killed mpirun is not tested")
            return
        raise SystemExit(f"does not train: {err}")
    mpirun = mpirun_of(job)
    instance = pathlib.Path(f"/proc/{mpirun}/task/{mpirun}/children").read_text().split()[0]
    variables = dict(entry.partition("=")[::2] for entry in
                     pathlib.Path(f"/proc/{instance}/environ").read_text().split("\0"))
    number = f".{int(variables['OMPI_MCA_ess_base_jobid']):x}."

    def left():
        return ([path for path in pathlib.Path("/dev/shm").iterdir() if number in path.name] +
                list(pathlib.Path(variables["OMPI_MCA_orte_jobfam_session_dir"]).glob("*")))
    before = left()
    os.kill(mpirun, signal.SIGKILL)
    out, err = job.communicate(timeout=PATIENCE)
    last = err.splitlines()[-1]
    if job.returncode != 137 or f"mpirun (pid {mpirun}): killed by signal 9" not in last:
        raise SystemExit(f"a killed mpirun: {job.returncode}\n{out}\n{err}")
    if not before or left():
        raise SystemExit(f"before the end: {before}, after: {left()}")


def mpirun_may_be_told_to_end(launcher):
    script = launcher.script("saves.py", SAVES)
    job = launcher.start("--num-instances 2 --max-restarts 3", sys.executable, script)
    await_lines(job, "ready", 2)
    os.kill(mpirun_of(job), signal.SIGTERM)
    out, err = job.communicate(timeout=PATIENCE)
    if job.returncode != 75 or "restarting" in err or "pando: the job stopped after " not in err:
        raise SystemExit(f"SIGTERM to mpirun: {job.returncode}\n{out}\n{err}")


def nothing_survives_the_launcher(launcher):
    job = launcher.start("--num-instances 2", "sh", "-c", "echo pid $$; exec sleep 300")
    pids = []
    while len(pids) < 2:
        pids.append(job.stdout.readline().split()[-1])
    job.kill()
    job.communicate()
    end = time.monotonic() + PATIENCE
    while any(pathlib.Path("/proc", pid).exists() for pid in pids):
        if time.monotonic() > end:
            raise SystemExit("instances survive a killed launcher")
        time.sleep(0.05)


def restarts_go_on(launcher):
    mark = launcher.folder / "attempted"
    script = (f"echo attempt $PANDO_RESTART $PANDO_JOB; [ -e {mark} ] && exit 0; "
              f"[ $POPDIST_LOCAL_INSTANCE_INDEX = 0 ] && sleep 60; touch {mark}; kill -9 $$")
    done = launcher.run("--num-instances 2 --max-restarts 1", "sh", "-c", script)
    check(done.returncode == 0, "exit code", done)
    found = lines_of(done.stdout, 1)
    check([line.split()[1] for line in found] == ["0", "1"], "PANDO_RESTART", done)
    check(len({line.split()[2] for line in found}) == 1, "PANDO_JOB", done)
    check("pando: restarting the job (restart 1 of 1)" in done.stderr, "says so", done)
    done = launcher.run("--max-restarts 1", "sh", "-c", "echo attempt; exit 7")
    check(done.returncode == 7 and lines_of(done.stdout, 0) == ["attempt"] * 2, "gives up", done)
    done = launcher.run("--max-restarts 1", "sh", "-c", "echo attempt; exit 3")
    check(done.returncode == 3 and lines_of(done.stdout, 0) == ["attempt"], "not after 3", done)


def configurations_are_kept(launcher):
    path = launcher.folder / "run.yml"
    done = launcher.run(f"--num-instances 2 --num-replicas 4 --export-config {path}", "true")
    check(done.returncode == 0, "export", done)
    done = launcher.run(f"--import-config {path} --num-replicas 6", "sh", "-c",
                        "echo $POPDIST_NUM_TOTAL_REPLICAS")
    for instance in range(2):
        check(lines_of(done.stdout, instance) == ["6"], "import", done)
    done = launcher.run(f"--export-config {path}", "true")
    check(done.returncode == 2 and "--overwrite-config" in done.stderr, "no overwriting", done)


def hosts_get_their_instances(launcher):
    """Two host names for this machine: the remote shell starts both daemons locally. Each has a folder
    of its own for files of Open MPI, whose daemons do not expect each other there."""
    agent = launcher.script("agent", "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
                            f"echo $1 >> {launcher.folder}/hosts\n"
                            f"export TMPDIR={launcher.folder}/$1\nmkdir $TMPDIR\n"
                            "shift\nexec sh -c \"$*\"\n")
    done = subprocess.run(
        launcher.command("--num-instances 4 --num-replicas 8 -H node[07-08]", [])[:-1]
        + ["--mpi-global-args", f"--mca plm_rsh_agent {agent}", "--print-topology", "sh", "-c",
           "echo $POPDIST_REPLICA_INDEX_OFFSET $POPDIST_LOCAL_INSTANCE_INDEX"],
        capture_output=True, text=True, env=launcher.environment, timeout=PATIENCE)
    check(done.returncode == 0, "exit code", done)
    check(sorted((launcher.folder / "hosts").read_text().split()) == ["node07", "node08"],
          "hosts", done)
    for instance in range(4):
        check(lines_of(done.stdout, instance) == [f"{2 * instance} {instance % 2}"],
              f"instance {instance}", done)
    check("│ host      │ node07    │ node08    │\n" in done.stdout, "the table", done)


def input_reaches_instance_0(launcher):
    done = launcher.run("--num-instances 2", "cat", input="some text\n")
    check(done.stdout == "[1,0]<stdout>:some text\n", "input", done)


def commands_of_the_original(launcher):
    """Runs the commands that use poprun, with fewer instances and images."""
    data = launcher.make_data()
    for flags, train, batch in (
            ("--num-instances 4 --num-replicas 4", "", "x 4 replicas on 4 instances x"),
            ("--num-replicas 2 --num-instances 2 --ipus-per-replica 1 --numa-aware 1", "",
             "x 2 replicas on 2 instances x"),
            ("--num-instance 2 --num-replicas 4 --ipus-per-replica 2",
             "--pipeline-splits conv2d_1 --pipeline-validation-model",
             "x 4 replicas on 2 instances x")):
        run = launcher.folder / f"run{len(list(launcher.folder.iterdir()))}"
        words = ["pando", "train", "--model=toy_model", f"--dataset-path={data}", "--num-epochs=1",
                 "--micro-batch-size=8", "--gradient-accumulation=2", f"--run-dir={run}"]
        done = launcher.run(flags, *words, *train.split())
        if "built without MPI" in done.stderr:
            print("without MPI: training is not tested")
            return
        check(done.returncode == 0 and batch in done.stdout, flags, done)
        check("test accuracy" in done.stdout and "\r" not in done.stdout, "its end", done)
        check((run / "checkpoints" / "epoch_1.0.h5").exists(), "a checkpoint", done)


TESTS = [output_is_tagged, long_lines_stay_whole, one_instance_is_shown, environment_is_set,
         cores_are_disjoint, codes_pass_through, a_killed_instance_is_named, a_signal_stops_all,
         mpirun_may_be_told_to_end, a_stopped_mpirun_takes_a_signal, a_killed_mpirun_is_named,
         nothing_survives_the_launcher, restarts_go_on, configurations_are_kept,
         hosts_get_their_instances, input_reaches_instance_0, commands_of_the_original]


# Tests of behaviour that depends on the kind of mpirun.
MPICH_TESTS = [output_is_tagged, long_lines_stay_whole, environment_is_set, codes_pass_through,
               a_killed_instance_is_named, a_signal_stops_all, restarts_go_on]


def main(program):
    if shutil.which("mpirun") is None:
        print("no mpirun")
        return 77
    todo = [("mpirun", test) for test in TESTS]
    if shutil.which("mpiexec.hydra"):
        todo += [("mpiexec.hydra", test) for test in MPICH_TESTS]
    for mpirun, test in todo:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            test(Launcher(program, mpirun, folder))
        print(f"{mpirun}: {test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    return 0


sys.exit(main(sys.argv[1]))
