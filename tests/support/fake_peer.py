#!/usr/bin/python3
# Stands in for pando_peer in the tests of bench/peers: speaks its protocol, computes nothing.
# FAKE_PEER picks a fault: die, no_ready, bad_json, bad_seconds, zero_seconds, other_model.
# SPDX-License-Identifier: MIT
import argparse
import json
import os
import sys

SECONDS_PER_STEP = 0.001
PARAMETERS = {"mnist_cnn": 34_826, "cifar10_cnn": 1_250_858, "cifar_resnet8": 75_290,
              "cosmoflow": 619_956}


def say(text):
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--size", type=int)
    parser.add_argument("--inference", action="store_true")
    options = parser.parse_args()
    fault = os.environ.get("FAKE_PEER", "")
    parameters = PARAMETERS[options.model] + (fault == "other_model")
    info = json.dumps({"parameters": parameters, "batch": options.batch,
                       "threads": options.threads, "inference": options.inference, "size": options.size,
                       "library_path": os.environ.get("LD_LIBRARY_PATH", "")})
    say({"no_ready": "hello", "bad_json": "ready {"}.get(fault, f"ready {info}"))
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "quit":
            return 0
        if fault == "die":
            return 3
        seconds = 0.0 if fault == "zero_seconds" else int(rest[0]) * SECONDS_PER_STEP
        say("seconds soon" if fault == "bad_seconds" else f"seconds {seconds}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
