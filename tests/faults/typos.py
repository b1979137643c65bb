"""Makes command lines and configuration files with one mistake each, from the help texts of the
program: misspelt names, values of the wrong type, out of range, with a wrong unit, of no choice."""
import collections
import random
import re
import string

# A flag as the help texts show it. label: how messages name it. kind: whole, number, bool, choice,
# bytes, rate, time, dict, text.
Flag = collections.namedtuple("Flag", "name label kind is_list low high choices keys in_file")
# What to run, words that the message has to contain (one of each tuple), and, if the mistake is in
# a file, its text.
Case = collections.namedtuple("Case", "args tokens file what")

# Choices may include a boolean, in any of its forms.
BOOLEANS = ["true", "yes", "on", "false", "no", "off"]
WRONG_VALUES = {
    "whole": ["ten", "1.5", "0x10", "5epochs", "64K", "1e400", "99999999999999999999", "--", "true",
              "1 000", "1;2", "{a: 1}"],
    "number": ["fast", "0.1s", "nan", "inf", "1/0", "1e999", "10%", "1..5", "1e", "true", "[1"],
    "bool": ["maybe", "2", "ture", "-1", "flase", "none", "0.0"],
    "bytes": ["512X", "10 MB", "-1", "1.5G", "lots", "1e9", "9999999999999T", "MiB"],
    "rate": ["10", "10Gparsec", "-1Gbit", "fast", "Gbit", "0Gbit"],
    "time": ["50", "50parsecs", "-1us", "soon", "us"],
    "dict": ["5", "[1, 2]", "{unclosed: 1", "plain text", "{: 1}"],
}


def one_edit(word, rng):
    """A text that differs from `word` by one deletion, insertion, replacement or swap."""
    at = rng.randrange(len(word))
    letter = rng.choice(string.ascii_lowercase)
    edit = rng.randrange(4)
    if edit == 0:
        return word[:at] + word[at + 1:]
    if edit == 1:
        return word[:at] + letter + word[at:]
    if edit == 2:
        return word[:at] + letter + word[at + 1:]
    return word[:at] + word[at + 1:at + 2] + word[at] + word[at + 2:]


def misspelt(word, known, rng):
    """Not a name, nor the beginning of one, which would be a valid abbreviation."""
    while True:
        text = one_edit(word, rng)
        if text and not any(name.startswith(text.lower()) for name in known) and text[0] != "-":
            return text


def kind_of(hint, wanted):
    if "dictionary" in wanted or hint == "DICT":
        return "dict"
    if "whole number" in wanted:
        return "whole"
    if wanted.startswith(("a number or a fraction", "a list, each item a number or")):
        return "number"
    if "number of bytes" in wanted:
        return "bytes"
    if hint.startswith("[BOOL") or wanted.startswith("true or false"):
        return "bool"
    return "text"


def bound(words, text):
    found = re.search(rf"(?:{words}) (-?[0-9.e+]+)", text)
    return float(found.group(1)) if found else None


def flag_of(name, hint, wanted, in_file=True):
    choices = re.findall(r"`([^`]+)`", wanted.split(";")[0]) if wanted.startswith("one of") else []
    low = bound("at least", wanted)
    low = low - 1 if low is not None else bound("above", wanted)
    high = bound("at most", wanted)
    high = high + max(1, high / 100) if high is not None else bound("below(?! 2\\^)", wanted)
    kind = "choice" if choices else kind_of(hint, wanted)
    return Flag(name, name, kind, "a list" in wanted, low, high, choices, [], in_file)


def flags_of_markdown(text):
    """The flags of `--help-markdown`, with the keys of dictionaries."""
    flags = []
    head = None
    # Items are wrapped: lines that begin neither an item nor its value go on with the one before.
    for line in re.sub(r"\n +(?! |- `|Value: )", " ", text).splitlines():
        if found := re.match(r"- `--([a-z0-9-]+)([^`]*)`", line):
            head = found
        elif head and line.startswith("  Value: "):
            wanted = line[len("  Value: "):]
            flag = flag_of(head[1], head[2].strip(), wanted, "only on the command" not in wanted)
            flags.append(flag)
            flags += [flag._replace(name=alias)
                      for alias in re.findall(r"also `--([a-z-]+)`", wanted)]
        elif found := re.match(r"  - `([a-z0-9_]+)`: (.*)", line):
            flags[-1].keys.append(flag_of(found[1], "", found[2]))
    return flags


