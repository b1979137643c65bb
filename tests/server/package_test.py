# Makes the Debian packages of a build, unpacks both into an empty folder, and serves with them.
# usage: package_test.py BUILD_DIRECTORY   77: it is not the build of ./pando, or a tool is missing
# SPDX-License-Identifier: MIT
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env=dict(os.environ, PANDO_SKIP_PACKAGES="1"))


def expect(condition, what, result=None):
    if not condition:
        sys.exit(f"package_test: {what}" + (f"\n{result.stdout}\n{result.stderr}" if result else ""))


def check_serving(root, folder):
    pando = root / "usr/bin/pando"
    made = run(pando, "export", "--model", "mnist_cnn", "--export-dir", folder / "digits")
    expect(made.returncode == 0, "pando export of the package failed", made)
    server = subprocess.Popen([pando, "serve", folder / "digits", "--rest_api_port=-1", "--port=-1"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = server.stdout.readline()
        address = re.search(r"http://\S+", line)
        expect(address, f"pando serve of the package said: {line}")
        with urllib.request.urlopen(address[0] + "v1/models/digits", timeout=60) as answer:
            expect(b"AVAILABLE" in answer.read(), "the model is not served")
        server.send_signal(signal.SIGTERM)
        expect(server.wait(timeout=60) == 0, "the server did not end with 0")
    finally:
        server.kill()
        server.wait()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    tools = all(shutil.which(tool) for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps"))
    if not tools or build != ROOT / "build/release":
        print("package_test: needs cpack, dpkg-deb, dpkg-shlibdeps and the build of ./pando")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = run(ROOT / "pando", "package", folder)
        packages = {path.name.split("_")[0]: path for path in folder.glob("*.deb")}
        expect(made.returncode == 0 and {"pando", "pando-serve"} <= set(packages),
               f"expected pando and pando-serve, got {sorted(packages)}", made)
        depends = run("dpkg-deb", "-f", packages["pando-serve"], "Depends").stdout
        for word in ("libnghttp2", "libprotobuf", "pando (="):
            expect(word in depends, f"pando-serve does not depend on {word}: {depends}")
        expect("libgrpc" not in depends, f"pando-serve depends on gRPC's C++: {depends}")
        for other in set(packages) - {"pando-serve"}:  # that of the board is there if it is built
            expect("libnghttp2" not in run("dpkg-deb", "-f", packages[other], "Depends").stdout,
                   f"the package {other} depends on HTTP/2")
        for package in packages.values():
            expect(run("dpkg-deb", "-x", package, folder / "root").returncode == 0, "a package does not unpack")
        check_serving(folder / "root", folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
