"""Prints the records of a TensorBoard event file as JSON lines, decoded by Google's protocol
buffers from a description of the messages that is made here, checksums by the package crc32c:
event_check.py FILE

Exits with 77 when a package is missing (Debian: python3-protobuf, python3-crc32c).
"""
# SPDX-License-Identifier: MIT
import json
import struct
import sys

try:
    import crc32c
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    sys.exit(77)

Field = descriptor_pb2.FieldDescriptorProto
KINDS = {"double": Field.TYPE_DOUBLE, "float": Field.TYPE_FLOAT, "int64": Field.TYPE_INT64,
         "int32": Field.TYPE_INT32, "string": Field.TYPE_STRING}

# name: [(field, number, type, is a list)]; a type that is not in KINDS is a message.
MESSAGES = {
    "Event": [("wall_time", 1, "double", 0), ("step", 2, "int64", 0),
              ("file_version", 3, "string", 0), ("summary", 5, "Summary", 0),
              ("session_log", 7, "SessionLog", 0)],
    "Summary": [("value", 1, "Value", 1)],
    "Value": [("tag", 1, "string", 0), ("simple_value", 2, "float", 0),
              ("histo", 5, "Histogram", 0), ("tensor", 8, "Tensor", 0),
              ("metadata", 9, "Metadata", 0)],
    "Histogram": [("min", 1, "double", 0), ("max", 2, "double", 0), ("num", 3, "double", 0),
                  ("sum", 4, "double", 0), ("sum_squares", 5, "double", 0),
                  ("bucket_limit", 6, "double", 1), ("bucket", 7, "double", 1)],
    "Metadata": [("plugin_data", 1, "PluginData", 0), ("data_class", 4, "int32", 0)],
    "PluginData": [("plugin_name", 1, "string", 0), ("content", 2, "string", 0)],
    "Tensor": [("dtype", 1, "int32", 0), ("tensor_shape", 2, "TensorShape", 0),
               ("string_val", 8, "string", 1)],
    "TensorShape": [("dim", 2, "Dim", 1)],
    "Dim": [("size", 1, "int64", 0), ("name", 2, "string", 0)],
    "SessionLog": [("status", 1, "int32", 0), ("checkpoint_path", 2, "string", 0)],
}


def event_class():
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="tb", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, is_list in fields:
            label = Field.LABEL_REPEATED if is_list else Field.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label)
            added.type = KINDS.get(kind, Field.TYPE_MESSAGE)
            if kind not in KINDS:
                added.type_name = ".tb." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("tb.Event"))


def masked(data):
    crc = crc32c.crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def records(data):
    at = 0
    while at < len(data):
        length = data[at:at + 8]
        (count,) = struct.unpack("<Q", length)
        assert data[at + 8:at + 12] == masked(length), "checksum of a length"
        payload = data[at + 12:at + 12 + count]
        assert data[at + 12 + count:at + 16 + count] == masked(payload), "checksum of a record"
        yield payload
        at += 16 + count


def shown(message):
    """All fields that are set, and an error for those that the description does not know."""
    assert not len(message.UnknownFields()), message
    result = {}
    for field, value in message.ListFields():
        many = field.label == Field.LABEL_REPEATED
        items = list(value) if many else [value]
        if field.type == Field.TYPE_MESSAGE:
            items = [shown(item) for item in items]
        result[field.name] = items if many else items[0]
    return result


def main():
    kind = event_class()
    with open(sys.argv[1], "rb") as file:
        for payload in records(file.read()):
            print(json.dumps(shown(kind.FromString(payload))))


if __name__ == "__main__":
    main()
