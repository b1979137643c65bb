#!/usr/bin/env python3
"""Memory: what a run plans is what it takes, and what does not fit is refused before it is taken.

usage: memory_test.py PROGRAM [--full]

With --full it compares plan and measured peak for every model that `pando train` trains, and
prints a table; otherwise for two small ones.
"""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
FULL = '--full' in sys.argv
UNITS = {'B': 1, 'KiB': 2**10, 'MiB': 2**20, 'GiB': 2**30, 'TiB': 2**40}
TOLERANCE = 0.10
MNIST = ['--synthetic-data', 'host', '--num-epochs', '1', '--weight-updates-per-epoch', '6']


class Failed(Exception):
    pass


def run(args, folder, prepare=None):
    """Returns exit code, output and the largest resident memory in bytes."""
    path = os.path.join(folder, 'output')
    with open(path, 'w') as out:
        child = subprocess.Popen([PROGRAM, *args], stdout=out, stderr=subprocess.STDOUT,
                                 preexec_fn=prepare)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    with open(path) as out:
        return child.returncode, out.read(), usage.ru_maxrss * 1024


def expect(condition, what, output=''):
    if not condition:
        raise Failed(f'{what}\n{output[-3000:]}')


def planned(output):
    rows = output[output.index('memory of the run'):]
    number, unit = re.search(r'^  total +([\d.]+) (\w+)$', rows, re.M).groups()
    return float(number) * UNITS[unit]


def make_data(folder, names):
    """Small data sets, because validation reads all test images."""
    made = {}
    if 'cifar10' in names:
        made['cifar10'] = os.path.join(folder, 'cifar10')
        subprocess.run([PROGRAM, 'data', 'make-cifar', made['cifar10']], check=True,
                       stdout=subprocess.DEVNULL)
    if 'imagenet' in names:
        made['imagenet'] = os.path.join(folder, 'imagenet')
        subprocess.run([PROGRAM, 'data', 'make-imagenet', made['imagenet']], check=True,
                       stdout=subprocess.DEVNULL)
    return made


def compare(model, args, folder):
    run_dir = os.path.join(folder, f'run-{model}-{len(os.listdir(folder))}')
    code, output, peak = run(['train', '--model', model, '--compile-report', '--run-dir', run_dir,
                              *args], folder)
    expect(code == 0, f'{model}: exit code {code}', output)
    plan = planned(output)
    print(f'{model:<16} {" ".join(a for a in args if "/" not in a):<60} '
          f'plan {plan / 2**20:8.1f} MiB, measured {peak / 2**20:8.1f} MiB, '
          f'{100 * (plan / peak - 1):+.1f} %', flush=True)
    return abs(plan / peak - 1) <= TOLERANCE
