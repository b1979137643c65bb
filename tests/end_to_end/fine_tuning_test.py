# SPDX-License-Identifier: MIT
"""Runs the first commands of docs/guide/fine-tuning.md and the same training from random weights:
a network that was trained on other classes, exported and imported learns better from 1,000
pictures. Usage: fine_tuning_test.py PROGRAM GUIDE [--full] [--figure SVG].

Without --full the network is trained on fewer pictures before, and the best accuracy only has to be
larger. --figure draws the curves of the guide."""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

MOST_SECONDS = 60
TUNING_ONLY = {"--classes": 1, "--freeze": 1, "--unfreeze-after": 1, "--model": 1}


def commands_of(guide):
    """The commands of the first console block; long ones are broken into lines."""
    block = guide.read_text().split("```console\n", 1)[1].split("```", 1)[0]
    lines = block.replace("\\\n> ", "").splitlines()
    return [shlex.split(line[2:]) for line in lines if line.startswith("$ ")]


def run(program, words, folder):
    assert words[0] == "pando", words
    begin = time.monotonic()
    done = subprocess.run([str(program), *words[1:]], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return time.monotonic() - begin


def accuracies(folder, name):
    rows = json.loads((folder / name / "history.json").read_text())
    rows = rows["rows"] if isinstance(rows, dict) else rows
    return [row["val_accuracy"] for row in rows if row.get("val_accuracy") is not None]


def without(words, flags):
    kept, skip = [], 0
    for word in words:
        if skip:
            skip -= 1
        elif word in flags:
            skip = flags[word]
        else:
            kept.append(word)
    return kept


def with_value(words, flag, value):
    words = list(words)
    words[words.index(flag) + 1] = value
    return words


def svg(curves):
    """Curves of accuracy over epochs."""
    width, height, left, top = 640, 320, 56, 16
    right, bottom = width - 170, height - 44
    low = min(min(values) for _, _, values in curves)
    low, high = int(low * 20) / 20, 0.9
    epochs = max(len(values) for _, _, values in curves)

    def place(i, value):
        x = left + (right - left) * i / max(epochs - 1, 1)
        return f"{x:.1f},{bottom - (bottom - top) * (value - low) / (high - low):.1f}"

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for step in range(round((high - low) * 20) + 1):
        value = low + step / 20
        y = place(0, value).split(",")[1]
        lines.append(f'<path d="M{left} {y}H{right}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{float(y) + 4}" text-anchor="end">{value:.0%}</text>')
    for i in range(0, epochs, 2):
        x = place(i, low).split(",")[0]
        lines.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{i + 1}</text>')
    lines.append(f'<text x="{(left + right) / 2}" y="{height - 8}" text-anchor="middle">epoch</text>')
    for number, (name, colour, values) in enumerate(curves):
        points = " ".join(place(i, value) for i, value in enumerate(values))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
                     f'<path d="M{right + 12} {40 + 22 * number}h18" stroke="{colour}" '
                     f'stroke-width="2"/><text x="{right + 36}" y="{44 + 22 * number}">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main():
    program, guide = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    full = "--full" in sys.argv
    base, export, tune = commands_of(guide)
    if not full:
        base = [*base, "--train-samples", "12000"]
        tune = with_value(with_value(tune, "--num-epochs", "10"), "--unfreeze-after", "4")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(program, base, folder)
        run(program, export, folder)
        seconds = run(program, tune, folder)
        run(program, with_value(without(tune, TUNING_ONLY), "--run-dir", "random"), folder)
        tuned, random = accuracies(folder, "tuned"), accuracies(folder, "random")
        print(f"tuned {tuned[-1]:.2%} in {seconds:.1f} s, from random weights {random[-1]:.2%}")
        assert seconds < MOST_SECONDS, seconds
        assert max(tuned) > max(random), (tuned, random)
        if full:
            assert tuned[-1] > random[-1] + 0.01, (tuned[-1], random[-1])
        log = (folder / "tuned" / "log.txt").read_text()
        assert "features of layer" in log and "new classifier" in log, log
        if "--figure" in sys.argv:
            head = with_value(without(tune, {"--unfreeze-after": 1}), "--run-dir", "head")
            run(program, head, folder)
            curves = [("new classifier, then all", "#1a7f37", tuned),
                      ("new classifier only", "#0969da", accuracies(folder, "head")),
                      ("random weights", "#cf222e", random)]
            pathlib.Path(sys.argv[sys.argv.index("--figure") + 1]).write_text(svg(curves))


if __name__ == "__main__":
    main()
