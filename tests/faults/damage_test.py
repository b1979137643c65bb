"""Gives the program damaged files of every kind that it reads: bits flipped, parts cut off or left
out. It has to end in time with an exit code of its own, and to refuse every change of a sealed
checkpoint. tests/fuzz does the same within one process, far more often.

usage: damage_test.py PROGRAM [ROUNDS [KIND...]], with ROUNDS as in 50 or 26-50"""
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

IN_TIME = 120  # seconds, for a busy machine
SEAL_BYTES = 24
CORPUS = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "corpus"
TRAIN = ["train", "--model=toy_model_bn", "--num-epochs=1", "--micro-batch-size=8", "--quiet",
         "--validation=false"]


class Wrong(Exception):
    pass


def flip(data, rng, end):
    """Changes one to three bytes before `end`; the result always differs."""
    for position in rng.sample(range(end), min(end, rng.randrange(1, 4))):
        data[position] ^= 1 << rng.randrange(8)


def damage(data, rng):
    kind = rng.choice(["flip", "flip", "flip", "cut", "left out", "zeros"])
    begin = rng.randrange(len(data))
    end = min(len(data), begin + rng.randrange(1, 64))
    if kind == "flip":
        flip(data, rng, len(data))
    elif kind == "cut":
        del data[begin:]
    elif kind == "left out":
        del data[begin:end]
    else:
        data[begin:end] = bytes(end - begin)
    return kind


class Damages:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.rng = random.Random()
        self.cifar = self.make_data("make-cifar10", "cifar", "--train=32", "--test=16")
        self.pickles = self.make_data("make-cifar10", "pickles", "--train=32", "--test=16",
                                      "--python")
        self.shards = self.make_data("make-imagenet", "shards", "--train=4", "--validation=4",
                                     "--train-shards=1", "--validation-shards=1", "--height=16",
                                     "--width=16")
        self.run_folder = folder / "run"
        self.expect([*TRAIN, f"--dataset-path={self.cifar}", f"--run-dir={self.run_folder}"], [0])

    def make_data(self, verb, name, *flags):
        self.expect(["data", verb, self.folder / name, *flags], [0])
        return self.folder / name

    def call(self, words):
        try:
            return subprocess.run([self.program, *map(str, words)], timeout=IN_TIME, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, errors="replace", check=False)
        except subprocess.TimeoutExpired as error:
            raise Wrong(f"{words} does not end") from error

    def expect(self, words, codes):
        done = self.call(words)
        if done.returncode not in codes or "internal error" in done.stdout:
            raise Wrong(f"{words} ended with {done.returncode}, expected {codes}:\n{done.stdout}")
        return done.returncode

    def damaged(self, source, name, change=None):
        """A copy with damage, under that name."""
        data = bytearray(source.read_bytes())
        (change or damage)(data, self.rng)
        path = self.folder / name
        path.write_bytes(data)
        return path

    def damaged_folder(self, source, pattern):
        """A copy of the folder with damage to one file."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy)
        path = self.rng.choice(sorted(path for path in copy.rglob(pattern)
                                      if path.is_file() and path.stat().st_size))
        self.damaged(path, path)
        return copy

    def checkpoint_file(self):
        return self.run_folder / "checkpoints" / "epoch_1.0.h5"

    def validate(self, path, codes):
        return self.expect(["validate", path, "--model=toy_model_bn", "--micro-batch-size=8", "--quiet",
                            f"--dataset-path={self.cifar}", f"--output-dir={self.folder / 'out'}"],
                           codes)

    def sealed(self):
        change = lambda data, rng: flip(data, rng, len(data) - SEAL_BYTES)
        return self.validate(self.damaged(self.checkpoint_file(), "sealed.h5", change), [1])

    def unsealed(self):
        bare = self.folder / "bare.h5"
        bare.write_bytes(self.checkpoint_file().read_bytes()[:-SEAL_BYTES])
        return self.validate(self.damaged(bare, "unsealed.h5"), [0, 1, 2])

    def config(self):
        path = self.damaged(self.run_folder / "config.yml", "config.yml")
        return self.expect(["train", "--config-path", path, "--print-config"], [0, 1, 2])

    def resumed(self):
        """The files of a run other than checkpoints."""
        copy = self.damaged_folder(self.run_folder, "*.*")
        return self.expect([*TRAIN, f"--dataset-path={self.cifar}", f"--run-dir={copy}",
                            "--resume=auto"], [0, 1, 2])

    def cifar_binary(self):
        return self.verify("cifar10", self.damaged_folder(self.cifar, "*.bin"))

    def cifar_pickle(self):
        return self.verify("cifar10", self.damaged_folder(self.pickles, "*_batch*"))

    def imagenet(self):
        return self.verify("imagenet", self.damaged_folder(self.shards, "*-of-*"))

    def tfrecord(self):
        shard = next(self.shards.rglob("train-*"))
        return self.verify("tfrecord", self.damaged(shard, "file.tfrecord"))

    def idx(self):
        source = self.folder / "mnist"
        source.mkdir(exist_ok=True)
        for part, count in (("train", 20), ("t10k", 10)):
            (source / f"{part}-images-idx3-ubyte").write_bytes(
                struct.pack(">IIII", 2051, count, 28, 28) + bytes(count * 784))
            (source / f"{part}-labels-idx1-ubyte").write_bytes(
                struct.pack(">II", 2049, count) + bytes(count))
        return self.verify("mnist", self.damaged_folder(source, "*"))

    def images(self, form):
        source = self.folder / form
        for part in ("train", "validation"):
            for label in ("cat", "dog"):
                (source / part / label).mkdir(parents=True, exist_ok=True)
                for image in (CORPUS / form).iterdir():
                    shutil.copy(image, source / part / label)
        return self.verify("image_folder", self.damaged_folder(source, "*.[jp]*g"))

    def jpeg(self):
        return self.images("jpeg")

    def png(self):
        return self.images("png")

    def hosts(self):
        source = self.folder / "hostfile"
        source.write_text("node[01-16]  # a comment\nlocalhost\nother,more[1-3]\n")
        path = self.damaged(source, "damaged_hosts")
        return self.expect(["run", "--hostfile", path, "--num-instances=1", "--dry-run", "--", "true"],
                           [0, 2])

    def verify(self, name, path):
        return self.expect(["data", "verify", name, path, "--workers=1"], [0, 1, 2])


KINDS = ["sealed", "unsealed", "config", "resumed", "cifar_binary", "cifar_pickle", "imagenet", "tfrecord",
         "idx", "jpeg", "png", "hosts"]


def main(program, rounds, kinds):
    first, _, last = rounds.rpartition("-")
    with tempfile.TemporaryDirectory() as folder:
        damages = Damages(program, pathlib.Path(folder))
        for kind in kinds:
            codes = {}
            for number in range(int(first or 1), int(last) + 1):
                damages.rng.seed(f"{kind}{number}")
                try:
                    code = getattr(damages, kind)()
                except Wrong as wrong:
                    raise SystemExit(f"{kind} {number}: {wrong}") from wrong
                codes[code] = codes.get(code, 0) + 1
            said = ", ".join(f"{count} ended with {code}" for code, count in sorted(codes.items()))
            print(f"{kind:14}: {said}", flush=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "1",
         sys.argv[3:] or KINDS)
