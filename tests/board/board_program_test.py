# Tests the program pando-board as users and browsers meet it.
# usage: board_program_test.py PANDO   (pando-board stands beside it)
# SPDX-License-Identifier: MIT
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PANDO = None
QUICK = ["--synthetic-data", "host", "--weight-updates-per-epoch", "10", "--validation", "false", "--quiet"]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def train(folder, *flags):
    return subprocess.Popen([PANDO, "train", "--run-dir", str(folder), *QUICK, *flags],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write_run(folder, state="done", rows=2, **facts):
    folder.mkdir(parents=True)
    (folder / "config.yml").write_text("model: mnist_cnn\n")
    (folder / "summary.json").write_text(json.dumps(
        {"version": 1, "state": state, "model": "mnist_cnn", "points": [1, 0.5], **facts}))
    append_rows(folder, 1, rows, [])


def append_rows(folder, first, last, earlier):
    """As the program does it: the rows after those that are there, then the end of the array."""
    lines = earlier + [json.dumps({"epoch": step / 10, "step": step, "loss": 1 / step})
                       for step in range(first, last + 1)]
    with open(folder / "history.json", "r+" if earlier else "w") as file:
        file.write("[\n" + ",\n".join(lines) + "\n]\n")
    return lines


class Board:
    """A board that has said where it listens."""

    def __init__(self, *arguments, cwd=None):
        self.process = subprocess.Popen([PANDO, "board", *map(str, arguments)], cwd=cwd, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.line = self.process.stdout.readline()
        found = re.search(r"http://\S+:(\d+)/", self.line)
        if not found:
            raise AssertionError(self.line + self.process.communicate()[1])
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, number):
        self.process.send_signal(number)
        self.process.communicate(timeout=30)
        return self.process.returncode

    def ask(self, path, method="GET", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.read()

    def runs(self):
        return {entry["name"]: entry for entry in json.loads(self.ask("/api/runs")[1])["runs"]}

    def wait_for_state(self, name, state):
        for _ in range(600):
            if self.runs().get(name, {}).get("state") == state:
                return
            time.sleep(0.1)
        raise AssertionError(f"waited for {name} to be {state}: {self.runs().get(name)}")

    @contextlib.contextmanager
    def events(self, query):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", "/api/events?" + query)
            response = connection.getresponse()
            yield response

    @staticmethod
    def next_event(response):
        """The name and the data of the next event."""
        name = None
        while True:
            line = response.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                return name, json.loads(line[6:])


class BoardProgram(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="board"))
        self.runs = self.folder / "runs"
        self.runs.mkdir()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def contents(self):
        """Whatever changes if somebody writes into the runs."""
        return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size, path.lstat().st_ino)
                for path in [self.runs, *self.runs.rglob("*")]}

    def test_curl(self):
        write_run(self.runs / "a")
        write_run(self.runs / "sweep" / "<b> &c", best={"value": 0.5, "epoch": 1})
        before = self.contents()
        with Board(self.runs, "--port", "0") as board:
            self.assertIn("2 runs", board.line)
            place = f"http://127.0.0.1:{board.port}"
            self.assertIn("<title>Runs", run("curl", "-sf", place + "/").stdout)
            runs = json.loads(run("curl", "-sf", place + "/api/runs").stdout)["runs"]
            self.assertEqual([entry["name"] for entry in runs], ["a", "sweep/<b> &c"])
            both = "&".join("run=" + entry["id"] for entry in runs)
            opened = json.loads(run("curl", "-sf", f"{place}/api/open?{both}").stdout)
            self.assertEqual(len(opened["charts"][0]["curves"]), 2)
            report = run("curl", "-sf", f"{place}/report?{both}").stdout
            self.assertIn("<!DOCTYPE html>", report)
            self.assertNotIn("<b>", report)
            events = run("curl", "-sN", "--max-time", "1", f"{place}/api/events?version=0").stdout
            self.assertIn("event: runs", events)
            self.assertEqual(board.end(signal.SIGTERM), 0)
        self.assertEqual(self.contents(), before)

    def test_live_rows_and_folders_that_vanish(self):
        write_run(self.runs / "a", rows=0)
        lines = append_rows(self.runs / "a", 1, 2, [])
        with Board(self.runs, "--port", "0") as board:
            version = json.loads(board.ask("/api/runs")[1])["version"]
            mark = json.loads(board.ask("/api/open?run=a")[1])["marks"][0]
            with board.events(f"version={version}&run=a&mark={mark}") as stream:
                lines = append_rows(self.runs / "a", 3, 4, lines)
                name, data = board.next_event(stream)
                self.assertEqual((name, data["charts"][0]["curves"][0]["x"]["step"]), ("rows", [3, 4]))
                with open(self.runs / "a" / "history.json", "r+") as file:  # a write that is cut off
                    file.seek(len("[\n" + ",\n".join(lines)))
                    file.write(',\n{"epoch": 0.5, "st')
                write_run(self.runs / "b")
                name, data = board.next_event(stream)
                self.assertEqual((name, [entry["name"] for entry in data["changed"]]), ("runs", ["b"]))
                append_rows(self.runs / "a", 5, 5, lines)
                name, data = board.next_event(stream)
                self.assertEqual((name, data["charts"][0]["curves"][0]["x"]["step"]), ("rows", [5]))
                shutil.rmtree(self.runs / "a")
                name, data = board.next_event(stream)
                self.assertEqual((name, data["removed"]), ("runs", ["a"]))
                self.assertEqual(board.ask("/report?run=a")[0], 404)
                self.runs.rename(self.folder / "away")
                name, data = board.next_event(stream)
                self.assertEqual((name, data["removed"]), ("runs", ["b"]))
                self.assertIn("no folder", data["problem"])
                (self.folder / "away").rename(self.runs)
                self.assertEqual([entry["name"] for entry in board.next_event(stream)[1]["changed"]], ["b"])
                self.assertEqual(board.end(signal.SIGINT), 0)  # also while a page is open

    def test_states_of_real_runs(self):
        with Board(self.runs, "--port", "0") as board:
            ended = {"done": train(self.runs / "done", "--epochs", "1"),
                     "failed": train(self.runs / "failed", "--epochs", "50", "--learning-rate", "1e30")}
            endless = {state: train(self.runs / state, "--epochs", "100000", "--ckpts-per-epoch", "1/1000")
                       for state in ("killed", "stopped")}
            for state in endless:
                board.wait_for_state(state, "running")
            endless["killed"].kill()
            endless["stopped"].terminate()
            for state in [*ended, *endless]:
                board.wait_for_state(state, state)
            for process in [*ended.values(), *endless.values()]:
                process.wait(timeout=60)

    def test_a_thousand_runs_open_in_a_second(self):
        for i in range(1000):
            write_run(self.runs / f"run{i}", best={"value": i / 1000, "epoch": 1},
                      points=[1 / (k + 1) for k in range(64)])
        with Board(self.runs, "--port", "0") as board:
            begin = time.monotonic()
            status, page = board.ask("/")
            listed = board.ask("/api/runs")[1]
            took = time.monotonic() - begin
        self.assertEqual(status, 200)
        self.assertIn(b"<title>Runs", page)
        self.assertEqual(len(json.loads(listed)["runs"]), 1000)
        self.assertLess(took, 1)
        print(f"a list of 1,000 runs opens in {1e3 * took:.0f} ms", flush=True)

    def test_needs_no_grpc(self):
        board = str(pathlib.Path(PANDO).with_name("pando-board"))
        own, all_of_them = run("readelf", "-d", board).stdout, run("ldd", board).stdout
        self.assertIn("libc.so", own)
        self.assertIn("libc.so", all_of_them)
        self.assertNotIn("nghttp2", own)  # libcurl has it
        for name in ("grpc", "protobuf"):
            self.assertNotIn(name, all_of_them)

    def test_only_this_machine_and_only_reading(self):
        write_run(self.runs / "a")
        with Board(self.runs, "--port", "0") as board:
            for host in ("evil.example", f"evil.example:{board.port}", "127.0.0.1.evil.example"):
                for path in ("/", "/api/runs", "/api/open?run=a", "/api/events", "/report?run=a"):
                    self.assertEqual(board.ask(path, headers={"Host": host})[0], 403, (host, path))
            for host in ("localhost", "localhost:9000", "127.0.0.1", "[::1]:80"):
                self.assertEqual(board.ask("/api/runs", headers={"Host": host})[0], 200, host)
            for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
                self.assertEqual(board.ask("/api/runs", method)[0], 405)
            for way in ("..", "%2e%2e", "../../etc", "..%2f..%2fetc", "%2fetc", "a%2f..", "a%2f..%2fa",
                        ".%2fa", "a%00", "a%2f"):
                for path in (f"/report?run={way}", f"/api/open?run={way}", f"/{way}/passwd"):
                    status, body = board.ask(path)
                    self.assertIn(status, (400, 404), path)
                    self.assertNotIn(b"root:", body)
            listening = run("ss", "-ltnH", "sport", "=", f":{board.port}").stdout
            if listening:
                self.assertIn(f"127.0.0.1:{board.port}", listening)
        with Board(self.runs, "--port", "0", "--allow-host", "box.example") as board:
            self.assertEqual(board.ask("/", headers={"Host": "box.example"})[0], 200)
        with Board(self.runs, "--port", "0", "--address", "0.0.0.0") as board:
            self.assertIn("everybody", board.process.stderr.readline())

    def test_links_out_of_the_folder(self):
        write_run(self.folder / "elsewhere")
        (self.runs / "link").symlink_to(self.folder / "elsewhere")
        write_run(self.runs / "a")
        (self.runs / "a" / "log.txt").symlink_to("/etc/passwd")
        with Board(self.runs, "--port", "0") as board:
            self.assertEqual(list(board.runs()), ["a"])
            status, body = board.ask("/report?run=a")
            self.assertEqual(status, 404)
            self.assertIn(b"link out of the folder", body)

    def test_folders_and_ports(self):
        result = run(PANDO, "board", self.folder / "nowhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("not there", result.stderr)
        result = run(PANDO, "board", __file__)
        self.assertEqual(result.returncode, 2)
        self.assertIn("a file", result.stderr)
        empty = self.folder / "empty"
        empty.mkdir()
        with Board("--port", "0", cwd=empty) as board:  # before the first run
            self.assertIn("0 runs in 'runs'", board.line)
            write_run(empty / "runs" / "first")
            self.assertEqual(list(board.runs()), ["first"])
        with Board(self.runs) as first, Board(self.runs) as second:
            self.assertNotEqual(first.port, second.port)
            result = run(PANDO, "board", self.runs, "--port", str(first.port))
            self.assertEqual(result.returncode, 1)
            self.assertIn("another port", result.stderr)

    def test_wrong_commands(self):
        for flags, word in ((["--prot", "1"], "--port"), (["--port", "70000"], "65535"),
                            (["a", "b"], "b"), (["--address", "nowhere"], "nowhere")):
            result = run(PANDO, "board", *flags, cwd=self.folder)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(word, result.stderr)
        self.assertIn("usage: pando board", run(PANDO, "board", "--help").stdout)

    def test_says_how_to_get_the_board(self):
        shutil.copy(PANDO, self.folder / "pando")
        environment = dict(os.environ, LD_LIBRARY_PATH=str(pathlib.Path(PANDO).parent.parent))
        result = run(self.folder / "pando", "board", self.runs, env=environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("./pando build board", result.stderr)

    def test_the_guide(self):
        guide = (pathlib.Path(__file__).resolve().parents[2] / "docs/guide/board.md").read_text()
        script = re.search(r"board_program_test.py.*?```sh\n(.*?)```", guide, re.S)[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        script = script.replace("pando board &", f"pando board --port {port} &").replace("8088", str(port))
        self.assertIn(str(port), script)
        (self.folder / "pando").symlink_to(pathlib.Path(PANDO).resolve())
        result = run("bash", "-euxo", "pipefail", "-c", script, cwd=self.folder,
                     env=dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("slow", result.stdout)


if __name__ == "__main__":
    PANDO = os.path.abspath(sys.argv.pop(1))
    unittest.main()