def flags_of_help(text):
    """The flags of --help, where the hints tell the types but not the ranges."""
    kinds = {"N": "whole", "X": "number", "S": "number", "SECONDS": "number", "BYTES": "bytes",
             "BYTES...": "bytes", "RATE": "rate", "TIME": "time", "[BOOL]": "bool", "DICT": "dict"}
    flags = []
    for found in re.finditer(r"^  --([a-z0-9-]+)(?: (\S+))?(?:  |$)", text, re.MULTILINE):
        name, hint = found[1], found[2] or ""
        choices = hint.split("|") if "|" in hint and hint[0] != "[" else []
        kind = "choice" if choices else kinds.get(hint, "text")
        flags.append(Flag(name, name, kind, hint.endswith("..."), None, None, choices, [], True))
    return flags


def wrong_value(flag, rng):
    """A value that does not fit, and what the message has to contain beside the value."""
    bounds = [format(value, ".17g") for value in (flag.low, flag.high) if value is not None]
    if flag.kind == "choice":
        good = rng.choice(flag.choices)
        typo = misspelt(good, [choice.lower() for choice in flag.choices] + BOOLEANS, rng)
        return typo, [choice for choice in flag.choices if close(choice, typo)]
    if bounds and rng.random() < 0.4:
        return rng.choice(bounds), []
    values = [value for value in WRONG_VALUES[flag.kind]
              if not (flag.is_list and value in ("1;2", "[1", "{a: 1}"))]
    return rng.choice(values), []


def close(known, typo):
    return distance(known.lower(), typo.lower()) <= 1


