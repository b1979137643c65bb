"""Trains on a small part of Fashion-MNIST, divided over devices in several ways: every way of
dividing the same global batch prints the same result. Usage: train_devices_test.py PROGRAM.
Exit code 77: the data set is not installed."""
import gzip
import pathlib
import struct
import subprocess
import sys
import tempfile

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def write_part(folder):
    for stem, count in (("train", 1024), ("t10k", 256)):
        for kind, sample, head in (("images-idx3", 28 * 28, 16), ("labels-idx1", 1, 8)):
            name = f"{stem}-{kind}-ubyte"
            packed = DATA / (name + ".gz")
            raw = gzip.open(packed).read() if packed.exists() else (DATA / name).read_bytes()
            part = raw[:4] + struct.pack(">i", count) + raw[8 : head + count * sample]
            (folder / name).write_bytes(part)


def main(program):
    if not DATA.exists():
        return 77
    pipeline = ["--micro-batch-size=8", "--gradient-accumulation-count=4", "--pipeline-splits=conv2d_1"]
    ways = {
        "one device": ["--micro-batch-size=32"],
        "two replicas": ["--micro-batch-size=16", "--num-replicas=2"],
        "accumulation": ["--micro-batch-size=8", "--gradient-accumulation-count=4"],
        "grouped": pipeline,
        "interleaved": pipeline + ["--pipeline-schedule=Interleaved", "--recomputation"],
        "sequential": pipeline + ["--pipeline-schedule=sequential"],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_part(folder)
        results = {}
        for number, (way, flags) in enumerate(ways.items()):
            command = [program, "train", "--quiet", "--num-epochs=2", "--slices=1"]
            command += [f"--dataset-path={folder}", f"--run-dir={folder / str(number)}"]
            run = subprocess.run(command + flags, capture_output=True, text=True)
            results[way] = run.stdout + run.stderr
    for way, text in results.items():
        print(f"{way}: {text}", end="")
    same = len(set(results.values())) == 1
    return 0 if same and results["one device"].startswith("test loss: ") else 1


sys.exit(main(sys.argv[1]))
