# SPDX-License-Identifier: MIT
"""Runs the first commands of docs/guide/segmentation.md and checks that the network learned to
find the shapes. Usage: segmentation_test.py PROGRAM GUIDE [--full]; without --full, with half
of the pictures, it has to learn less, and nothing is timed."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

FULL_OVERLAP, REDUCED_OVERLAP = 0.9, 0.75
MOST_SECONDS = 60  # of training with all pictures on two cores
PICTURES, FEWER = "--train 1000", "--train 500"


def commands_of(guide):
    """The lines after "$ " of the first console block."""
    block = guide.read_text().split("```console\n", 1)[1].split("```", 1)[0]
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def main():
    program, guide = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    commands, least = commands_of(guide), FULL_OVERLAP
    full = "--full" in sys.argv[3:]
    training = [command for command in commands if command.startswith("pando train ")]
    assert len(training) == 1 and "shapes_unet" in training[0], commands
    if not full:
        least = REDUCED_OVERLAP
        assert any(PICTURES in command for command in commands), commands
        commands = [command.replace(PICTURES, FEWER) for command in commands]
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            assert command.startswith("pando "), command
            words = [str(program), *command.split()[1:]]
            began = time.monotonic()
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
            seconds = time.monotonic() - began
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            if full and command in training:
                print(f"{command}: {seconds:.1f} s", flush=True)
                assert seconds < MOST_SECONDS, f"expected less than {MOST_SECONDS} s"
        run = pathlib.Path(folder) / "found"
        rows = json.loads((run / "history.json").read_text())
        rows = rows["rows"] if isinstance(rows, dict) else rows
        overlap = [row["val_mean_iou"] for row in rows if row.get("val_mean_iou") is not None][-1]
        assert overlap > least, f"mean overlap {overlap}, expected more than {least}"
        report = (run / "segmentation_report.txt").read_text()
        for name in ("background", "circle", "square", "mean IoU"):
            assert name in report, report
        assert (run / "segmentation.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (run / "confusion.svg").read_text()


if __name__ == "__main__":
    main()
