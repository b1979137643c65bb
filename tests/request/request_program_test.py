# Tests `pando request` as users meet it. usage: request_program_test.py PANDO
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "server"))
from serve_program_test import write_png  # noqa: E402

PANDO = str(pathlib.Path(sys.argv.pop(1)).resolve())
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="pando_request_"))
LINES = ("Spawn workers", "Wait for workers", "Sending requests", "All done", "Full time in ms: ",
         "Average throughput: ")


def request(*flags):
    return subprocess.run([PANDO, "request", *flags], capture_output=True, text=True, timeout=200,
                          cwd=FOLDER)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Request(unittest.TestCase):
    def test_exports_serves_asks_and_stops(self):
        figures = FOLDER / "figures.json"
        result = request("--model", "mnist_cnn", "--dataset", "mnist", "--batch-size", "3",
                         "--num-images", "10", "--num-threads", "2", "--port", "-1", "--verbose",
                         "--json", str(figures), "--svg", str(FOLDER / "latency.svg"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for line in LINES:
            self.assertIn(line, result.stdout)
        self.assertIn("Processed num_images * num_threads: 12 * 2 = 24", result.stdout)
        times = [float(time) for time in re.findall(r"^-- Latency for batch: ([\d.]+) ms\.$", result.stdout, re.M)]
        self.assertEqual(len(times), 4)
        # Behind them, what they are together.
        found = re.search(r"^-- Latency of worker 0: avg ([\d.]+) ms, min ([\d.]+) ms, max ([\d.]+) ms\.\nAll done$",
                          result.stdout, re.M)
        average, least, most = map(float, found.groups())
        self.assertEqual((least, most), (min(times), max(times)))
        self.assertAlmostEqual(average, sum(times) / 4, places=2)
        written = json.loads(figures.read_text())
        self.assertEqual((written["answers"], written["samples"]), (8, 24))
        self.assertIn("</svg>", (FOLDER / "latency.svg").read_text())

    def test_all_protocols_ask_an_export(self):
        base = FOLDER / "mnist"
        made = subprocess.run([PANDO, "export", "--model", "mnist_cnn", "--export-dir", str(base)],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(made.returncode, 0, made.stderr)
        for protocol in ("grpc", "rest", "oip", "oip-grpc"):
            result = request("--export-dir", str(base), "--model-name", "m", "--protocol", protocol,
                             "--num-images", "4", "--port", "-1", "--rate", "1000")
            self.assertEqual(result.returncode, 0, protocol + result.stdout + result.stderr)
            self.assertIn("Latency in ms: p50 ", result.stdout)

    def test_the_command_of_the_original(self):
        """Exported for batches of 16, asked with batches of 8, so that the server combines requests."""
        data = FOLDER / "data"
        data.mkdir()
        result = request("--config", "resnet50_infer_bs16", "--dataset-path", str(data), "--batch-size", "8",
                         "--port", str(free_port()), "--num-threads", "3", "--num-images", "8")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("Processed num_images * num_threads: 8 * 3 = 24", result.stdout)

    def test_classifies_pictures_of_folders(self):
        base = FOLDER / "pictures_model"
        made = subprocess.run([PANDO, "export", "--model", "mnist_cnn", "--export-dir", str(base), "--input", "images"],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(made.returncode, 0, made.stderr)
        for name in ("Trouser", "Bag", "holiday"):
            (FOLDER / "pictures" / name).mkdir(parents=True)
            write_png(FOLDER / "pictures" / name / "a.png")
        (FOLDER / "pictures/Bag/broken.png").write_bytes(b"no picture")
        classes = {}
        for protocol in ("grpc", "rest", "oip", "oip-grpc"):
            with self.subTest(protocol):
                classes[protocol] = self.classify(base, protocol)
        self.assertEqual(len(set(classes.values())), 1, classes)

    def classify(self, base, protocol):
        """Returns what the answer says of one picture, without the time."""
        result = request("pictures", "--export-dir", str(base), "--model-name", "m", "--port", "-1", "--top", "2",
                         "--protocol", protocol)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)  # one cannot be read
        lines = {line.split()[0]: line for line in result.stdout.splitlines()}
        self.assertRegex(lines["pictures/Trouser/a.png"], r" Trouser +[\d.]+ ms(  \S+ [\d.]+){2}$")
        self.assertRegex(lines["pictures/holiday/a.png"], r" - +[\d.]+ ms")
        self.assertIn("failed: INVALID_ARGUMENT", lines["pictures/Bag/broken.png"])
        # The class with the highest probability stands first behind the time.
        right = sum(lines[f"pictures/{name}/a.png"].split(" ms", 1)[1].split()[0] == name for name in ("Trouser", "Bag"))
        self.assertIn(f"Right: {right} of 2 pictures", lines["Right:"])
        return lines["pictures/Bag/a.png"].split(" ms", 1)[1]

    def test_says_what_it_ignores(self):
        result = request("--host", "127.0.0.1", "--port", "1", "--timeout", "0.5", "--use-async")
        self.assertEqual(result.stdout.count("warning: --use-async is ignored: "), 1, result.stdout)

    def test_gives_up_in_time(self):
        """A server that accepts connections and says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            begin = time.monotonic()
            result = request("--host", "127.0.0.1", "--port", str(silent.getsockname()[1]), "--timeout", "0.5")
            self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(result.returncode, 1)
        self.assertIn("DEADLINE_EXCEEDED", result.stderr)

    def test_leaves_nothing_after_a_signal(self):
        """While it sends: its scratch folder and its server go with it."""
        for number in (signal.SIGINT, signal.SIGTERM):
            scratch = FOLDER / f"scratch-{number}"
            scratch.mkdir()
            process = subprocess.Popen([PANDO, "request", "--model", "mnist_cnn", "--num-images", "100000000",
                                        "--port", "-1"], stdout=subprocess.PIPE, text=True, cwd=FOLDER,
                                       env=dict(os.environ, TMPDIR=str(scratch)))
            for line in process.stdout:
                if line.startswith("Sending requests"):
                    break
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            self.assertEqual((len(list(scratch.iterdir())), len(children)), (1, 1))
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=60), 128 + number)
            process.stdout.close()
            self.assertEqual(list(scratch.iterdir()), [])
            self.wait_for_the_end_of(children[0])  # answers what it accepted before it ends

    def wait_for_the_end_of(self, process):
        """Where nobody collects orphans, an ended process stays as a zombie."""
        end = time.monotonic() + 60
        state = pathlib.Path(f"/proc/{process}/stat")
        while state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] != "Z":
            self.assertLess(time.monotonic(), end, "the server goes on")
            time.sleep(0.02)

    def test_ignored_signals_stay_ignored(self):
        """nohup: the request goes on after SIGHUP, and SIGTERM still ends it."""
        process = subprocess.Popen([PANDO, "request", "--model", "mnist_cnn", "--num-images", "100000000",
                                    "--port", "-1"], stdout=subprocess.PIPE, text=True, cwd=FOLDER,
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        for line in process.stdout:
            if line.startswith("Sending requests"):
                break
        process.send_signal(signal.SIGHUP)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGTERM)
        process.stdout.close()

    def test_ends_where_signals_are_ignored(self):
        result = subprocess.run([PANDO, "request", "--model", "mnist_cnn", "--num-images", "4", "--port", "-1"],
                                capture_output=True, text=True, timeout=100, cwd=FOLDER,
                                preexec_fn=lambda: [signal.signal(ignored, signal.SIG_IGN)
                                                    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_says_what_is_wrong(self):
        result = request("--host", "127.0.0.1", "--port", "1", "--timeout", "0.5")
        self.assertEqual(result.returncode, 1)
        self.assertIn("127.0.0.1:1", result.stderr)
        result = request("--protocol", "soap")
        self.assertEqual(result.returncode, 2)
        self.assertIn("oip-grpc", result.stderr)
        self.assertIn("--num-threads", request("--help").stdout)


if __name__ == "__main__":
    unittest.main()
