"""Every preset makes one weight update at its own precision, on made-up images, with 2 replicas that
accumulate 2 micro-batches, and says what it uses. Usage: presets_test.py PROGRAM [--full].
Reduced: the models of ImageNet on small images, and those presets once that differ only in the
size of their batches."""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

SMALL_IMAGE = 64
# Only in full: like the one before it but for its batch.
ALIKE = {"resnet50_mlperf_pod16_bs20", "resnet50_mlperf_pod4_bs20", "resnet50_infer_bs1",
         "resnet50_infer_bs16", "resnet50_infer_bs32", "resnet50_infer_test"}


def check(condition, what, done):
    if not condition:
        raise SystemExit(f"{what}:\n{' '.join(map(str, done.args))}\n{done.stdout}{done.stderr}")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def presets(program):
    done = run(program, "train", "--config", "no_such_preset")
    check(done.returncode == 2, "an unknown preset", done)
    names = re.findall(r"\b(?:resnet|fashion)\w+", done.stderr)
    check("resnet8_16ipus_bn" in names, "the message lists no presets", done)
    return sorted(set(names))


# The settings of a preset, as far as they are one word.
def settings(program, name):
    done = run(program, "train", "--config", name, "--synthetic-data=host", "--num-replicas=2",
               "--print-config")
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


def train_once(program, name, folder, full):
    setting = settings(program, name)
    command = [program, "train", "--config", name, "--num-replicas=2",
               f"--global-batch-size={4 * int(setting['micro-batch-size'])}",
               "--weight-updates-per-epoch=1", "--num-epochs=1", "--logs-per-epoch=1",
               "--ckpts-per-epoch=0", "--synthetic-data=host", "--validation=false",
               f"--run-dir={folder / name}"]
    if setting["model"] == "resnet50" and not full:
        command.append(f"--image-size={SMALL_IMAGE}")
    done = run(*command)
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
            if full or name not in ALIKE:
                train_once(program, name, pathlib.Path(folder), full)


if __name__ == "__main__":
    main(sys.argv[1], "--full" in sys.argv)
