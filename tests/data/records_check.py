"""Writes and reads record files of tf.train.Example without Pando's code: with Google's protocol
buffers, the package crc32c, and Python's gzip and zlib.

usage: records_check.py write|read FOLDER
Exits with 77 if a package is missing (Debian: python3-protobuf, python3-crc32c).
"""
# SPDX-License-Identifier: MIT
import gzip
import os
import struct
import sys
import zlib

try:
    import crc32c
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    sys.exit(77)

COUNT = 5
Field = descriptor_pb2.FieldDescriptorProto


def add_field(message, name, number, kind, repeated=False, **more):
    label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
    is_name = isinstance(kind, str)
    field = message.field.add(name=name, number=number, label=label, **more)
    field.type = Field.TYPE_MESSAGE if is_name else kind
    if is_name:
        field.type_name = ".tf." + kind
    return field


def example_class(packed):
    """tf.train.Example as documented, with numbers packed or one by one."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="tf", syntax="proto3")
    for name, kind in (("BytesList", Field.TYPE_BYTES), ("FloatList", Field.TYPE_FLOAT),
                       ("Int64List", Field.TYPE_INT64)):
        field = add_field(file.message_type.add(name=name), "value", 1, kind, repeated=True)
        if kind != Field.TYPE_BYTES:
            field.options.packed = packed
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, name in enumerate(("BytesList", "FloatList", "Int64List"), 1):
        add_field(feature, name.lower(), number, name, oneof_index=0)
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    add_field(entry, "key", 1, Field.TYPE_STRING)
    add_field(entry, "value", 2, "Feature")
    add_field(features, "feature", 1, "Features.FeatureEntry", repeated=True)
    example = file.message_type.add(name="Example")
    add_field(example, "features", 1, "Features")
    add_field(example, "other", 77, Field.TYPE_STRING)  # unknown to every reader
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName("tf.Example"))


def sample(i):
    """The features of example i; the C++ test makes the same."""
    return {
        "ints": [i, -i, 2 ** 62 - i, -2 ** 63],
        "floats": [i / 4, -1e30, float("inf"), 2.0 ** -149],
        "bytes": [bytes(range(50 * i)), b"", "müsli".encode()],
        "no ints": [],
    }


def encode(kind, i, unknown):
    example = kind(other="?" if unknown else "")
    for key, values in sample(i).items():
        feature = example.features.feature[key]
        chosen = {"ints": feature.int64list, "floats": feature.floatlist,
                  "bytes": feature.byteslist, "no ints": feature.int64list}[key]
        chosen.SetInParent()
        chosen.value.extend(values)
    return example.SerializeToString()


def masked(data):
    crc = crc32c.crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(payload):
    length = struct.pack("<Q", len(payload))
    return length + masked(length) + payload + masked(payload)


def write(folder):
    for name, packed, pack in (("packed", True, bytes), ("single", False, bytes),
                               ("gzip", True, gzip.compress), ("zlib", True, zlib.compress)):
        kind = example_class(packed)
        records = b"".join(framed(encode(kind, i, not packed)) for i in range(COUNT))
        with open(os.path.join(folder, name), "wb") as file:
            file.write(pack(records))


def records(data):
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        payload = data[at + 12:at + 12 + length]
        assert framed(payload) == data[at:at + 16 + length]
        yield payload
        at += 16 + length


def read(folder):
    for name, unpack in (("none", bytes), ("gzip", gzip.decompress), ("zlib", zlib.decompress)):
        with open(os.path.join(folder, name), "rb") as file:
            payloads = list(records(unpack(file.read())))
        assert len(payloads) == COUNT
        for i, payload in enumerate(payloads):
            features = example_class(True).FromString(payload).features.feature
            wanted = sample(i)
            assert set(features) == set(wanted), set(features)
            for key, values in wanted.items():
                kind = features[key].WhichOneof("kind")
                assert kind == {"floats": "floatlist", "bytes": "byteslist"}.get(key, "int64list")
                found = list(getattr(features[key], kind).value)
                if key == "floats":
                    found, values = (struct.pack("<4f", *v) for v in (found, values))
                assert found == values, (key, found)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](sys.argv[2])
