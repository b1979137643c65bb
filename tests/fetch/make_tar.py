#!/usr/bin/env python3
# Makes archives, good ones and attacks, for the tests of unpacking.
# SPDX-License-Identifier: MIT
"""usage: make_tar.py ARCHIVE ENTRY...

An ENTRY is PATH=N for a file of N letters, PATH/ for a folder, PATH->TARGET for a symbolic link,
PATH=>TARGET for a hard link, PATH! for a named pipe.
"""
import io
import sys
import tarfile


def entry_of(word):
    for mark, kind in (("->", tarfile.SYMTYPE), ("=>", tarfile.LNKTYPE)):
        if mark in word:
            name, target = word.split(mark)
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            return info, b""
    if word.endswith("!"):
        info = tarfile.TarInfo(word[:-1])
        info.type = tarfile.FIFOTYPE
        return info, b""
    if word.endswith("/"):
        info = tarfile.TarInfo(word[:-1])
        info.type = tarfile.DIRTYPE
        return info, b""
    name, count = word.split("=")
    info = tarfile.TarInfo(name)
    info.size = int(count)
    return info, b"a" * info.size


def main():
    with tarfile.open(sys.argv[1], "w:gz") as archive:
        for word in sys.argv[2:]:
            info, content = entry_of(word)
            archive.addfile(info, io.BytesIO(content))


if __name__ == "__main__":
    main()