def distance(a, b):
    """As the program counts: insertions, deletions, replacements, swaps of neighbours."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (x != y)))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[j] = min(row[j], rows[i - 2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


class Command:
    """A command of the program with its flags; `words` are its name and arguments, `hidden` names
    of flags that it takes and does not show."""

    def __init__(self, words, flags, tail=(), file_flag=None, hidden=()):
        self.words = list(words)
        self.flags = [flag for flag in flags if flag.name != "help"]
        self.tail = list(tail)
        self.file_flag = file_flag
        self.names = [flag.name for flag in self.flags]
        self.hidden = list(hidden)

    def case(self, rng):
        if self.file_flag and rng.random() < 0.45:
            return self.case_in_file(rng)
        flag = rng.choice(self.flags)
        if flag.kind == "text" or rng.random() < 0.4:
            return self.misspelt_flag(flag, rng)
        if flag.keys and rng.random() < 0.7:
            return self.wrong_key(flag, rng)
        value, nearest = wrong_value(flag, rng)
        args = [f"--{flag.name}={value}"]
        # After a flag that may stand alone, the next word may be an argument of its own.
        stands_alone = flag.kind == "bool" or "true" in flag.choices
        if rng.random() < 0.5 and value[:2] != "--" and not stands_alone:
            args = [f"--{flag.name}", value]
        return self.made(args, [(f"--{flag.label}",), nearest], None, f"value {value}")

    def misspelt_flag(self, flag, rng):
        typo = misspelt(flag.name, self.names + self.hidden, rng)
        value = rng.choice(["=1", "", "=x"])
        near = [f"'--{name}'" for name in self.names if close(name, typo)]
        return self.made([f"--{typo}{value}"], [(f"--{typo}",), near], None, "name")

    def wrong_key(self, flag, rng):
        key = rng.choice(flag.keys)
        keys = [other.name for other in flag.keys]
        if rng.random() < 0.5 or key.kind == "text":
            typo = misspelt(key.name, keys, rng)
            near = [f"'{name}'" for name in keys if close(name, typo)]
            args = [f"--{flag.name}={{{typo}: 1}}"]
            if "set" in self.names and rng.random() < 0.5:
                args = ["--set", f"{flag.name}.{typo}=1"]
            return self.made(args, [(f"--{flag.name}", f"--set {flag.name}"), (typo,), near], None,
                             "key")
        value, nearest = wrong_value(key, rng)
        quoted = '"' + value + '"'
        return self.made([f"--{flag.name}={{{key.name}: {quoted}}}"],
                         [(key.name,), nearest], None, f"key's value {value}")

    def case_in_file(self, rng):
        flags = [flag for flag in self.flags if flag.in_file]
        flag = rng.choice(flags)
        line = rng.randrange(1, 6)
        names = [other.name for other in flags]
        if flag.kind == "text" or rng.random() < 0.4:
            typo = misspelt(flag.name, names + self.hidden, rng)
            near = [f"'{name}'" for name in self.names if close(name, typo)]
            text, tokens = f"{typo}: 1", [(typo,), near]
        elif flag.keys and rng.random() < 0.7:
            keys = [other.name for other in flag.keys]
            typo = misspelt(rng.choice(keys), keys, rng)
            near = [f"'{name}'" for name in keys if close(name, typo)]
            text, tokens = f"{flag.name}: {{{typo}: 1}}", [(typo,), near]
        else:
            value, nearest = wrong_value(flag, rng)
            text, tokens = f"{flag.name}: \"{value}\"", [nearest]
        return self.made([f"{self.file_flag}=FILE"], [(f"typo.yml:{line}:",)] + tokens,
                         "# comment\n" * (line - 1) + text + "\n", "in a file")

    def made(self, args, tokens, file, what):
        return Case(self.words + args + self.tail, [tuple(any_of) for any_of in tokens if any_of],
                    file, what)


def misspelt_words(words, before, after, rng):
    """A misspelt command, verb or name that stands at a place of its own."""
    typo = misspelt(rng.choice(words), words, rng)
    near = tuple(f"'{word}'" for word in words if close(word, typo))
    return Case(before + [typo] + after, [(f"'{typo}'",), near], None, "word")


# Texts that name nothing, or nothing of the right kind.
WRONG_TEXTS = [
    (["train", "--disable-pass", "fuse-post-op"], "--disable-pass", "'fuse-post-ops'"),
    (["train", "--pipeline-splits", "conv2d_x"], "--pipeline-splits", "'conv2d_1'"),
    (["train", "--core-sets", "0;x"], "--core-sets", "'x'"),
    (["train", "--core-sets", "7-1"], "--core-sets", "lower number first"),
    (["train", "--resume", "missing"], "--resume", "'missing'"),
    (["train", "--weights", "missing.h5"], "--weights", "'missing.h5'"),
    (["train", "--dataset-path", "missing"], "--dataset-path", "'missing'"),
    (["train", "--config-path", "missing.yml"], "--config-path", "missing.yml"),
    (["train", "--trace", "missing/trace.json"], "--trace", "missing/trace.json"),
    (["train", "--device-mapping", "0", "1", "2"], "--device-mapping", "got 3"),
    (["train", "--set", "seed"], "--set", "name=value"),
    (["train", "--set", "seed.x=1"], "--set seed.x", "not a dictionary"),
    (["train", "words"], "'words'", "not a flag"),
    (["train", "-b", "3"], "'-b'", "not a flag"),
    (["train", "--seed"], "--seed", "no value"),
    (["export", "missing", "-o", "x.onnx"], "'missing'", "does not exist"),
    (["export", "--model", "toy_model", "-o", "x.onx"], "x.onx", "ONNX (.onnx)"),
    (["predict", "missing.onnx", "a.png"], "a.png", "does not exist"),
    (["show", "missing.onnx"], "missing.onnx", "does not exist"),
    (["validate", "missing.h5"], "'missing.h5'", "does not exist"),
    (["validate", "--checkpoint-input-dir", "missing"], "--checkpoint-input-dir", "'missing'"),
    (["validate", "--dry-run"], "--dry-run", "does not apply"),
    (["plan", "--plot", "plan.png"], "--plot", ".svg"),
    (["plan", "--num-replicas", "2"], "--num-replicas", "--instances"),
    (["devices", "--core-sets", "7-1"], "--core-sets", "lower number first"),
    (["run", "--host-subnet", "10.1.0.0/99", "true"], "--host-subnet", "10.1.0.0/99"),
    (["run", "--host", "node[3-1]", "true"], "--host", "3-1"),
    (["run", "--hostfile", "missing", "true"], "--hostfile", "'missing'"),
    (["run", "--num-instances=3", "--num-replicas=4", "true"], "--num-replicas", "got 4"),
    (["run", "-n", "2", "true"], "'-n'", "--num-instances"),
    (["data", "show", "mnist", "missing"], "PATH", "'missing'"),
    (["data", "show", "fashion_mnist", "--output", "missing/x.png"], "--output", "'missing'"),
    (["data", "verify", "mnist", "missing"], "PATH", "'missing'"),
    (["data", "build-imagenet", "missing", "to"], "SOURCE", "'missing'"),
    (["data", "fetch", "cifar10", "--mirror", "nonsense"], "--mirror", "'nonsense'"),
    (["data", "fetch"], "NAME", "not given"),
]


def make_cases(commands, words, count, seed):
    """`commands` are chosen by weight; `words` are lists of arguments of misspelt_words. Every
    command has at least one case."""
    rng = random.Random(seed)
    chosen = list(commands)
    made = [Case(args, [(token,) for token in tokens], None, "text")
            for args, *tokens in WRONG_TEXTS]
    made += [command.case(rng) for command in chosen]
    for _ in range(count - len(made)):
        if rng.random() < 0.08:
            made.append(misspelt_words(*rng.choice(words), rng))
        else:
            made.append(rng.choices(chosen, [commands[one] for one in chosen])[0].case(rng))
    return made
