# Opens the page of the server in Chromium: states, numbers, an upload, errors, all looks.
# usage: page_test.py PACKAGES PANDO   (PANDO_SCREENSHOTS=DIR keeps pictures); see tests/browser
# SPDX-License-Identifier: MIT
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from serve_program_test import write_png  # noqa: E402


def write_fashion(folder):
    """Files of Fashion-MNIST whose validation part has three classes: 8 is Bag, 1 Trouser, 5 Sandal."""
    folder.mkdir()
    for part, labels in (("train", [0] * 20), ("t10k", [8, 1, 5])):
        pixels = bytes((37 * i) % 256 for i in range(784 * len(labels)))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, len(labels), 28, 28) + pixels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, len(labels)) + bytes(labels))


def main():
    packages, pando = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_png(folder / "picture.png")
        (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno picture")
        write_fashion(folder / "data")
        made = subprocess.run(
            [pando, "export", "--model", "mnist_cnn", "--export-dir", folder / "mnist", "--dataset-path",
             folder / "data", "--examples", "3"], check=True, capture_output=True, text=True)
        assert "3 example pictures" in made.stdout, made.stdout
        server = subprocess.Popen(
            [pando, "serve", f"mnist={folder}/mnist", "--rest_api_port=-1", "--port=-1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            address = re.search(r"http://\S+", server.stdout.readline())[0]
            browser.run_script(pathlib.Path(__file__).with_name("page_test.js"), packages,
                               [address, folder, server.pid, os.environ.get("PANDO_SCREENSHOTS", "")])
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
