# Writes with h5py files of random structure and, beside each, what h5py reads from it: one line per
# fact, with fields between tabs. usage: h5py_random.py DIRECTORY FIRST_SEED COUNT
# SPDX-License-Identifier: MIT
import os
import random
import sys

import h5py
import numpy as np

NUMBERS = ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "u1", "i1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8",
           ">u8", "?"]


def random_array(rng, shape):
    dtype = np.dtype(rng.choice(NUMBERS))
    numbers = np.random.RandomState(rng.randrange(1 << 30)).uniform(-100, 100, shape)
    if dtype.kind in "u?":
        numbers = abs(numbers)
    if rng.random() < 0.3:
        numbers = numbers * 0
    return numbers.astype(dtype)


def random_shape(rng, most_rank=4):
    return tuple(rng.choice([1, 2, 3, 5, 8, 13, rng.randrange(1, 40)])
                 for _ in range(rng.randrange(1, most_rank + 1)))


def make_dataset(rng, group, name):
    kind = rng.choice(["scalar", "plain", "chunked", "chunked", "chunked", "growing", "part", "empty",
                       "never", "compact", "many"])
    if kind == "scalar":
        group.create_dataset(name, data=random_array(rng, ()))
        return
    if kind == "empty":
        group.create_dataset(name, data=np.zeros((0, 3), "f4"))
        return
    data = random_array(rng, random_shape(rng))
    fill = rng.choice([None, 7]) if data.dtype.kind != "b" else None
    if kind == "plain":
        group.create_dataset(name, data=data)
    elif kind == "never":
        group.create_dataset(name, shape=data.shape, dtype=data.dtype, fillvalue=fill)
    elif kind == "compact":
        space = h5py.h5s.create_simple(data.shape)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if data.nbytes < 60000:
            plist.set_layout(h5py.h5d.COMPACT)
        created = h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(data.dtype), space, plist)
        h5py.Dataset(created)[...] = data
    else:
        options = {"compression": rng.choice([None, "gzip"]), "shuffle": rng.random() < 0.5,
                   "fletcher32": rng.random() < 0.5}
        chunks = tuple(rng.randrange(1, extent + 1) for extent in data.shape)
        if rng.random() < 0.2:
            chunks = data.shape
        most = None
        if kind == "many":
            data, chunks = random_array(rng, (rng.randrange(1, 3000),)), (1,)
            most = rng.choice([None, (None,)])
        if kind == "growing":
            most = tuple(rng.choice([None, extent, extent + 9]) for extent in data.shape)
        made = group.create_dataset(name, shape=data.shape, dtype=data.dtype, chunks=chunks,
                                    maxshape=most, fillvalue=fill, **options)
        if kind == "part":
            made[:rng.randrange(1, data.shape[0] + 1)] = data[:1]
        else:
            made[...] = data


def make_attributes(rng, item):
    many = rng.choice([0, 0, 1, 3, 20, 200])
    for i in range(many):
        name = f"attribute {i} é" if i % 7 == 0 else f"a{i}"
        words = ["".join(rng.choice("abc éß{}:\"") for _ in range(rng.randrange(0, 30))).strip()
                 for _ in range(rng.randrange(1, 6))]
        kind = rng.choice(["variable", "fixed", "variables", "fixeds", "numbers", "number", "none", "null"])
        value = {"variable": words[0], "fixed": np.bytes_(words[0].encode() or b"x"),
                 "variables": np.array(words, dtype=object),
                 "fixeds": np.array([word.encode() for word in words] + [b"y"]),
                 "numbers": random_array(rng, random_shape(rng, 2)), "number": random_array(rng, ()),
                 "none": [], "null": h5py.Empty("f4")}[kind]
        item.attrs[name] = value
    if rng.random() < 0.1:
        item.attrs["large"] = np.bytes_(b"{" * rng.randrange(1, 60000))
    if rng.random() < 0.1:
        item.attrs["large text"] = "ä" * rng.randrange(1, 300000)


def make_group(rng, group, depth):
    make_attributes(rng, group)
    for i in range(rng.choice([0, 1, 3, 12])):
        make_dataset(rng, group, f"data {i}" if i % 5 == 0 else f"d{i}")
    if rng.random() < 0.15:
        for i in range(rng.choice([50, 3000])):
            group[f"link{i:04}"] = h5py.SoftLink("/") if i % 2 else group
    if depth > 0:
        for i in range(rng.randrange(0, 4)):
            make_group(rng, group.create_group(f"group{i}", track_order=rng.random() < 0.3), depth - 1)


def encode(fields):
    return "\t".join(fields) + "\n"


def describe_attributes(path, item, out):
    out.write(encode(["attributes", path] + sorted(item.attrs, key=str.encode)))
    for name in item.attrs:
        value = item.attrs[name]
        if isinstance(value, h5py.Empty):
            continue
        values = np.ravel(np.asarray(value, dtype=object if isinstance(value, str) else None))
        if values.dtype.kind in "OS":
            texts = [v.encode() if isinstance(v, str) else v for v in values]
            out.write(encode(["strings", path, name] + [text.hex() or "-" for text in texts]))
        else:
            out.write(encode(["numbers", path, name] + [float(v).hex() for v in values]))


def describe_dataset(path, item, out):
    data = item[()]
    kind = np.dtype(item.dtype)
    wanted = {"f": "<f2" if kind.itemsize == 2 else "<f4"}.get(
        kind.kind, "u1" if kind == np.uint8 else "<i4")
    names = {"<f2": "f16", "<f4": "f32", "u1": "u8", "<i4": "i32"}
    shape = ",".join(map(str, item.shape)) or "-"
    out.write(encode(["tensor", path, names[wanted], shape,
                      np.asarray(data).astype(wanted).tobytes().hex() or "-"]))


def describe(path, item, out):
    describe_attributes(path, item, out)
    if isinstance(item, h5py.Dataset):
        describe_dataset(path, item, out)
        return
    out.write(encode(["children", path] + sorted(item, key=str.encode)))
    for name in item:
        if not name.startswith("link"):
            describe((path if path != "/" else "") + "/" + name, item[name], out)


def main(directory, first, count):
    for seed in range(first, first + count):
        rng = random.Random(seed)
        path = os.path.join(directory, f"{seed}.h5")
        version = rng.choice(["earliest", "latest", ("earliest", "v108"), ("v108", "v108"), "v110"])
        with h5py.File(path, "w", libver=version, userblock_size=rng.choice([0, 0, 512, 4096])) as file:
            make_group(rng, file, 2)
        with h5py.File(path, "r") as file, open(path + ".txt", "w", encoding="utf8") as out:
            describe("/", file, out)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
