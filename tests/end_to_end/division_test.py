"""Trains on the same global batches of CIFAR-10 files, divided in several ways: accumulation, a
pipeline and recomputation give the same bits, replicas give the same numbers up to rounding errors,
and other batches give other numbers.
Usage: division_test.py PROGRAM. Exit code 77: h5py is not installed."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
except ImportError:
    sys.exit(77)

RECORD = 1 + 3 * 32 * 32
PIPELINE = ["--gradient-accumulation-count=16",
            "--pipeline-splits=conv3_block1_post_addition_relu"]
WAYS = {
    "a": ["--gradient-accumulation-count=16"],
    "b": ["--num-replicas=2", "--gradient-accumulation-count=8"],
    "c": PIPELINE,
    "d": PIPELINE + ["--recomputation"],
}


def tensors(path):
    """All weights and the optimizer's state, by name."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.__setitem__(name, item[()])
                        if isinstance(item, h5py.Dataset) else None)
    return found


def files_of(folder):
    return [folder / "cifar-10-batches-bin" / f"data_batch_{i}.bin" for i in range(1, 6)]


def read_records(folder):
    data = b"".join(path.read_bytes() for path in files_of(folder))
    return [data[i : i + RECORD] for i in range(0, len(data), RECORD)]


def swap_samples(folder, first, second):
    records = read_records(folder)
    records[first], records[second] = records[second], records[first]
    each = len(records) // 5
    for number, path in enumerate(files_of(folder)):
        path.write_bytes(b"".join(records[number * each : (number + 1) * each]))


def train(program, data, run, flags):
    command = [program, "train", "--model=cifar_resnet8", "--micro-batch-size=8", "--slices=1",
               "--num-epochs=1", "--validation=false", "--shuffle=false", "--quiet",
               f"--dataset-path={data}", f"--run-dir={run}"]
    subprocess.run(command + flags, check=True)
    return tensors(run / "checkpoints" / "epoch_1.0.h5")


def same_bits(a, b):
    return a.keys() == b.keys() and all(numpy.array_equal(a[name], b[name]) for name in a)


def distance(a, b):
    return max(float(numpy.abs(a[name] - b[name]).max() / (1e-6 + numpy.abs(a[name]).max()))
               for name in a)


def main(program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = folder / "data"
        subprocess.run([program, "data", "make-cifar10", data, "--train=640", "--test=10"],
                       check=True, stdout=subprocess.DEVNULL)
        records = read_records(data)
        assert len(set(records)) == len(records), "the samples are not distinct"
        found = {way: train(program, data, folder / way, flags) for way, flags in WAYS.items()}
        swap_samples(data, 3, 127)  # within one update: only the order of summation changes
        within = train(program, data, folder / "within", WAYS["a"])
        swap_samples(data, 3, 127)
        swap_samples(data, 3, 128)  # between the first two updates
        between = train(program, data, folder / "between", WAYS["a"])
    a = found["a"]
    print(f"b differs from a by {distance(found['b'], a):.1e}, a swap of two samples within an "
          f"update by {distance(within, a):.1e}, between updates by {distance(between, a):.1e}")
    checks = {
        "a = c to the bit": same_bits(found["c"], a),
        "a = d to the bit": same_bits(found["d"], a),
        "a = b to rounding": distance(found["b"], a) < 5e-3,
        "other updates are seen": distance(between, a) > 10 * distance(found["b"], a),
    }
    for check, held in checks.items():
        if not held:
            print("FAILED:", check)
    return 0 if all(checks.values()) else 1


sys.exit(main(sys.argv[1]))
