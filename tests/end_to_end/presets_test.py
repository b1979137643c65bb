"""Every preset makes one weight update in its own precision, on synthetic images, with 2 replicas
that accumulate 2 micro-batches, and prints its settings. Without --full, presets of large networks
are left out. Usage: presets_test.py PROGRAM [--full]."""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile


def check(condition, what, done):
    if not condition:
        raise SystemExit(f"{what}:\n{' '.join(map(str, done.args))}\n{done.stdout}{done.stderr}")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def presets(program):
    done = run(program, "train", "--config", "no_such_preset")
    check(done.returncode == 2, "an unknown preset", done)
    names = re.findall(r"\b(?:resnet|fashion|shapes|imagenet|cifar10|folder|numpy|cosmoflow)_?\d*_\w+", done.stderr)
    check("resnet8_16ipus_bn" in names, "the message lists no presets", done)
    return sorted(set(names))


# What makes samples of large networks small.
def smaller(name):
    if name.startswith("numpy_"):
        return ["--image-size=16", "--micro-batch-size=4"]
    if name.startswith(("imagenet_", "folder_", "cosmoflow_")):
        return ["--image-size=32", "--micro-batch-size=4"]
    return ["--micro-batch-size=8"] if name.startswith("cifar10_") else []


# The settings of a preset whose values are one word.
def settings(program, name):
    done = run(program, "train", "--config", name, "--synthetic-data=host", "--num-replicas=2",
               "--print-config", *smaller(name))
    check(done.returncode == 0, f"exit code {done.returncode}", done)
    return dict(re.findall(r'^([\w-]+): "?([\w./-]+)"?', done.stdout, re.M))


def expected(setting):
    half = setting["precision"] != "32.32"
    words = "precision " + setting["precision"]
    if half:
        words += ", stochastic rounding " + setting["stochastic-rounding"].lower()
    if half and setting["half-partials"] == "true":
        words += ", half partials"
    batch = int(setting["micro-batch-size"])
    lines = [words + "\n", f"global batch {4 * batch} = micro-batch {batch} x 2 replicas x "
                           "accumulation 2"]
    scale = float(setting["loss-scaling"])
    if scale > 0 and half:
        lines.append(f"loss scaling {scale:g} x 2 replicas = {2 * scale:g}")
    return lines


def train_once(program, name, folder):
    setting = settings(program, name)
    batch = f"--global-batch-size={4 * int(setting['micro-batch-size'])}"
    if "gradient-accumulation-count" in setting:
        batch = "--gradient-accumulation-count=2"
    done = run(program, "train", "--config", name, "--num-replicas=2", batch,
               "--weight-updates-per-epoch=1", "--num-epochs=1", "--logs-per-epoch=1",
               "--ckpts-per-epoch=0", "--first-ckpt-epoch=0", "--synthetic-data=host",
               "--validation=false", f"--run-dir={folder / name}", *smaller(name))
    check(done.returncode == 0, f"exit code {done.returncode}", done)
    for words in expected(setting):
        check(words in done.stdout, f"'{words}' is missing", done)
    rows = json.loads((folder / name / "history.json").read_text())
    losses = [row["loss"] for row in rows if "loss" in row]
    check(len(losses) == 1 and math.isfinite(losses[0]), f"losses {losses}", done)
    print(f"{name}: {setting['precision']}, loss {losses[0]:.4f}", flush=True)


def main(program, full):
    with tempfile.TemporaryDirectory() as folder:
        for name in presets(program):
            if full or not name.startswith(("resnet50_", "imagenet_", "folder_")):
                train_once(program, name, pathlib.Path(folder))


if __name__ == "__main__":
    main(sys.argv[1], "--full" in sys.argv)
