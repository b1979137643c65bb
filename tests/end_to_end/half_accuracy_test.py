"""Half precision loses no accuracy: mnist_cnn learns Fashion-MNIST in every precision as well as in
32.32, from the same initial weights and with the same order of samples.
Usage: half_accuracy_test.py PROGRAM. Exit code 77: Fashion-MNIST is not installed."""
import pathlib
import re
import subprocess
import sys
import tempfile

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
SKIPPED = 77
LEAST = 84.0  # eight seeds of 32.32 end between 85.9 and 86.6 %
MOST_LOST = 0.5  # points
HALF = {"16.16": ["--auto-loss-scaling"], "16.32": ["--auto-loss-scaling"], "bf16.16": [],
        "bf16.32": []}


def test_accuracy(program, precision, *flags):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [program, "train", "--model=mnist_cnn", "--dataset=fashion_mnist", "--slices=2",
             "--num-epochs=3", f"--precision={precision}", *flags, f"--run-dir={folder}/run",
             "--ckpts-per-epoch=1/3", "--quiet"], capture_output=True, text=True)
    found = re.search(r"test accuracy: ([\d.]+) %", done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{precision}: exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    print(f"{precision}: {found[1]} %", flush=True)
    return float(found[1])


def main(program):
    if not DATA.is_dir():
        return SKIPPED
    full = test_accuracy(program, "32.32")
    lost = {name: full - test_accuracy(program, name, *flags) for name, flags in HALF.items()}
    wrong = [f"{name} loses {points:.2f} points" for name, points in lost.items()
             if points > MOST_LOST]
    if full < LEAST:
        wrong.append(f"32.32 reaches {full} %, expected at least {LEAST} %")
    print("; ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
