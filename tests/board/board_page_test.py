# SPDX-License-Identifier: MIT
"""The page of the board in a headless Chromium, with runs that were trained for it.
Usage: board_page_test.py FOLDER_OF_PACKAGES PANDO; with PANDO_SCREENSHOTS=DIR it leaves pictures."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import browser

QUICK = ["--train-samples", "1000", "--logs-per-epoch", "5", "--quiet"]


def train(pando, folder, *flags):
    return [pando, "train", "--run-dir", str(folder), *QUICK, *flags]


def main():
    packages, pando = map(os.path.abspath, sys.argv[1:])
    browser.find_program("chromium", "chromium-browser", "google-chrome")
    browser.install_packages(packages)
    with tempfile.TemporaryDirectory(prefix="board") as name:
        runs = pathlib.Path(name) / "runs"
        for run, flags in (("slow", ["--learning-rate", "0.01"]), ("quick", ["--learning-rate", "0.1"]),
                           ("<script>alert(1)", ["--epochs", "1"])):
            subprocess.run(train(pando, runs / run, "--epochs", "2", *flags), check=True)
        subprocess.run(train(pando, runs / "failed", "--learning-rate", "1e30"), capture_output=True)
        live = subprocess.Popen(train(pando, runs / "live", "--epochs", "100000", "--validation", "false",
                                      "--ckpts-per-epoch", "1/1000", "--cores-per-device", "1"))
        board = subprocess.Popen([pando, "board", str(runs), "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            address = re.search(r"(http://\S+)/", board.stdout.readline())[1]
            screenshots = os.environ.get("PANDO_SCREENSHOTS")
            browser.run_script(pathlib.Path(__file__).with_name("board_page.js"), packages,
                               [address] + ([screenshots] if screenshots else []))
        finally:
            live.kill()
            board.terminate()
            live.wait()
            board.wait()
        if board.returncode != 0:
            sys.exit(f"the board ended with {board.returncode}")


if __name__ == "__main__":
    main()
