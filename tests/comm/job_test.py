# Programs of several instances, from their start to their exit codes.
# SPDX-License-Identifier: MIT
"""usage: job_test.py MPIEXEC PROGRAM"""
import os
import subprocess
import sys

mpiexec, program = sys.argv[1:]
failures = []


def run(case, command, code, said=(), count=None, **variables):
    """Runs it, and checks its exit code (None: any but 0) and what it wrote."""
    environment = {**os.environ, **variables}
    try:
        done = subprocess.run(command, env=environment, timeout=60, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as expired:
        failures.append(f"{case}: hangs\n{expired.stdout}")
        return
    wrong = []
    if (done.returncode == 0) if code is None else (done.returncode != code):
        wrong.append(f"exit code {done.returncode}, wanted {code or 'an error'}")
    wrong += [f"does not say '{part}'" for part in said if part not in done.stdout]
    lines = done.stdout.count("instance ")
    if count is not None and lines != count:
        wrong.append(f"{lines} instances, wanted {count}")
    print(f"{case}: {'; '.join(wrong) or 'as wanted'}")
    if wrong:
        failures.append(f"{case}: {wrong}\n{done.stdout}")


def job(ranks, what="tell"):
    return [mpiexec, "-n", str(ranks), program, what]


ALONE = "instance 0 of 1, local 0, replicas 0+1 of 1, devices 1, sum 0"
run("no launcher", [program], 0, [ALONE], 1)
run("one instance", job(1), 0, [ALONE], 1)
run("one instance of three replicas", job(1), 0, ["replicas 0+3 of 3"], 1,
    POPDIST_NUM_TOTAL_REPLICAS="3")
run("two instances", job(2), 0,
    ["instance 0 of 2, local 0, replicas 0+1 of 2, devices 1, sum 1",
     "instance 1 of 2, local 1, replicas 1+1 of 2, devices 1, sum 1"], 2)
run("replicas as told", job(2), 0,
    ["instance 1 of 2, local 1, replicas 3+3 of 6, devices 2, sum 1"], 2,
    POPDIST_NUM_TOTAL_REPLICAS="6", POPDIST_NUM_IPUS_PER_REPLICA="2")
run("replicas that do not divide", job(2), 1,
    ["error: ", "POPDIST_NUM_TOTAL_REPLICAS is 3", "multiple of 2"],
    POPDIST_NUM_TOTAL_REPLICAS="3")
run("an instance gives up", job(3, "fail"), 7)
run("an instance hangs", job(3, "hang"), None,
    ["pando: instance 1 on ", ": hangs: ", "1 s"],
    PANDO_HEARTBEAT_PERIOD="0.2", PANDO_STALL_TIMEOUT="1")
run("all stop", job(2, "stop"), 75, [], 2)
run("a child exits", job(2, "fork"), 0, [], 2)
run("a program with MPI of its own", job(2, "own_mpi_threads"), 0, ["sum 1"], 2)
run("a program with MPI for one thread", job(2, "own_mpi"), None,
    ["MPI_THREAD_SERIALIZED", "MPI_Init_thread"])
if "Open MPI" in subprocess.run([mpiexec, "--version"], text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout:
    run("the launcher of another MPI", [program], None,
        ["error: mpiexec of MPICH started 2 processes", "PMI_SIZE=2", "MPI finds 1"],
        PMI_SIZE="2", PMI_RANK="0")
sys.exit("\n".join(failures) if failures else 0)
