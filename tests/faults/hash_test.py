"""Trains the same two replicas with 1, 2 and 4 workers each, in one process and as two instances, by
turns: all runs end with the same weights and optimizer state. With one slice each, gradients are sums
of two numbers, so the division between processes does not change their rounding. Jobs train their last epoch in one
process, because a checkpoint tells the number of instances that wrote it.
Usage: hash_test.py PROGRAM [RUNS]."""
import hashlib
import itertools
import pathlib
import shutil
import subprocess
import sys
import tempfile

PATIENCE = 600  # seconds until a run counts as hanging
FLAGS = ["--model=toy_model_bn", "--optimizer=adam", "--micro-batch-size=8", "--num-replicas=2",
         "--slices=1", "--ckpts-per-epoch=1", "--validation=false", "--quiet"]


def train(program, folder, name, workers, instances):
    """Returns a hash of the last checkpoint."""
    command = [program, "train", *FLAGS, f"--dataset-path={folder / 'data'}",
               f"--run-dir={folder / name}", "--resume=auto"]
    job = [program, "run", "--allow-run-as-root", f"--num-instances={instances}"]
    subprocess.run((job if instances > 1 else []) + command +
                   [f"--cores-per-device={workers}", "--num-epochs=2"], check=True, timeout=PATIENCE)
    subprocess.run(command + [f"--cores-per-device={workers}", "--num-epochs=3"], check=True,
                   stdout=subprocess.DEVNULL, timeout=PATIENCE)
    return hashlib.sha256((folder / name / "checkpoints" / "epoch_3.0.h5").read_bytes()).hexdigest()


def main(program, runs):
    all_instances = (1, 2) if shutil.which("mpirun") else (1,)
    ways = itertools.cycle([(workers, instances) for workers, instances in
                            zip((1, 2, 4) * 2, all_instances * 6)])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program, "data", "make-cifar10", folder / "data", "--train=320", "--test=16"],
                       check=True, stdout=subprocess.DEVNULL)
        found = {}
        for number, (workers, instances) in zip(range(runs), ways):
            digest = train(program, folder, f"run{number}", workers, instances)
            found.setdefault(digest, []).append(f"{workers} workers, {instances} instances")
    for digest, described in found.items():
        print(f"{digest}: {len(described)} runs: {'; '.join(sorted(set(described)))}")
    return 0 if len(found) == 1 else 1


sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 3))
