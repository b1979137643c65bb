# Opens the page of the server in Chromium: states, numbers, an upload, the width of a phone, dark.
# usage: page_test.py PANDO   (PANDO_SCREENSHOTS=DIR keeps pictures); 77: there is no Chromium
# SPDX-License-Identifier: MIT
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from serve_program_test import write_png

PANDO = None
FOLDER = None


class Chromium:
    """Chromium without a window, by its debugging protocol over pipes: JSON that ends with a zero."""

    def __init__(self, profile):
        to_read, own_write = os.pipe()
        own_read, to_write = os.pipe()

        def give_pipes():
            os.dup2(to_read, 103)  # not over one that is still needed
            os.dup2(to_write, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=give_pipes)
        os.close(to_read)
        os.close(to_write)
        self.input, self.output = os.fdopen(own_write, "wb", 0), os.fdopen(own_read, "rb", 0)
        self.number, self.rest, self.session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.problems = []
        self.call("Runtime.enable")
        self.call("Page.enable")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.input.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = self.output.read(1 << 16)
                if not part:
                    raise AssertionError("Chromium has ended")
                self.rest += part
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("method") == "Runtime.exceptionThrown":
                self.problems.append(answer["params"])
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                         returnByValue=True)["result"].get("value")

    def wait_for(self, expression, what):
        for _ in range(300):
            if self.value(f"Boolean({expression})"):
                return
            time.sleep(0.1)
        raise AssertionError(f"waited for {what}; the page says: "
                             + str(self.value("document.body.innerText")))

    def picture(self, name):
        folder = os.environ.get("PANDO_SCREENSHOTS")
        data = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        if folder:
            (pathlib.Path(folder) / f"{name}.png").write_bytes(data)
        return data

    def show(self, width, height, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def close(self):
        self.process.kill()
        self.process.wait()
        self.input.close()
        self.output.close()


class Page(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen(
            [PANDO, "serve", f"mnist={FOLDER}/mnist.onnx", "--rest_api_port=-1", "--port=-1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = re.search(r"http://\S+", self.server.stdout.readline())[0]
        self.browser = Chromium(FOLDER / "profile")

    def tearDown(self):
        self.browser.close()
        self.server.kill()
        self.server.communicate()

    def test_page(self):
        page = self.browser
        page.show(1000, 900, dark=False)
        page.call("Page.navigate", url=self.address)
        page.wait_for("document.getElementById('state').textContent === 'ready'", "ready")
        page.wait_for("document.querySelector('.numbers b')", "numbers")
        self.assertIn("version 1", page.value("document.querySelector('section').innerText"))
        self.upload(page, FOLDER / "picture.png")
        page.wait_for("document.querySelectorAll('.bar').length === 10", "ten bars")
        self.assertRegex(page.value("document.querySelector('.bars').innerText"), r"answered in [\d.]+ ms")
        self.assertIn("--data-binary @picture.png", page.value("document.querySelector('pre').innerText"))
        self.assertIn("Trouser", page.value("document.querySelector('.bars').innerText"))
        page.picture("wide")
        page.wait_for("[...document.querySelectorAll('.numbers div')].some("
                      "(e) => e.innerText.startsWith('1') && e.innerText.includes('answered'))", "the count")
        light = page.value("getComputedStyle(document.body).backgroundColor")
        page.show(360, 780, dark=True)
        self.assertNotEqual(page.value("getComputedStyle(document.body).backgroundColor"), light)
        self.assertLessEqual(page.value("document.documentElement.scrollWidth"), 360)
        page.picture("phone")
        (FOLDER / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno picture")
        self.upload(page, FOLDER / "broken.png")
        page.wait_for("document.querySelector('.bars .bad')", "an error")
        self.server.kill()
        page.wait_for("document.getElementById('state').textContent.includes('does not answer')",
                      "the end of the server")
        self.assertEqual(page.problems, [])

    @staticmethod
    def upload(page, path):
        root = page.call("DOM.getDocument")["root"]["nodeId"]
        node = page.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
        page.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])


def main():
    global PANDO, FOLDER
    PANDO = sys.argv.pop(1)
    if not shutil.which("chromium"):
        print("needs chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        FOLDER = pathlib.Path(folder)
        write_png(FOLDER / "picture.png")
        subprocess.run([PANDO, "export", "--model", "mnist_cnn", "-o", FOLDER / "mnist.onnx"], check=True,
                       capture_output=True)
        unittest.main()


if __name__ == "__main__":
    main()
