"""Gives `pando` many wrong flags, values, keys and words, on the command line and in files. Each
has to be refused before any work, with exit code 2 and one line that names the place and, for a
misspelt name, the name that was meant.

usage: typos_test.py PROGRAM [COUNT [SEED]]"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from typos import Command, flags_of_help, flags_of_markdown, make_cases

SECONDS = 30  # until a command that was not refused is ended


def ask(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def shown(text):
    return [flag.name for flag in flags_of_help(text)]


def commands_of(program):
    """Commands with their weights. `validate`, `plan` and `export` take flags of `train`."""
    train = flags_of_markdown(ask(program, "train", "--help-markdown"))
    commands = {Command(["train"], train, file_flag="--config-path"): 10,
                Command(["run"], flags_of_markdown(ask(program, "run", "--help-markdown")),
                        tail=["--", "true"], file_flag="--import-config"): 4}
    for name in ("validate", "plan", "export"):
        names = shown(ask(program, name, "--help"))
        own = [flag for flag in flags_of_help(ask(program, name, "--help"))
               if flag.name not in [one.name for one in train]]
        own = [flag._replace(in_file=False) for flag in own]
        flags = [flag for flag in train if flag.name in names]
        hidden = [flag.name for flag in train if flag.name not in names]
        commands[Command([name], flags + own, file_flag="--config-path", hidden=hidden)] = 3
    for name, tail in {"predict": ["x", "x.png"], "show": ["x"], "report": ["x"], "benchmark": [],
                       "devices": [], "models": []}.items():
        commands[Command([name], flags_of_help(ask(program, name, "--help")), tail)] = 1
    for verb, tail in {"fetch": ["cifar10"], "verify": ["mnist", "x"], "benchmark": ["mnist", "x"],
                       "show": ["mnist", "x"], "make-cifar10": ["x"], "make-cosmoflow": ["x"],
                       "make-imagenet": ["x"], "make-shapes": ["x"], "build-imagenet": ["x", "y"], "list": []}.items():
        commands[Command(["data", verb], flags_of_help(ask(program, "data", verb, "--help")),
                         tail)] = 0.5
    return commands


def words_of(program):
    commands = re.findall(r"^  ([a-z]+) ", ask(program, "--help"), re.MULTILINE)
    verbs = re.findall(r"^  ([a-z0-9-]+) ", ask(program, "data", "--help"), re.MULTILINE)
    data_sets = ["fashion_mnist", "cifar10", "cifar100", "imagenet", "image_folder"]
    models = re.findall(r"^([a-z]\w+) ", ask(program, "models"), re.MULTILINE)[1:]
    presets = re.findall(r"^\| `(\w+)`", ask(program, "train", "--help-markdown"), re.MULTILINE)
    return [(commands, [], []), (verbs, ["data"], []),
            (data_sets, ["data", "verify"], ["x"]), (data_sets, ["data", "benchmark"], ["x"]),
            (models, ["train", "--model"], []), (models, ["plan", "--model"], []),
            (presets, ["train", "--config"], [])]


def fault_of(program, case, folder):
    """What is wrong with the answer to a case; empty if nothing is."""
    folder.mkdir()
    args = [arg.replace("FILE", "typo.yml") for arg in case.args]
    if case.file:
        (folder / "typo.yml").write_text(case.file)
    environment = {**os.environ, "PANDO_DATA": str(folder / "no-data")}
    try:
        result = subprocess.run([program, *args], cwd=folder, env=environment, capture_output=True,
                                text=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"did not end within {SECONDS} s"
    message = result.stderr
    faults = []
    if result.returncode != 2:
        faults.append(f"exit code {result.returncode}")
    if result.stdout:
        faults.append(f"printed {result.stdout[:200]!r}")
    if not message.startswith("pando: error: ") or message.count("\n") != 1:
        faults.append("not one line of error")
    faults += [f"does not say {' or '.join(tokens)}" for tokens in case.tokens
               if not any(token in message for token in tokens)]
    left = [path.name for path in folder.iterdir() if path.name != "typo.yml"]
    if left:
        faults.append(f"left {left}")
    return "; ".join(faults) and f"{'; '.join(faults)}\n    {message.strip()}"


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    cases = make_cases(commands_of(program), words_of(program), count, seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ThreadPoolExecutor(2) as threads:
        folders = [pathlib.Path(name) / str(index) for index in range(count)]
        faults = threads.map(lambda case, folder: fault_of(program, case, folder), cases, folders)
        for case, fault in zip(cases, faults):
            if fault:
                wrong += 1
                print(f"pando {' '.join(case.args)} ({case.what})\n{case.file or ''}  {fault}")
    print(f"typos_test: {count} mistakes (seed {seed}), {count - wrong} refused as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
