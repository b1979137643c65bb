# SPDX-License-Identifier: MIT
"""Reports of real runs in a browser: a click into the confusion matrix shows pictures, curves zoom, two
runs are compared, names of classes stay text, a long run answers quickly; at two widths, light and
dark. Usage: report_test.py FOLDER_OF_PACKAGES PROGRAM [FOLDER_FOR_SCREENSHOTS]"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

import browser

PROGRAM = sys.argv[2]
HOSTILE = ["<script>alert(1)<", "<img src=x onerror=alert(2)>"]


def pando(*arguments, expected=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode != expected:
        sys.exit(f"pando {' '.join(map(str, arguments))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def train(folder, *arguments):
    return pando("train", "--model", "mnist_cnn", "--weight-updates-per-epoch", "40", "--num-epochs", "2",
                 "--quiet", "--run-dir", folder, *arguments)


def png(path, value):
    """A picture of 28 x 28 random greys around a value."""
    rows = b"".join(b"\0" + bytes(min(255, value + random.randrange(60)) for _ in range(28))
                    for _ in range(28))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def hostile_run(folder):
    """A run whose classes are called like elements of HTML."""
    for part, count in (("train", 40), ("val", 10)):
        for number, name in enumerate(HOSTILE):
            place = folder / "pictures" / part / name
            place.mkdir(parents=True)
            for i in range(count):
                png(place / f"{i}.png", 40 + 120 * number)
    pando("train", "--dataset", "image_folder", "--dataset-path", folder / "pictures", "--model", "cifar_resnet8",
          "--image-size", "32", "--micro-batch-size", "16", "--num-epochs", "1", "--quiet", "--report",
          "--run-dir", folder / "hostile")
    return folder / "hostile/report.html"


def task_runs(folder):
    """Small runs of the tasks that have no confusion matrix."""
    pando("data", "make-shapes", folder / "shapes", "--train", "40", "--validation", "12", "--size", "32")
    pando("train", "--config", "shapes_unet", "--dataset-path", folder / "shapes", "--num-epochs", "1", "--quiet",
          "--report", "--run-dir", folder / "segmentation")
    pando("data", "make-cosmoflow", folder / "volumes", "--train", "8", "--validation", "8")
    pando("train", "--model", "cosmoflow", "--dataset-path", folder / "volumes", "--micro-batch-size", "4",
          "--num-epochs", "1", "--quiet", "--report", "--run-dir", folder / "regression")
    pictures = folder / "tagged"
    pictures.mkdir()
    lines = ["file,tags"]
    for i in range(60):
        png(pictures / f"{i}.png", 180 * (i % 2))
        lines.append(f"{i}.png," + " ".join(tag for tag, is_set in (("bright", i % 2), ("third", i % 3 == 0)) if is_set))
    (pictures / "labels.csv").write_text("\n".join(lines) + "\n")
    pando("train", "--dataset", "image_folder", "--dataset-path", pictures, "--model", "cifar_resnet8",
          "--image-size", "32", "--micro-batch-size", "15", "--validation-split", "0.25", "--num-epochs", "2",
          "--quiet", "--report", "--run-dir", folder / "multilabel")
    return {task: folder / task / "report.html" for task in ("segmentation", "regression", "multilabel")}


def pipeline_run(folder):
    """The report of two stages, each on a device of its own."""
    train(folder / "pipeline", "--pipeline-splits", "conv2d_1", "--gradient-accumulation-count", "3",
          "--micro-batch-size", "16", "--profile", folder / "pipeline/profile", "--report")
    return folder / "pipeline/report.html"


def shared_profile(folder):
    """The report of the first of two runs that wrote their profiles to the same folder."""
    for run in ("earlier", "later"):
        train(folder / run, "--profile", folder / "shared")
    pando("report", folder / "earlier")
    return folder / "earlier/report.html"


def long_run(folder, profiled):
    """A run with 10,000 rows of history and a trace of 20,000 events."""
    run = folder / "long"
    (run / "profile").mkdir(parents=True)
    rows = [{"epoch": i / 100, "step": i, "loss": random.random() / i, "accuracy": 0.5, "learning_rate": 0.1,
             "throughput": 1000 + random.random(), "seconds": float(i),
             "loss_scaling_factor": 2.0 ** (i % 16)} for i in range(1, 10001)]
    (run / "history.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    (run / "run.json").write_text(json.dumps(
        json.loads((profiled / "run.json").read_text()) | {"profile": str(run / "profile")}))
    (run / "profile/train_report.json").write_bytes((profiled / "profile/train_report.json").read_bytes())
    events = [{"ph": "X", "pid": 0, "tid": 1 + i % 4, "name": f"op {i % 37}", "cat": "op", "ts": 10.0 * i,
               "dur": 35.0, "args": {"micro_batch": i % 8}} for i in range(20000)]
    (run / "profile/train_trace.json").write_text(
        '{"traceEvents":[\n' + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "\n]}\n")
    pando("report", run)
    size = (run / "report.html").stat().st_size
    assert size < 15 << 20, size
    return run / "report.html"


def main():
    screenshots = sys.argv[3] if len(sys.argv) > 3 else ""
    browser.find_program("chromium", "chromium-browser", "google-chrome")
    with tempfile.TemporaryDirectory(prefix="report") as name:
        folder = pathlib.Path(name)
        first, second = folder / "first", folder / "second"
        train(first, "--profile", first / "profile", "--report")
        size = (first / "report.html").stat().st_size
        assert size < 3 << 20, size
        train(second, "--learning-rate", "0.05", "--report")
        pando("report", first, second, "-o", folder / "compared.html")
        pages = {"one": first / "report.html", "plain": second / "report.html",
                 "compared": folder / "compared.html", "hostile": hostile_run(folder),
                 "long": long_run(folder, first), "pipeline": pipeline_run(folder),
                 "shared": shared_profile(folder), **task_runs(folder)}
        for page, path in pages.items():
            print(f"{page}: {path.stat().st_size / 1e6:.2f} MB", flush=True)
        browser.run_script(browser.FOLDER / "report_page.js", sys.argv[1],
                           [json.dumps({page: str(path) for page, path in pages.items()}), screenshots])


main()
