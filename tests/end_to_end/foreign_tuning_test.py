# SPDX-License-Identifier: MIT
"""A MobileNetV2 that others trained on photographs (npm package nsfwjs, a layers model of tfjs with
quantised weights) learns classes of Fashion-MNIST, enlarged to its 224 pixels, in a minute better
than the same network from random weights.
Usage: foreign_tuning_test.py PROGRAM FOLDER, where the package is kept. Skips without npm or
Fashion-MNIST; with PANDO_EXTERNAL=1 that is a failure."""
import gzip
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import zlib

PACKAGE = "nsfwjs@4.3.0"
CLASSES = {2: "pullover", 4: "coat", 7: "sneaker", 8: "bag"}
TRAIN_EACH, TEST_EACH = 75, 75
MOST_SECONDS = 60
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
UNPACK = """
const fs = require('fs'), path = require('path');
const [from, to] = process.argv.slice(1);
for (const name of fs.readdirSync(from)) {
  const content = require(path.resolve(from, name));
  if (name === 'model.min.js') fs.writeFileSync(path.join(to, 'model.json'), JSON.stringify(content));
  else fs.writeFileSync(path.join(to, name.replace('.min.js', '')), Buffer.from(content, 'base64'));
}
"""


def skip(why):
    print("skipped: " + why)
    sys.exit(1 if os.environ.get("PANDO_EXTERNAL") == "1" else 77)


def unpacked_model(packages, folder):
    source = packages / "node_modules/nsfwjs/dist/models/mobilenet_v2"
    try:
        if not source.exists():
            packages.mkdir(parents=True, exist_ok=True)
            subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
                            "--prefix", str(packages), PACKAGE], capture_output=True, timeout=300)
        if not source.exists():
            skip(f"npm cannot install {PACKAGE}")
        subprocess.run(["node", "-e", UNPACK, str(source), str(folder)], check=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        skip(str(error))
    return folder / "model.json"


def idx(name):
    for path in (*DATA.parent.rglob(name + "*"), *DATA.rglob(name + "*")):
        opened = gzip.open(path) if path.suffix == ".gz" else open(path, "rb")
        with opened as file:
            return file.read()
    skip(f"no {name} below {DATA.parent}")


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(pixels):
    """28 x 28 grey values as a coloured picture."""
    rows = b"".join(b"\0" + bytes(v for v in pixels[28 * y:28 * y + 28] for _ in range(3))
                    for y in range(28))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_pictures(folder, prefix, each):
    images = idx(prefix + "-images-idx3-ubyte")[16:]
    labels = idx(prefix + "-labels-idx1-ubyte")[8:]
    count = dict.fromkeys(CLASSES, 0)
    for i, label in enumerate(labels):
        if count.get(label, each) == each:
            continue
        place = folder / CLASSES[label] / f"{i:05}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(png(images[784 * i:784 * i + 784]))
        count[label] += 1


def train(program, folder, name, flags):
    begin = time.monotonic()
    words = [str(program), "train", "--dataset", "image_folder", "--dataset-path",
             str(folder / "pictures"), "--random-flip", "none", "--random-crop", "0", "--optimizer",
             "adam", "--micro-batch-size", "20", "--run-dir", name, "--quiet", *flags]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    rows = json.loads((folder / name / "history.json").read_text())
    rows = rows["rows"] if isinstance(rows, dict) else rows
    best = max(row["val_accuracy"] for row in rows if row.get("val_accuracy") is not None)
    return best, time.monotonic() - begin


def main():
    program, packages = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = unpacked_model(packages, folder)
        write_pictures(folder / "pictures/train", "train", TRAIN_EACH)
        write_pictures(folder / "pictures/validation", "t10k", TEST_EACH)
        tuned, seconds = train(program, folder, "tuned",
                               ["--model", str(model), "--classes", "auto", "--preprocessing", "scale",
                                "--freeze", "until:flatten_1",
                                "--num-epochs", "20"])
        log = (folder / "tuned/log.txt").read_text()
        assert "features of layer" in log and "pixels are converted" in log, log
        random, random_seconds = train(program, folder, "random",
                                       ["--model", "mobilenet_v2", "--num-epochs", "2"])
        print(f"tuned {tuned:.2%} in {seconds:.1f} s, from random weights {random:.2%} in "
              f"{random_seconds:.1f} s")
        assert seconds < MOST_SECONDS, seconds
        assert tuned > random, (tuned, random)


if __name__ == "__main__":
    main()
