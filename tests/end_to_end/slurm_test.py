"""Tests training with Slurm: `srun`, the batch scripts of docs/guide/many-machines.md, which stop at a
signal and queue their job again, and `pando run` in an allocation. Starts its own cluster of two
nodes on this machine; skipped (exit code 77) without root or Slurm.
Usage: slurm_test.py PROGRAM GUIDE."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE = 240  # seconds until a test counts as hanging; a job takes about ten
NEEDED = ["munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "scontrol", "mpirun"]
TRAINING = ("--model toy_model --synthetic-data host --weight-updates-per-epoch 200 --num-epochs 3 "
            "--validation false")
# A job that is queued again waits for cred_expire seconds, 120 by default.
CONFIGURATION = """ClusterName=pando
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=10
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_until(found, what, say=lambda: ""):
    end = time.monotonic() + PATIENCE
    while not found():
        if time.monotonic() > end:
            raise SystemExit(f"timeout: waited until {what}\n{say()}")
        time.sleep(0.2)


class Cluster:
    """Two nodes with different names, both on this machine."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = []
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"),
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for name in list(self.environment):
            if name.startswith(("POPDIST_", "PANDO_", "PMI")):
                del self.environment[name]

    def __enter__(self):
        folder = self.folder
        folder.chmod(0o755)
        for name in ("state", "munge", "tmp-node1", "tmp-node2", "spool-node1", "spool-node2"):
            (folder / name).mkdir()
        (folder / "munge/key").write_bytes(os.urandom(128))
        (folder / "munge/key").chmod(0o400)
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], ports=free_ports(3), folder=folder))
        self.start("munged", "--foreground", "--force",
                   *(f"--{name}-file={folder}/munge/{name}" for name in ("key", "pid", "log", "seed")),
                   f"--socket={folder}/munge/socket")
        wait_until((folder / "munge/socket").exists, "munged runs", self.log)
        self.start("slurmctld", "-D")
        for node in ("node1", "node2"):
            self.start("slurmd", "-D", "-N", node)
        wait_until(lambda: self.output("sinfo", "-h", "-t", "idle", "-o", "%D") == "2",
                   "two nodes are idle", self.log)
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()

    def start(self, *command):
        with open(self.folder / "daemons.log", "ab") as log:
            self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=log,
                                                 stderr=log, start_new_session=True))

    def run(self, *command):
        return subprocess.run(command, env=self.environment, cwd=self.folder, text=True,
                              capture_output=True, timeout=PATIENCE)

    def output(self, *command):
        return self.run(*command).stdout.strip()

    def log(self):
        return (self.folder / "daemons.log").read_text(errors="replace")[-4000:]


def check(condition, what, done):
    if not condition:
        raise SystemExit(f"{what}:\n{done.returncode}\n{done.stdout}\n{done.stderr}")


def last_loss(run):
    return json.loads((run / "history.json").read_text())[-1]["loss"]


def srun_trains(cluster, program):
    done = cluster.run("srun", "--mpi=pmix", "--nodes=2", "--ntasks=2", program, "train",
                       *TRAINING.split(), "--run-dir=whole")
    check(done.returncode == 0 and "2 replicas on 2 instances" in done.stdout, "srun", done)
    done = cluster.run(program, "train", *TRAINING.split(), "--num-replicas=2", "--run-dir=alone")
    check(abs(last_loss(cluster.folder / "whole") - last_loss(cluster.folder / "alone")) < 1e-3,
          "the same loss as one instance", done)


def srun_without_mpi_is_refused(cluster, program):
    done = cluster.run("srun", "--mpi=none", "--nodes=2", "--ntasks=2", program, "train",
                       *TRAINING.split(), "--run-dir=refused")
    check(done.returncode == 1 and "srun --mpi=pmix" in done.stderr,
          "instances that do not find each other", done)


def batch_scripts(guide, program):
    """The scripts of the guide, with less training, each with its own run directory."""
    for number, script in enumerate(
            re.findall(r"^```sh\n(#!/bin/bash\n#SBATCH.*?)^```$", guide, re.M | re.S)):
        script, count = re.subn(r"pando train .*--run-dir \S+ --resume auto",
                                f"pando train {TRAINING} --run-dir batch{number} --resume auto", script)
        if count != 1:
            raise SystemExit(f"the guide's script has {count} trainings:\n{script}")
        script = script.replace(" --ipus-per-replica 4", "")  # the smaller training has no pipeline
        yield re.sub(r"(?<![\w/])pando (train|run)", rf"{program} \1", script)


def stops_and_comes_back(cluster, script, number, *flags):
    (cluster.folder / "job.sh").write_text(script)
    log = cluster.folder / f"job{number}.log"
    log.touch()
    job = cluster.output("sbatch", "--parsable", "--nodes=2", "--ntasks-per-node=1",
                         "--cpus-per-task=1", "--time=10", f"--output={log}", "job.sh")
    state = lambda: cluster.output("squeue", "-h", "-j", job, "-o", "%T")
    say = lambda: f"{state()}\n{log.read_text()}\n{cluster.log()}"
    wait_until(lambda: "epoch 1.0:" in log.read_text(), "the first epoch is over", say)
    # Like --signal at the time limit: to the instances, or with --batch to the script.
    cluster.run("scancel", "--signal=USR1", *flags, job)
    wait_until(lambda: state() == "PENDING", "the job is queued again", say)
    if "stopped by SIGUSR1" not in log.read_text():
        raise SystemExit(f"not stopped by the signal\n{say()}")
    wait_until(lambda: state() not in ("PENDING", "RUNNING", "COMPLETING"), "the job is over", say)
    facts = cluster.output("scontrol", "show", "job", job)
    if "JobState=COMPLETED" not in facts or "Restarts=1" not in facts:
        raise SystemExit(f"{facts}\n{say()}")
    compare_weights(cluster.folder, "whole", f"batch{number}")


def compare_weights(folder, *runs):
    """Checks that a stopped run ends with the same bits as an uninterrupted one."""
    try:
        import h5py
    except ImportError:
        return
    files = [h5py.File(folder / run / "checkpoints/epoch_3.0.h5") for run in runs]
    names = []
    files[0]["model_weights" if "model_weights" in files[0] else "/"].visititems(
        lambda name, item: names.append(item.name) if isinstance(item, h5py.Dataset) else None)
    names = [name for name in names if "kernel" in name or "bias" in name]
    if not names:
        raise SystemExit("no weights in the checkpoint")
    for name in names:
        if files[0][name][()].tobytes() != files[1][name][()].tobytes():
            raise SystemExit(f"{name} differs after the job came back")


def run_works_in_an_allocation(cluster, program):
    done = cluster.run("salloc", "--nodes=2", "--ntasks-per-node=1", "sh", "-c",
                       f"{program} run --num-instances 2 --print-topology "
                       "sh -c 'echo $POPDIST_LOCAL_INSTANCE_INDEX on $SLURMD_NODENAME'")
    check(done.returncode == 0, "exit code", done)
    for instance in range(2):
        check(f"[1,{instance}]<stdout>:0 on node{instance + 1}\n" in done.stdout, "nodes", done)


def main(program, guide):
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        print(f"missing: {' '.join(missing)}" if missing else "needs root")
        return 77
    with tempfile.TemporaryDirectory() as folder, Cluster(folder) as cluster:
        kinds = cluster.run("srun", "--mpi=list")
        if "pmix" not in kinds.stdout + kinds.stderr:
            print("this Slurm has no PMIx")
            return 77
        first, second = batch_scripts(guide, program)
        tests = {"srun": lambda: srun_trains(cluster, program),
                 "srun without MPI": lambda: srun_without_mpi_is_refused(cluster, program),
                 "batch script": lambda: stops_and_comes_back(cluster, first, 0),
                 "pando run": lambda: run_works_in_an_allocation(cluster, program),
                 "its batch script": lambda: stops_and_comes_back(cluster, second, 1, "--batch")}
        for name, test in tests.items():
            begin = time.monotonic()
            test()
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    return 0


sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]).read_text()))
