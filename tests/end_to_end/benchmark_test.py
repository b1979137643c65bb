"""Runs `pando benchmark` as users do. A file of benchmarks in the form of the original, with all of
its keys, runs unchanged on scripts that print what the original's print; JSON, CSV and XML are
compared with expected ones. Then signals: what is measured is kept, and no process stays behind.
Usage: benchmark_test.py PROGRAM."""
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])

SPEC = r"""---
common_options: &common_options
  location: app
  requirements_path: requirements.txt
  data:
    throughput:
      reduction_type: 'mean'
      regexp: 'throughput: *(.*?) samples\/sec'
      skip: 2
    accuracy:
      reduction_type: 'final'
      regexp: 'accuracy: *(.*?) \%'
      skip: 1
    loss:
      reduction_type: 'final'
      regexp: 'loss: *(\d*\.\d*)'
      skip: 1
  output:
    - [samples/sec, 'throughput']
    - [accuracy, 'accuracy']

tf2_resnet50_train_real_pod4:
  <<: *common_options
  description: |
    ResNet50 training on 4 devices
  env:
    CACHE: "1"
  derived:
    per_device:
      expr: '{throughput} / 4'
  cmd: >-
    python3 train.py
        --config resnet50_mlperf_pod4_bs20
        --dataset-path $DATASETS_DIR/imagenet-data
        --wandb --wandb-tags a b

tf2_resnet50_train_real_pod16:
  <<: *common_options
  timeout: 600
  cmd: >-
    mpirun --np 4 python3 train.py --fail

tf2_resnet50_train_real_pod16_conv:
  <<: *common_options
  cmd: python3 train.py

tf2_resnet50_serving_throughput:
  location: app
  parameters:
    batchsize: '1,32'
  cmd: python3 send_request.py --batch-size {batchsize} --threads 2
  data:
    throughput:
      regexp: 'throughput: *(.*?) samples\/sec'

tf2_resnet50_serving_latency:
  location: app
  parameters:
    - [batchsize, threads]
    - [1, 2]
  cmd: python3 send_request.py --batch-size {batchsize} --threads {threads} --verbose
  data:
    latency:
      reduction_type: 'mean'
      regexp: 'Latency for batch: *(.*?) ms'
      skip: 20
"""

TRAIN = r"""import os, sys
if "--fail" in sys.argv:
    sys.exit("no devices")
assert not any("wandb" in word for word in sys.argv), sys.argv
assert sys.argv[-1].endswith("/imagenet-data") and os.environ["CACHE"] == "1"
print("compilation time: 2.25 s")
for batch, rate in enumerate([10, 50, 400, 500]):
    print(f"batch {batch}: ['loss: {4 - batch}.5 ', 'accuracy: {20 + batch}.25 %', "
          f"'throughput: {rate}.0 samples/sec']")
"""

SEND = r"""import sys
size = int(sys.argv[2])
if "--verbose" in sys.argv:
    for i in range(24):
        print(f"-- Latency for batch: {1000 if i < 20 else i} ms.", file=sys.stderr)
print(f"Average throughput: {100 * size + 0.5} samples/sec")
"""

CSV = """"benchmark name","Variant name","throughput","latency","total_compiling_time"
"tf2_resnet50_train_real_pod4","tf2_resnet50_train_real_pod4","450.0","","2.25"
"tf2_resnet50_train_real_pod16","tf2_resnet50_train_real_pod16","","",""
"tf2_resnet50_serving_throughput","tf2_resnet50_serving_throughput_batchsize_1","100.5","",""
"tf2_resnet50_serving_throughput","tf2_resnet50_serving_throughput_batchsize_32","3200.5","",""
"tf2_resnet50_serving_latency","tf2_resnet50_serving_latency_batchsize_1_threads_2","","21.5",""
"""

XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" skipped="0" time="T">
  <testsuite name="tf2_resnet50_train_real_pod4" tests="1" failures="0" skipped="0" time="T">
    <testcase classname="tf2_resnet50_train_real_pod4" name="tf2_resnet50_train_real_pod4" time="T">
      <properties>
        <property name="throughput.mean" value="450.0"/>
        <property name="accuracy.final" value="23.25"/>
        <property name="loss.final" value="1.5"/>
        <property name="per_device.mean" value="112.5"/>
        <property name="total_compiling_time.mean" value="2.25"/>
      </properties>
    </testcase>
  </testsuite>
  <testsuite name="tf2_resnet50_train_real_pod16" tests="1" failures="1" skipped="0" time="T">
    <testcase classname="tf2_resnet50_train_real_pod16" name="tf2_resnet50_train_real_pod16" time="T">
      <failure message="ended with exit code 1">no devices
</failure>
    </testcase>
  </testsuite>
  <testsuite name="tf2_resnet50_serving_throughput" tests="2" failures="0" skipped="0" time="T">
    <testcase classname="tf2_resnet50_serving_throughput" name="tf2_resnet50_serving_throughput_batchsize_1" time="T">
      <properties>
        <property name="throughput.mean" value="100.5"/>
      </properties>
    </testcase>
    <testcase classname="tf2_resnet50_serving_throughput" name="tf2_resnet50_serving_throughput_batchsize_32" time="T">
      <properties>
        <property name="throughput.mean" value="3200.5"/>
      </properties>
    </testcase>
  </testsuite>
  <testsuite name="tf2_resnet50_serving_latency" tests="1" failures="0" skipped="0" time="T">
    <testcase classname="tf2_resnet50_serving_latency" name="tf2_resnet50_serving_latency_batchsize_1_threads_2" time="T">
      <properties>
        <property name="latency.mean" value="21.5"/>
      </properties>
    </testcase>
  </testsuite>
