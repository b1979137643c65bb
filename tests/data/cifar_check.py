"""Writes valid and invalid CIFAR batches with Python, and reads those that Pando wrote.

usage: cifar_check.py write|read|torchvision FOLDER
"""
# SPDX-License-Identifier: MIT
import os
import pickle
import sys

import numpy as np

COUNT = 20


def images():
    at = np.arange(3072)
    rows = [(at * 7 + i * 31 + at // 256) % 256 for i in range(COUNT)]
    return np.array(rows, dtype=np.uint8)


def labels():
    return [(3 * i + 1) % 10 for i in range(COUNT)]


def dump(folder, name, value, protocol=2):
    with open(os.path.join(folder, name), "wb") as file:
        pickle.dump(value, file, protocol=protocol)


class Hostile:
    def __reduce__(self):
        return (os.system, ("true",))


def write(folder):
    for protocol in (2, 3, 4, 5):
        for key in (str, lambda text: text.encode()):
            spelling = "str" if key("a") == "a" else "bytes"
            for form in ("list", "array", "fortran"):
                batch = {
                    key("batch_label"): key("training batch 1 of 5"),
                    key("labels"): labels() if form != "array" else np.array(labels()),
                    key("data"): images() if form != "fortran" else np.asfortranarray(images()),
                    key("filenames"): [key("image_%d.png" % i) for i in range(COUNT)],
                }
                dump(folder, "good_%s_%s_%d" % (spelling, form, protocol), batch, protocol)
    dump(folder, "good_big_endian", {"labels": np.array(labels(), dtype=">i2"), "data": images()})
    fine = {"fine_labels": [99 - i for i in range(COUNT)], "coarse_labels": list(range(COUNT))}
    dump(folder, "fine_2", {**fine, "data": images()})
    dump(folder, "bad_system", {"labels": Hostile(), "data": images()})
    dump(folder, "bad_float", {"labels": [1.5], "data": images()})
    dump(folder, "bad_no_data", {"labels": labels()})
    dump(folder, "bad_no_labels", {"data": images()})
    dump(folder, "bad_label", {"labels": labels()[:-1] + [10], "data": images()})
    negative = np.array(labels()[:-1] + [-1])
    dump(folder, "bad_label_array", {"labels": negative, "data": images()})
    dump(folder, "bad_label_kind", {"labels": ["a"] * COUNT, "data": images()})
    dump(folder, "bad_label_type", {"labels": np.zeros(COUNT), "data": images()})
    dump(folder, "bad_label_count", {"labels": labels()[:-1], "data": images()})
    dump(folder, "bad_shape", {"labels": labels(), "data": images()[:, :-1].copy()})
    dump(folder, "bad_type", {"labels": labels(), "data": images().astype(np.float32)})
    dump(folder, "bad_list", [])


def load(*path):
    with open(os.path.join(*path), "rb") as file:
        return pickle.load(file, encoding="latin1")


def records(path, label_bytes):
    rows = np.fromfile(path, dtype=np.uint8).reshape(-1, label_bytes + 3072)
    return rows[:, :label_bytes], rows[:, label_bytes:]


def read(folder):
    """Checks that the two versions that Pando wrote have the same contents."""
    python, binary = (os.path.join(folder, name) for name in
                      ("cifar-10-batches-py", "cifar-10-batches-bin"))
    total = 0
    for name in ["data_batch_%d" % i for i in range(1, 6)] + ["test_batch"]:
        batch = load(python, name)
        label, planes = records(os.path.join(binary, name + ".bin"), 1)
        assert batch["data"].dtype == np.uint8 and (batch["data"] == planes).all()
        assert batch["labels"] == label[:, 0].tolist()
        assert len(batch["filenames"]) == len(planes)
        total += len(planes)
    assert total == 17, total
    with open(os.path.join(binary, "batches.meta.txt")) as file:
        assert load(python, "batches.meta")["label_names"] == file.read().split()
    for name in ("train", "test"):
        batch = load(folder, "cifar-100-python", name)
        label, planes = records(os.path.join(folder, "cifar-100-binary", name + ".bin"), 2)
        assert (batch["data"] == planes).all()
        assert batch["coarse_labels"] == label[:, 0].tolist()
        assert batch["fine_labels"] == label[:, 1].tolist()
    assert len(load(folder, "cifar-100-python", "meta")["fine_label_names"]) == 100


def torchvision(folder):
    from torchvision.datasets import CIFAR10, CIFAR100

    def unchecked(kind):
        """The class without the check of the published files' checksums."""
        meta = dict(kind.meta, md5=None)
        train_list = [[name, None] for name, _ in kind.train_list]
        test_list = [[name, None] for name, _ in kind.test_list]
        return type("Unchecked", (kind,), dict(meta=meta, train_list=train_list,
                                               test_list=test_list))

    for kind, classes in ((CIFAR10, 10), (CIFAR100, 100)):
        sets = {train: unchecked(kind)(folder, train=train) for train in (True, False)}
        assert [len(sets[True]), len(sets[False])] == [13, 4]
        assert len(sets[True].classes) == classes
        image, label = sets[True][0]
        binary = "cifar-10-batches-bin/data_batch_1.bin" if classes == 10 \
            else "cifar-100-binary/train.bin"
        labels_of_file, planes = records(os.path.join(folder, binary), 1 if classes == 10 else 2)
        assert label == labels_of_file[0, -1]
        assert (np.asarray(image) == planes[0].reshape(3, 32, 32).transpose(1, 2, 0)).all()


if __name__ == "__main__":
    {"write": write, "read": read, "torchvision": torchvision}[sys.argv[1]](sys.argv[2])
