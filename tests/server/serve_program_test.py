# Tests the program pando-serve as users and their clients meet it.
# usage: serve_program_test.py PANDO   (pando-serve stands beside it)
# SPDX-License-Identifier: MIT
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

PANDO = None
FOLDER = None  # with mnist/1/model.onnx
SAMPLE = [0.25] * 784
NESTED = [[[0.25] for _ in range(28)] for _ in range(28)]


def write_png(path):
    """A grey picture of 64 x 64 pixels."""
    rows = b"".join(b"\0" + bytes((4 * x + y) % 256 for x in range(64)) for y in range(64))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


class Server:
    """A server that has said that it is ready."""

    def __init__(self, *flags, ready=True, environment=None):
        self.process = subprocess.Popen([PANDO, "serve", "--rest_api_port=-1", "--port=-1", *flags],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **(environment or {})))
        self.line = self.process.stdout.readline()
        found = re.search(r":(\d+)/", self.line)
        self.port = int(found[1]) if found else None
        found = re.search(r"grpc://[^ ]*:(\d+)", self.line)
        self.rpc = int(found[1]) if found else None
        if ready and "ready after" not in self.line:
            self.process.kill()
            raise AssertionError(self.line + self.process.communicate()[1])

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read()

    def predict(self, model="mnist"):
        status, body = self.ask("POST", f"/v1/models/{model}:predict",
                                json.dumps({"instances": [NESTED]}))
        return status, json.loads(body)


def h2_frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def h2_call(stream, path, data, ends=True):
    """The frames of a call over HTTP/2, its headers without compression."""
    def text(value):
        return bytes([len(value)]) + value.encode()

    headers = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "a", "content-type": "application/grpc"}
    block = b"".join(b"\0" + text(name) + text(value) for name, value in headers.items())
    return h2_frame(1, 4, stream, block) + h2_frame(0, 1 if ends else 0, stream, data)


def h2_connection(port):
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(4, 0, 0))
    return client


def h2_receive(stream):
    """Kind and flags of the next frame of a call, from a file of the socket."""
    while True:
        head = stream.read(9)
        if len(head) < 9:
            return None, 0
        stream.read(int.from_bytes(head[:3], "big"))
        if head[5:] != b"\0\0\0\0":
            return head[3], head[4]


