# Opens the page of the server in Chromium: states, numbers, an upload, errors, all looks.
# usage: page_test.py PACKAGES PANDO   (PANDO_SCREENSHOTS=DIR keeps pictures); see tests/browser
# SPDX-License-Identifier: MIT
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from serve_program_test import write_png  # noqa: E402


def main():
    packages, pando = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_png(folder / "picture.png")
        (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno picture")
        subprocess.run([pando, "export", "--model", "mnist_cnn", "-o", folder / "mnist.onnx"], check=True,
                       capture_output=True)
        server = subprocess.Popen(
            [pando, "serve", f"mnist={folder}/mnist.onnx", "--rest_api_port=-1", "--port=-1"],
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
