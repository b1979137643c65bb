# SPDX-License-Identifier: MIT
"""Runs a script of Node in which pages are opened by a headless Chromium (browser.js beside this file).

    import browser
    browser.run_script("report_page.js", packages_folder, [report, screenshots])

The packages of npm are installed into packages_folder when they are not there yet. Without Debian's
chromium, without node, or if npm reaches no registry, the test ends as skipped (exit code 77); with
PANDO_EXTERNAL=1 that is a failure."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGES = {"puppeteer-core": "24.8.2", "axe-core": "4.10.3"}
FOLDER = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def skip(why):
    print("skipped: " + why, flush=True)
    sys.exit(1 if os.environ.get("PANDO_EXTERNAL") == "1" else SKIPPED)


def find_program(*names):
    for name in names:
        if path := shutil.which(name):
            return path
    skip("needs " + " or ".join(names))


def install_packages(folder):
    """Returns the folder node_modules. Tests that run at the same time install only once."""
    npm = find_program("npm")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    modules = folder / "node_modules"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((modules / name / "package.json").exists() for name in PACKAGES):
            wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
            try:
                made = subprocess.run(
                    [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
                     str(folder), *wanted], capture_output=True, text=True, timeout=300)
            except subprocess.TimeoutExpired:
                skip("npm install takes longer than 300 s")
            if made.returncode != 0:
                skip("npm cannot install " + " ".join(wanted) + ": " + made.stderr.strip()[-300:])
    return modules


def run_script(script, packages_folder, arguments, timeout=300):
    """Runs a script of Node, which gets the arguments, and fails with its output if it fails."""
    chromium = find_program("chromium", "chromium-browser", "google-chrome")
    node = find_program("node", "nodejs")
    modules = install_packages(packages_folder)
    with tempfile.TemporaryDirectory(prefix="browser") as profile:
        # The configuration of the user's browser is neither read nor written.
        environment = {**os.environ, "NODE_PATH": os.pathsep.join((str(modules), str(FOLDER))),
                       "PANDO_CHROMIUM": chromium, "PANDO_BROWSER_PROFILE": profile,
                       "HOME": profile, "XDG_CONFIG_HOME": profile, "XDG_CACHE_HOME": profile}
        done = subprocess.run([node, str(script), *map(str, arguments)], env=environment,
                              capture_output=True, text=True, timeout=timeout)
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        sys.exit(f"{pathlib.Path(script).name} failed with {done.returncode}:\n{done.stderr[-4000:]}")