</testsuites>
"""

# benchmark_results.json without what changes from run to run; FOLDER is the folder of the test.
EXPECTED = pathlib.Path(__file__).with_name("benchmark_results.json")
# What the original writes for each variant; the other keys are ours.
KEYS = {"benchmark_name", "benchmark_path", "command", "compilation_end_time", "end_time", "exitcode", "params",
        "results", "start_time", "test_duration", "variant_name"}
OURS = pathlib.Path(__file__).parents[2] / "configs/benchmarks.yml"
# An mpirun that needs no MPI: --np N COMMAND.
MPIRUN = "#!/bin/sh\nshift 2\nexec \"$@\"\n"


class BenchmarkTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name).resolve()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def start(self, *flags, **options):
        environment = {**os.environ, "DATASETS_DIR": "/data",
                       "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        return subprocess.Popen([PROGRAM, "benchmark", "--log-dir", "log", *flags], text=True,
                                cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def run_to_end(self, *flags):
        process = self.start(*flags)
        out, err = process.communicate(timeout=100)
        return process.returncode, out, err

    def log(self, name):
        return (self.folder / "log" / name).read_text()

    def write_original(self):
        self.write("benchmarks.yml", SPEC)
        self.write("app/train.py", TRAIN)
        self.write("app/send_request.py", SEND)
        self.write("bin/mpirun", MPIRUN).chmod(0o755)

    def steady(self, variant):
        """The variant without times, machine and repository, which are checked here."""
        self.assertEqual(list(variant), sorted(variant))
        self.assertLessEqual(KEYS, set(variant))
        for key in ("start_time", "end_time"):
            self.assertRegex(variant.pop(key), r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$")
        self.assertGreater(float(variant.pop("test_duration")), 0)
        self.assertGreater(variant.pop("machine")["cores"], 0)
        self.assertIsInstance(variant.pop("git_commit_hash"), str)
        variant["notes"] = [note for note in variant["notes"] if not note.startswith("disturbed")]
        for repetition in variant["repetitions"]:
            self.assertGreater(repetition.pop("seconds"), 0)
            self.assertGreaterEqual(repetition.pop("other_cores"), 0)
        return json.loads(json.dumps(variant).replace(str(self.folder), "FOLDER"))

    def test_a_file_of_the_original_runs_unchanged(self):
        self.write_original()
        code, out, err = self.run_to_end()
        self.assertEqual(code, 1, err)
        for line in ("PASSED tf2_resnet50_train_real_pod4::tf2_resnet50_train_real_pod4",
                     "FAILED tf2_resnet50_train_real_pod16::tf2_resnet50_train_real_pod16 - ended",
                     "================ 1 failed, 4 passed ==============="):
            self.assertIn(line, out)
        self.assertNotIn("_conv", out)
        results = json.loads(self.log("benchmark_results.json"))
        self.assertEqual(list(results), sorted(results))
        self.maxDiff = None
        self.assertTrue(self.log("benchmark_results.json").startswith('{\n  "tf2_resnet50_serving_latency": [\n    {\n'))
        variant = json.loads(self.log("tf2_resnet50_serving_latency_batchsize_1_threads_2/variant_result.json"))
        self.assertEqual(variant, results["tf2_resnet50_serving_latency"][0])
        steady = {name: [self.steady(one) for one in variants] for name, variants in results.items()}
        self.assertEqual(steady, json.loads(EXPECTED.read_text()))
        self.assertEqual(self.log("benchmark_results.csv"), CSV)
        rows = list(csv.reader(self.log("benchmark_results.csv").splitlines()))
        self.assertEqual({len(row) for row in rows}, {5})
        self.assertEqual(re.sub(r'time="[\d.]+"', 'time="T"', self.log("benchmark_results.xml")), XML)

    def test_more_columns(self):
        self.write_original()
        self.run_to_end("--benchmark", "tf2_resnet50_train_real_pod4", "--additional-metrics", "--csv-metrics",
                        "accuracy", "per_device")
        head, row = csv.reader(self.log("benchmark_results.csv").splitlines())
        self.assertEqual(head, ["benchmark name", "Variant name", "throughput", "latency", "total_compiling_time",
                                "test_duration", "loss", "result", "cmd", "env", "git_commit_hash", "accuracy",
                                "per_device"])
        self.assertEqual([row[0], row[2], *row[6:8], row[9], *row[11:]],
                         ["tf2_resnet50_train_real_pod4", "450.0", "1.5", "PASSED", '{"CACHE":"1"}', "23.25", "112.5"])

    def test_logs_go_to_a_folder_with_the_time(self):
        self.write("benchmarks.yml", "a_gen: {cmd: echo pando train}\n")
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("POPLAR_SDK_ENABLED", "VIRTUAL_ENV", "DATASETS_DIR")}
        subprocess.run([PROGRAM, "benchmark", "--profile"], cwd=self.folder, env=environment, check=True,
                       stdout=subprocess.PIPE)
        (log,) = self.folder.glob("log_*")
        self.assertRegex(log.name, r"^log_\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d\.\d{6}$")
        self.assertEqual((log / "a_gen/stdout.log").read_text(), f"pando train --profile {log}/a_gen/a_gen_profile\n")
        self.assertIn("PASSED a_gen::a_gen", (log / "console.log").read_text())

    def test_the_original_multiplies_the_throughput_of_mpirun(self):
        self.write_original()
        self.write("b.yml", SPEC.replace(" --fail", " /imagenet-data").replace(
            "  timeout: 600\n", "  env: {CACHE: '1'}\n"))
        code, out, err = self.run_to_end("--spec", "b.yml", "--benchmark",
                                         "tf2_resnet50_train_real_pod16")
        self.assertEqual(code, 0, out + err)
        results = json.loads(self.log("benchmark_results.json"))
        self.assertEqual(results["tf2_resnet50_train_real_pod16"][0]["results"]["throughput"],
                         {"mean": 1800.0})

    def write_sleeper(self):
        """Two benchmarks; the second writes its processes to `pids` and sleeps."""
        self.write("benchmarks.yml", r"""
a_gen: {cmd: echo rate 7, data: {throughput: {regexp: 'rate (.*)'}}}
b_gen:
  cmd: sh -c 'echo $$ >>pids; setsid sh -c "echo \$\$ >>pids; exec sleep 600" & sleep 600'
