# The sides of the comparison, with one interface: `run(steps)` returns seconds, `pid` is the process
# that computes. A side that is not running uses no processor time.
# SPDX-License-Identifier: MIT
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

import packages


class PeerError(Exception):
    """The process of a side broke the protocol or ended."""


class ProcessSide:
    """A side in its own process, controlled through stdin and stdout.

    The program prints `ready {json}` once it is compiled and warm; `run N` makes it compute N steps
    and print `seconds X`; `quit` ends it. Between the lines it blocks on stdin."""

    def __init__(self, command):
        self.name = " ".join(command)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=packages.environment_without_blas(), text=True)
        self.pid = self.process.pid
        try:
            self.info = self._read_info()
        except PeerError:
            self.process.kill()
            self.close()
            raise

    def _read_info(self):
        text = self._expect("ready")
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise PeerError(f"`{self.name}`: expected JSON after ready, got {text!r}") from error

    def _expect(self, word):
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise PeerError(f"`{self.name}`: expected a line `{word} ...`, but it ended with "
                            f"status {status}")
        found, _, rest = line.strip().partition(" ")
        if found != word:
            raise PeerError(f"`{self.name}`: expected a line `{word} ...`, got {line.strip()!r}")
        return rest

    def run(self, steps):
        try:
            self.process.stdin.write(f"run {steps}\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise PeerError(f"`{self.name}` ended with status {self.process.wait()}") from error
        text = self._expect("seconds")
        try:
            seconds = float(text)
        except ValueError as error:
            raise PeerError(
                f"`{self.name}`: expected a number after seconds, got {text!r}") from error
        if not seconds > 0:
            raise PeerError(f"`{self.name}`: {seconds} seconds for {steps} steps")
        return seconds

    def close(self):
        with contextlib.suppress(BrokenPipeError, ValueError):  # it ended, or was closed before
            self.process.stdin.write("quit\n")
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class PandoSide(ProcessSide):
    """Pando; `flags` are further ones of pando_peer."""

    def __init__(self, program, model, batch, threads, *flags):
        super().__init__([str(program), "--model", model, "--batch", str(batch),
                          "--threads", str(threads), *flags])


class OnnxSide(ProcessSide):
    """ONNX Runtime in Node.js; the network is an ONNX file that is made for it."""

    def __init__(self, model, batch, threads):
        import onnx_models
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, f"{model}.onnx")
            onnx_models.write(model, batch, path)
            super().__init__(["node", str(packages.HERE / "onnx_peer.js"),
                              str(packages.onnx_runtime()), str(path), str(threads)])


class OnnxFileSide(ProcessSide):
    """ONNX Runtime in Node.js on a file; `shape` is that of its input, with the batch."""

    def __init__(self, path, shape, threads):
        super().__init__(["node", str(packages.HERE / "onnx_peer.js"), str(packages.onnx_runtime()),
                          str(path), str(threads), ",".join(str(extent) for extent in shape)])


class TorchSide:
    """PyTorch in this process, in one memory format."""

    WARM_UP_STEPS = 3

    def __init__(self, model, batch, channels_last, inference=False):
        import torch  # here, because the Pando side is also used where PyTorch is missing
        import torch_models
        self.torch, self.pid, self.inference = torch, os.getpid(), inference
        case = torch_models.CASES[model]
        memory_format = torch.contiguous_format
        if channels_last:
            volume = len(case.input_shape) == 4
            memory_format = torch.channels_last_3d if volume else torch.channels_last
        network = torch_models.init_like_keras(torch_models.build(model))
        self.network = network.to(memory_format=memory_format).train(not inference)
        self.loss = case.loss
        self.optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
        x, self.labels = torch_models.make_data(model, batch)
        self.x = x.contiguous(memory_format=memory_format)
        self.run(self.WARM_UP_STEPS)

    def _train(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.network(self.x), self.labels).backward()
        self.optimizer.step()

    def run(self, steps):
        step = (lambda: self.network(self.x)) if self.inference else self._train
        with self.torch.inference_mode(self.inference):
            start = time.perf_counter()
            for _ in range(steps):
                step()
            return time.perf_counter() - start

    def close(self):
        pass