class ServeProgram(unittest.TestCase):
    @property
    def model(self):
        return f"mnist={FOLDER}/mnist"

    def test_both_protocols_give_the_same_numbers(self):
        with Server(self.model) as server:
            self.assertIn("mnist (version 1 AVAILABLE)", server.line)
            status, answer = server.predict()
            self.assertEqual(status, 200)
            row = answer["predictions"][0]
            self.assertEqual(len(row), 10)
            self.assertAlmostEqual(sum(row), 1, places=4)
            raw = struct.pack("<784f", *SAMPLE)
            status, body = server.ask("POST", "/v1/models/mnist:predict", raw,
                                      {"Content-Type": "application/octet-stream"})
            self.assertEqual(json.loads(body), answer)
            described = json.loads(server.ask("GET", "/v2/models/mnist")[1])
            head = json.dumps({
                "id": "7", "parameters": {"binary_data_output": True},
                "inputs": [{"name": described["inputs"][0]["name"], "shape": [1, 28, 28, 1],
                            "datatype": "FP32", "parameters": {"binary_data_size": len(raw)}}]})
            status, body = server.ask("POST", "/v2/models/mnist/infer", head.encode() + raw,
                                      {"Inference-Header-Content-Length": str(len(head))})
            self.assertEqual(status, 200, body)
            self.assertEqual(list(struct.unpack("<10f", body[-40:])),
                             [struct.unpack("<f", struct.pack("<f", x))[0] for x in row])
            self.assertEqual(server.stop(), 0)

    def test_takes_pictures(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("needs python3-pil")
        for kind in ("jpeg", "png"):
            Image.new("L", (28, 28), 128).save(FOLDER / f"grey.{kind}")
        with Server(self.model) as server:
            for kind in ("jpeg", "png"):
                picture = (FOLDER / f"grey.{kind}").read_bytes()
                status, body = server.ask("POST", "/v1/models/mnist:predict", picture,
                                          {"Content-Type": f"image/{kind}"})
                self.assertEqual(status, 200, body)
                self.assertEqual(len(json.loads(body)["predictions"][0]), 10)
            broken = picture[:40]
            status, body = server.ask("POST", "/v1/models/mnist:predict", broken,
                                      {"Content-Type": "image/png"})
            self.assertEqual(status, 400, body)

    def test_the_guide(self):
        guide = (pathlib.Path(__file__).resolve().parents[2] / "docs/guide/serving.md").read_text()
        script = re.search(r"serve_program_test.py.*?```sh\n(.*?)```", guide, re.S)[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        script = re.sub(r"^(pando serve .*?) &", rf"\1 --rest_api_port={port} --port=0 &", script, flags=re.M)
        script = script.replace("8501", str(port))
        folder = FOLDER / "guide"
        folder.mkdir()
        write_png(folder / "picture.png")
        (folder / "pando").symlink_to(pathlib.Path(PANDO).resolve())
        result = run("bash", "-euxo", "pipefail", "-c", script, cwd=folder,
                     env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count('"predictions"'), 2, result.stdout)
        self.assertEqual(result.stdout.count("AVAILABLE"), 4, result.stdout)  # said by each server, and answered
        self.check_the_guide_of_grpc(guide, folder)

    def check_the_guide_of_grpc(self, guide, folder):
        try:
            import grpc  # noqa: F401: of a command
        except ImportError:
            if os.environ.get("PANDO_EXTERNAL") == "1":
                raise
            self.skipTest("needs python3-grpcio")
        (folder / "python3").symlink_to(sys.executable)  # which has grpc
        script = re.search(r"serve_program_test.py runs this too.*?```sh\n(.*?)```", guide, re.S)[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        script = re.sub(r"^(pando serve .*?) &", rf"\1 --rest_api_port=-1 --port={port} &", script, flags=re.M)
        script = script.replace("8500", str(port)).replace("--model-name fashion", f"--port {port} --model-name fashion")
        result = run("bash", "-euxo", "pipefail", "-c", script, cwd=folder,
                     env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("SERVING", result.stdout)
        self.assertEqual(len(re.findall(r"^picture\.png .* ms ", result.stdout, re.M)), 2, result.stdout)
        self.assertEqual(result.stdout.count("Average throughput: "), 2, result.stdout)
        self.assertIn("</svg>", (folder / "latency.svg").read_text())

    def test_curl_and_unix_socket(self):
        path = FOLDER / "socket"
        with Server(self.model, f"--unix-socket={path}") as server:
            body = json.dumps({"instances": [NESTED]})
            for place in ([f"http://127.0.0.1:{server.port}"],
                          ["--unix-socket", str(path), "http://x"]):
                answer = run("curl", "-s", "-d", "@-", *place[:-1], place[-1] + "/v1/models/mnist:predict",
                             input=body)
                self.assertIn("predictions", json.loads(answer.stdout))
            packed = subprocess.run(
                f"gzip | curl -s -H Content-Encoding:gzip --data-binary @- "
                f"http://127.0.0.1:{server.port}/v1/models/mnist:predict",
                shell=True, input=body, capture_output=True, text=True)
            self.assertIn("predictions", json.loads(packed.stdout))

    def test_answers_what_it_accepted(self):
        """SIGTERM while many requests are under way."""
        with Server(self.model, "--max-queue-samples=100000") as server:
            body = json.dumps({"instances": [NESTED] * 64})
            connections, statuses = [], []
            for _ in range(100):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                connection.connect()
                connection.request("GET", "/v2/health/live")  # so that it is accepted
                connection.getresponse().read()
                connections.append(connection)
            for connection in connections:
                connection.request("POST", "/v1/models/mnist:predict", body)
            server.process.send_signal(signal.SIGTERM)
            for connection in connections:
                statuses.append(connection.getresponse().status)
            server.process.communicate(timeout=60)
            self.assertEqual(server.process.returncode, 0)
            # Requests that the server had not begun to read when it stopped may be refused.
            self.assertLessEqual(set(statuses), {200, 503})
            self.assertIn(200, statuses)

    def test_is_not_ready_while_it_drains(self):
        with Server(self.model, "--drain-delay=20") as server:
            self.assertEqual(server.ask("GET", "/v2/health/ready")[0], 200)
            server.process.send_signal(signal.SIGTERM)
            for _ in range(100):
                if server.ask("GET", "/v2/health/ready")[0] == 503:
                    break
                time.sleep(0.02)
            self.assertEqual(server.ask("GET", "/v2/health/ready")[0], 503)
            self.assertEqual(server.ask("GET", "/v2/health/live")[0], 200)
            self.assertEqual(server.predict()[0], 200)
            time.sleep(1.1)  # what comes sooner repeats the first signal
            server.process.send_signal(signal.SIGTERM)
            server.process.communicate(timeout=10)
            self.assertEqual(server.process.returncode, 128 + signal.SIGTERM)

    def test_signals_are_heard_while_a_version_loads(self):
        base = FOLDER / "slow"
        made = run(PANDO, "export", "--model", "resnet50", "--export-dir", base)
        self.assertEqual(made.returncode, 0, made.stderr)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [PANDO, "serve", f"slow={base}", f"--rest_api_port={port}", "--port=0", "--max-batch=64"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server = Server.__new__(Server)
        server.process, server.port = process, port
        with server:
            def is_loading():
                return b'"LOADING"' in server.ask("GET", "/v1/models/slow/versions/1")[1]

            for _ in range(2000):
                with contextlib.suppress(ConnectionError):
                    if is_loading():
                        break
                time.sleep(0.005)
            process.send_signal(signal.SIGHUP)
            self.assertIn("again", process.stdout.readline())
            self.assertTrue(is_loading())
            process.send_signal(signal.SIGTERM)
            self.assertIn("answering what was accepted", process.stderr.readline())
            self.assertNotIn("ready after", process.communicate(timeout=60)[0])
            self.assertEqual(process.returncode, 0)

    def test_reads_its_configuration_again(self):
        config = FOLDER / "models.config"
        entry = "config {{ name: '{}' base_path: '%s/mnist' }} " % FOLDER
        config.write_text("model_config_list { " + entry.format("a") + "}")
        with Server(f"--model_config_file={config}") as server:
            self.assertEqual(server.predict("a")[0], 200)
            config.write_text("model_config_list { oh no")
            server.process.send_signal(signal.SIGHUP)
            self.assertIn("stays as it is", server.process.stderr.readline())
            self.assertEqual(server.predict("a")[0], 200)
            config.write_text("model_config_list { " + entry.format("a") + entry.format("b") + "}")
            server.process.send_signal(signal.SIGHUP)
            self.assertIn("again", server.process.stdout.readline())
            for _ in range(200):
                if server.predict("b")[0] == 200:
                    break
                time.sleep(0.05)
            self.assertEqual(server.predict("b")[0], 200)
            self.assertEqual(server.predict("a")[0], 200)

    def test_secrets_and_log(self):
        (FOLDER / "token").write_text("s3cret\n")
        log = FOLDER / "access.log"
        # One thread writes the lines in the order of the requests.
        with Server(self.model, f"--token-file={FOLDER}/token", f"--access-log={log}",
                    "--rest-api-num-threads=1") as server:
            self.assertEqual(server.predict()[0], 401)
            self.assertEqual(server.ask("GET", "/metrics")[0], 401)
            self.assertEqual(server.ask("GET", "/v2/health/ready")[0], 200)
            self.assertEqual(server.ask("GET", "/")[0], 200)
            status, text = server.ask("GET", "/metrics", headers={"Authorization": "Bearer s3cret"})
            self.assertEqual(status, 200)
            self.assertIn(b"process_resident_memory_bytes", text)
            self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([line["status"] for line in lines], [401, 401, 200, 200, 200])
        self.assertNotIn("s3cret", log.read_text())

    def test_limits_log_and_metrics_of_grpc(self):
        log = FOLDER / "calls.log"
        with Server(self.model, f"--access-log={log}", "--header-timeout=0.5", "--idle-timeout=0.5") as server:
            with h2_connection(server.rpc) as client, client.makefile("rb") as stream:
                client.sendall(h2_call(1, "/grpc.health.v1.Health/Check", bytes(5)))
                self.assertEqual([h2_receive(stream) for _ in range(3)], [(1, 4), (0, 0), (1, 5)])
                text = server.ask("GET", "/metrics")[1].decode()
                self.assertIn("pando_grpc_connections 1", text)
                self.assertIn("pando_grpc_open_calls 0", text)
                # It says nothing, is sent a ping, and does not answer that.
            with socket.create_connection(("127.0.0.1", server.rpc), timeout=60) as silent:
                silent.sendall(b"PRI * HT")
                silent.recv(1000)  # the settings of the server
                while silent.recv(1000):
                    pass
            self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        calls = [line for line in lines if "grpc_status" in line]
        self.assertEqual(len(calls), 1, lines)
        self.assertEqual((calls[0]["target"], calls[0]["status"], calls[0]["grpc_status"]),
                         ("/grpc.health.v1.Health/Check", 200, "0"))

    def test_names_never_leave_the_base(self):
        with Server(self.model) as server:
            ways = ["..", "%2e%2e", "..%2f..", "mnist%2f..%2f1", ".", "%2e", "mnist%00", "%c0%ae%c0%ae",
                    "mnist%2f1", "..%5c..", "%252e%252e", "mnist/../mnist", "../../etc/passwd"]
            for way in ways:
                for path in (f"/v1/models/{way}", f"/v1/models/{way}/metadata", f"/v2/models/{way}",
                             f"/v1/models/mnist/labels/{way}", f"/{way}/etc/passwd"):
                    status, body = server.ask("GET", path)
                    self.assertIn(status, (400, 404), path)
                    self.assertNotIn(b"root:", body)

    def test_listens_at_home_and_needs_no_rights(self):
        """As the user nobody, if we are root; no other machine can ask."""
        FOLDER.chmod(0o755)
        other = dict(user=65534, group=65534, extra_groups=[]) if os.getuid() == 0 else {}
        try:
            run(PANDO, "serve", "--version", **other)
        except PermissionError:
            self.skipTest("the user nobody cannot reach the program")
        process = subprocess.Popen([PANDO, "serve", self.model, "--rest_api_port=-1", "--port=-1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **other)
        server = Server.__new__(Server)
        server.process, line = process, process.stdout.readline()
        with server:
            self.assertIn("ready after", line)
            server.port = int(re.search(r"http://127.0.0.1:(\d+)", line)[1])
            self.assertEqual(server.predict()[0], 200)
            rpc = int(re.search(r"grpc://127.0.0.1:(\d+)", line)[1])
            places = [row.split()[1] for name in ("tcp", "tcp6")
                      for row in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]
                      if row.split()[3] == "0A"]  # listening
            for port in (server.port, rpc):
                at = [place for place in places if place.endswith(f":{port:04X}")]
                self.assertEqual(len(at), 1)
                self.assertRegex(at[0], "^0100007F:")  # 127.0.0.1

    def test_wrong_commands(self):
        for flags, code, word in (
                ([], 2, "expected a model"),
                (["x.onnx", "--rest_api_prot=1"], 2, "rest_api_port"),
                (["x.onnx", "--batching_parameters_file=y"], 2, "--enable-batching"),
                (["../x=y"], 2, "name"),
                (["x.onnx", "--token-file=/nowhere"], 2, "--token-file"),
                (["x.onnx", "--address=nowhere"], 2, "nowhere"),
                (["x.onnx", "--access-log=/nowhere/log"], 1, "--access-log")):
            result = run(PANDO, "serve", *flags)
            self.assertEqual(result.returncode, code, flags)
            self.assertIn(word, result.stderr)
        self.assertIn("tensorflow_model_server", run(PANDO, "serve", "--help").stdout)

    def test_packs_answers_for_those_who_ask(self):
        with Server(self.model) as server:
            body = json.dumps({"instances": [NESTED] * 64})
            plain = server.ask("POST", "/v1/models/mnist:predict", body)[1]
            packed = server.ask("POST", "/v1/models/mnist:predict", body, {"Accept-Encoding": "gzip"})[1]
            self.assertLess(len(packed), len(plain) / 2)
            self.assertEqual(zlib.decompress(packed, 31), plain)
            address = f"http://127.0.0.1:{server.port}/"
            page = run("curl", "-s", "--compressed", "-w", "%{size_download}", address).stdout
            self.assertIn("</html>", page)
            self.assertLess(int(page.rsplit("\n", 1)[1]), len(page) / 2)

    def test_lives_on_when_memory_runs_out(self):
        """Clients announce large bodies while hardly any memory is left."""
        with Server(self.model) as server:
            size = int(re.search(r"VmSize:\s+(\d+)", pathlib.Path(
                f"/proc/{server.process.pid}/status").read_text())[1]) * 1024
            limit = size + (150 << 20)
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, limit))
            sockets = []
            for _ in range(12):
                client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
                client.sendall(b"POST /v1/models/mnist:predict HTTP/1.1\r\nHost: x\r\n"
                               b"Content-Length: 30000000\r\n\r\n[")
                sockets.append(client)
            answer = sockets[-1].recv(1000)
            self.assertTrue(answer.startswith(b"HTTP/1.1 503 "), answer)
            self.assertIn(b"Retry-After", answer)
            for client in sockets:
                client.close()
            with h2_connection(server.rpc) as client, client.makefile("rb") as stream:
                announced = b"\0" + struct.pack(">I", 60_000_000) + b"x"
                for i in range(12):
                    client.sendall(h2_call(2 * i + 1, "/tensorflow.serving.PredictionService/Predict", announced, False))
                self.assertEqual(h2_receive(stream), (1, 5))  # a refusal: headers that end the call
            for _ in range(100):  # the server sees soon that they are gone
                if server.predict()[0] == 200:
                    break
                time.sleep(0.05)
            self.assertEqual(server.predict()[0], 200)
            self.assertEqual(server.stop(), 0)

    def test_trace_and_phases(self):
        trace = FOLDER / "trace.json"
        with Server(self.model, f"--trace={trace}") as server:
            for _ in range(3):
                self.assertEqual(server.predict()[0], 200)
            text = server.ask("GET", "/metrics")[1].decode()
            for phase in ("read", "queue", "input", "compute", "output"):
                self.assertIn(f'pando_request_phase_us_count{{model="mnist",phase="{phase}"}} 3', text)
            self.assertEqual(server.stop(), 0)
        names = [event["name"] for event in json.loads(trace.read_text())["traceEvents"]]
        for part in ("input", "compute", "answer"):
            self.assertEqual(names.count(f"mnist {part}"), 3)

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            result = run(PANDO, "serve", self.model, f"--rest_api_port={taken.getsockname()[1]}")
            self.assertEqual(result.returncode, 1)
            self.assertIn("another port", result.stderr)

    def test_grpc_beside_http_and_alone(self):
        try:
            import grpc
        except ImportError:
            if os.environ.get("PANDO_EXTERNAL") == "1":
                raise
            self.skipTest("needs python3-grpcio")
        for flags in ([], ["--rest_api_port=0"]):
            with Server(self.model, *flags) as server:
                place = re.search(r"grpc://([\d.:]+)", server.line)[1]
                with grpc.insecure_channel(place) as channel:
                    check = channel.unary_unary("/grpc.health.v1.Health/Check")
                    while check(b"", timeout=60) != b"\x08\x01":  # follows the models soon
                        time.sleep(0.02)
                self.assertEqual(server.stop(), 0)
        taken = socket.socket()
        with contextlib.closing(taken):
            taken.bind(("127.0.0.1", 0))
            result = run(PANDO, "serve", self.model, "--rest_api_port=-1",
                         f"--port={taken.getsockname()[1]}")
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot listen", result.stderr)

    def test_tells_systemd(self):
        for name in (str(FOLDER / "notify"), "@pando-notify-%d" % os.getpid()):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
                systemd.bind(name.replace("@", "\0"))
                systemd.settimeout(60)
                with Server(self.model, environment={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "100000"}) as server:
                    told = set()
                    while not told >= {"READY=1", "WATCHDOG=1"}:
                        told.add(systemd.recv(1000).decode().splitlines()[0])
                    self.assertEqual(server.stop(), 0)
                    while "STOPPING=1" not in told:
                        told.add(systemd.recv(1000).decode())

    def test_says_how_to_get_the_server(self):
        lonely = FOLDER / "lonely"
        lonely.mkdir()
        shutil.copy(PANDO, lonely / "pando")
        environment = dict(os.environ, LD_LIBRARY_PATH=str(pathlib.Path(PANDO).parent.parent))
        result = run(lonely / "pando", "serve", self.model, env=environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("./pando build serve", result.stderr)

    def test_load_tools_see_no_error(self):
        raw = FOLDER / "sample.raw"
        raw.write_bytes(struct.pack("<784f", *SAMPLE))
        script = FOLDER / "post.lua"
        script.write_text(f'wrk.method = "POST"\nlocal file = io.open("{raw}", "rb")\n'
                          'wrk.body = file:read("*a")\n'
                          'wrk.headers["Content-Type"] = "application/octet-stream"\n')
        tools = [["wrk", "-t1", "-c16", "-d1s", "-s", str(script)],
                 ["hey", "-n", "500", "-c", "16", "-m", "POST", "-D", str(raw), "-T",
                  "application/octet-stream"]]
        tools = [tool for tool in tools if shutil.which(tool[0])]
        if not tools:
            self.skipTest("needs wrk or hey")
        with Server(self.model) as server:
            for tool in tools:
                result = run(*tool, f"http://127.0.0.1:{server.port}/v1/models/mnist:predict")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("Non-2xx", result.stdout)
                self.assertNotIn("Socket errors", result.stdout)
            self.assertGreater(self.answered(server), 100)

    @staticmethod
    def answered(server):
        text = server.ask("GET", "/metrics")[1].decode()
        return float(re.search(r"^nv_inference_request_success\S* (\S+)$", text, re.M)[1])


def main():
    global PANDO, FOLDER
    PANDO = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = pathlib.Path(folder)
        (FOLDER / "mnist/1").mkdir(parents=True)
        made = run(PANDO, "export", "--model", "mnist_cnn", "-o", FOLDER / "mnist/1/model.onnx")
        if made.returncode != 0:
            sys.exit(made.stderr)
        unittest.main()


if __name__ == "__main__":
    main()