""")

    def sleeping_processes(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            path = self.folder / "pids"
            pids = path.read_text().split() if path.exists() else []
            if len(pids) == 2:
                return [int(pid) for pid in pids]
            time.sleep(0.05)
        self.fail("the benchmark did not begin")

    def expect_gone(self, pids):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            running = [pid for pid in pids if pathlib.Path(f"/proc/{pid}/stat").exists() and
                       pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][1] != "Z"]
            if not running:
                return
            time.sleep(0.1)
        self.fail(f"still running: {running}")

    def test_control_c_keeps_what_is_done_and_ends_the_children(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.write_sleeper()
            (self.folder / "pids").unlink(missing_ok=True)
            process = self.start(start_new_session=True)
            pids = self.sleeping_processes()
            os.killpg(process.pid, number)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 75, out + err)
            self.expect_gone(pids)
            self.assertIn("PASSED a_gen::a_gen", out)
            self.assertIn("SKIPPED b_gen::b_gen - a signal stopped the run", out)
            self.assertEqual(list(json.loads(self.log("benchmark_results.json"))), ["a_gen"])
            self.assertFalse((self.folder / "log/.lock").exists())

    def test_a_killed_runner_leaves_its_results(self):
        self.write_sleeper()
        process = self.start()
        pids = self.sleeping_processes()
        process.kill()
        process.communicate(timeout=60)
        self.assertEqual(list(json.loads(self.log("benchmark_results.json"))), ["a_gen"])
        self.expect_gone(pids[:1])  # what left its process group cannot be reached any more
        os.kill(pids[1], signal.SIGKILL)
        code, out, err = self.run_to_end("--benchmark", "a_gen")  # the lock is free
        self.assertEqual(code, 0, out + err)

    def test_a_closed_output_ends_the_run(self):
        self.write("benchmarks.yml", "a_gen: {cmd: 'true'}\n")
        code = subprocess.run(f"{PROGRAM} benchmark --log-dir log >/dev/full", shell=True,
                              cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.assertEqual(code.returncode, 1)
        self.assertIn("standard output cannot be written", code.stderr)

    def test_our_own_benchmarks(self):
        """Those of the original by name, and every model of the zoo on random data."""
        listed = subprocess.run([PROGRAM, "benchmark", "--spec", OURS, "--include-convergence", "--list"],
                                capture_output=True, text=True, check=True).stdout
        variants = [line.split()[0] for line in listed.splitlines() if line and line[0] not in " #"]
        for name in re.findall(r"^tf2_\w+(?=:)", SPEC, re.MULTILINE):
            self.assertTrue(any(variant.startswith(name) for variant in variants), name)
        models = {row["name"] for row in json.loads(subprocess.run(
            [PROGRAM, "models", "--json"], capture_output=True, text=True, check=True).stdout)}
        trained = {re.search(r"--model (\w+)", command).group(1) for command in listed.splitlines()
                   if "pando train --model" in command}
        self.assertEqual(models - trained, set())
        for part in ("serving_protocols_gen", "data_imagenet_gen", "cosmoflow_program_gen", "estimator_cnn_gen",
                     "cifar10_estimator_gen"):
            self.assertTrue(any(variant.startswith(part) for variant in variants), part)
        skipped = [line.split()[0] for line in listed.splitlines() if "(needs data" in line]
        self.assertFalse([name for name in skipped if "_real_" not in name], "a benchmark needs data")

    def test_pando_is_this_program_wherever_it_stands(self):
        self.write("bin/pando", "#!/bin/sh\necho another\n").chmod(0o755)
        self.write("benchmarks.yml", "a_gen: {cmd: pando --version}\n"
                                     "b_gen: {cmd: sh -c 'pando --version'}\n")
        self.run_to_end()
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
        self.assertEqual(self.log("a_gen/stdout.log"), version)
        self.assertEqual(self.log("b_gen/stdout.log"), version)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
