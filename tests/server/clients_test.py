# Clients and tools that others wrote, against a running server: buf curl, h2load, promtool,
# slowhttptest, and a check of the Open Inference Protocol's answers by an OpenAPI validator.
# usage: clients_test.py PANDO PACKAGES   (npm installs into the folder PACKAGES)
# A missing tool is skipped; with PANDO_EXTERNAL=1 that is a failure.
# SPDX-License-Identifier: MIT
import fcntl
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import serve_program_test
from serve_program_test import NESTED, SAMPLE, Server, run

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = {"@bufbuild/buf-linux-x64": "1.50.0", "openapi-response-validator": "12.1.3"}


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def infer_frame():
    """A frame of gRPC with a ModelInferRequest for one picture of mnist."""
    tensor = field(1, INPUT.encode()) + field(2, b"FP32") + field(3, b"".join(map(varint, (1, 28, 28, 1))))
    message = field(1, b"mnist") + field(5, tensor) + field(7, struct.pack("<784f", *SAMPLE))
    return b"\0" + struct.pack(">I", len(message)) + message


INPUT = None  # the name of the model's input


class Clients(unittest.TestCase):
    def setUp(self):
        global INPUT
        self.server = Server(f"mnist={serve_program_test.FOLDER}/mnist")
        self.addCleanup(self.server.__exit__)
        self.grpc = re.search(r"grpc://([\d.:]+)", self.server.line)[1]
        self.address = f"http://127.0.0.1:{self.server.port}"
        described = json.loads(self.server.ask("GET", "/v2/models/mnist")[1])
        INPUT = described["inputs"][0]["name"]

    def need(self, condition, what):
        if condition:
            return
        if os.environ.get("PANDO_EXTERNAL") == "1":
            self.fail(f"{what} is missing")
        self.skipTest(f"needs {what}")

    def packages(self):
        """The folder node_modules. Tests that run at the same time install only once."""
        self.need(shutil.which("npm"), "npm")
        NPM.mkdir(parents=True, exist_ok=True)
        modules = NPM / "node_modules"
        with open(NPM / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not all((modules / name / "package.json").exists() for name in PACKAGES):
                made = subprocess.run(
                    ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(NPM),
                     *(f"{name}@{version}" for name, version in PACKAGES.items())],
                    capture_output=True, text=True, timeout=300)
                self.need(made.returncode == 0, "npm packages: " + made.stderr[-300:])
        return modules

    def answered(self):
        return serve_program_test.ServeProgram.answered(self.server)

    def test_buf_curl_by_reflection(self):
        buf = self.packages() / "@bufbuild/buf-linux-x64/bin/buf"
        shape = {"dim": [{"size": size} for size in (1, 28, 28, 1)]}
        message = {"model_spec": {"name": "mnist"}, "inputs": {
            INPUT: {"dtype": "DT_FLOAT", "tensor_shape": shape, "float_val": [0.25]}}}

        def call(method, data):
            return run(buf, "curl", "--protocol", "grpc", "--http2-prior-knowledge", "-d", json.dumps(data),
                       f"http://{self.grpc}/{method}", env=dict(os.environ, HOME=str(NPM)))

        made = call("tensorflow.serving.PredictionService/Predict", message)
        self.assertEqual(made.returncode, 0, made.stderr)
        (output,) = json.loads(made.stdout)["outputs"].values()
        self.assertAlmostEqual(sum(output["floatVal"]), 1, places=4)
        made = call("grpc.health.v1.Health/Check", {})
        self.assertEqual(json.loads(made.stdout), {"status": "SERVING"}, made.stderr)
        made = call("inference.GRPCInferenceService/ModelMetadata", {"name": "other"})
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("not_found", made.stderr)

    def test_h2load_sees_no_error(self):
        self.need(shutil.which("h2load"), "h2load")
        frame = serve_program_test.FOLDER / "frame"
        frame.write_bytes(infer_frame())
        made = run("h2load", "-n", "400", "-c", "8", "-m", "4", "-d", str(frame),
                   "-H", "content-type: application/grpc", "-H", "te: trailers",
                   f"http://{self.grpc}/inference.GRPCInferenceService/ModelInfer")
        self.assertIn("400 succeeded, 0 failed, 0 errored, 0 timeout", made.stdout, made.stderr)
        self.assertEqual(self.answered(), 400)  # HTTP says 200 for failures of gRPC too

    def test_metrics_are_what_prometheus_reads(self):
        self.need(shutil.which("promtool"), "promtool")
        self.assertEqual(self.server.predict()[0], 200)
        text = self.server.ask("GET", "/metrics")[1].decode()
        made = run("promtool", "check", "metrics", input=text)
        # 3: advice on style, which the names of TensorFlow Serving and Triton do not follow.
        self.assertIn(made.returncode, (0, 3), made.stderr)

    def test_open_api(self):
        modules = self.packages()
        self.need(shutil.which("node"), "node")
        answers = []

        def ask(name, method, path, body=None):
            status, text = self.server.ask(method, path, None if body is None else json.dumps(body))
            answers.append({"name": name, "status": status, "body": json.loads(text or "{}")})

        tensor = {"name": INPUT, "shape": [1, 28, 28, 1], "datatype": "FP32", "data": SAMPLE}
        ask("server", "GET", "/v2")
        ask("live", "GET", "/v2/health/live")
        ask("ready", "GET", "/v2/health/ready")
        ask("ready", "GET", "/v2/models/mnist/versions/1/ready")
        ask("model", "GET", "/v2/models/mnist")
        ask("model", "GET", "/v2/models/mnist/versions/1")
        ask("infer", "POST", "/v2/models/mnist/infer", {"id": "42", "inputs": [tensor]})
        ask("infer", "POST", "/v2/models/mnist/versions/1/infer", {"inputs": [dict(tensor, data=NESTED)]})
        ask("infer", "POST", "/v2/models/mnist/infer", {"inputs": []})
        ask("infer", "POST", "/v2/models/mnist/infer", {"inputs": [dict(tensor, shape=[2, 28, 28, 1])]})
        ask("model", "GET", "/v2/models/other")
        self.assertEqual([answer["status"] for answer in answers], [200] * 8 + [400, 400, 404])
        made = run("node", str(HERE / "open_api_check.js"), str(HERE / "open_inference_answers.json"),
                   input=json.dumps(answers), env=dict(os.environ, NODE_PATH=str(modules)))
        self.assertEqual(made.stdout, f"{len(answers)} answers\n", made.stderr)

    def test_slow_clients_keep_nobody_out(self):
        self.need(shutil.which("slowhttptest"), "slowhttptest")
        slow = subprocess.Popen(
            ["slowhttptest", "-H", "-c", "200", "-r", "200", "-i", "1", "-l", "4", "-u", self.address + "/v2"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            cwd=serve_program_test.FOLDER)
        try:
            while slow.poll() is None:
                self.assertEqual(self.server.predict()[0], 200)
        finally:
            slow.kill()
            slow.wait()


def main():
    global NPM
    serve_program_test.PANDO = sys.argv.pop(1)
    NPM = pathlib.Path(sys.argv.pop(1))
    with tempfile.TemporaryDirectory() as folder:
        serve_program_test.FOLDER = pathlib.Path(folder)
        (pathlib.Path(folder) / "mnist/1").mkdir(parents=True)
        made = run(serve_program_test.PANDO, "export", "--model", "mnist_cnn", "-o",
                   pathlib.Path(folder) / "mnist/1/model.onnx")
        if made.returncode != 0:
            sys.exit(made.stderr)
        unittest.main()


if __name__ == "__main__":
    main()
