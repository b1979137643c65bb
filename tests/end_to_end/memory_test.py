#!/usr/bin/env python3
"""Memory: a run takes what it planned, and what does not fit is refused before it is taken.

usage: memory_test.py PROGRAM [--full]

With --full it compares plan and measured peak of every model that `pando train` trains and prints a
table; otherwise of two small ones.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
FULL = '--full' in sys.argv
UNITS = {'B': 1, 'KiB': 2**10, 'MiB': 2**20, 'GiB': 2**30, 'TiB': 2**40}
TOLERANCE = 0.10
USAGE = 2
CIFAR = ['cifar10_cnn', 'cifar_resnet8', 'cifar_resnet20', 'cifar_resnet32', 'cifar_resnet44',
         'cifar_resnet56', 'toy_model', 'toy_model_bn']
IMAGENET = ['resnet18', 'resnet34', 'resnet50']


def run(args, folder, prepare=None):
    """Returns the exit code, the output and the largest resident memory in bytes."""
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
        sys.exit(f'failed: {what}\n{output[-3000:]}')


def bytes_in(row, text):
    number, unit = re.search(rf'^  {row} +([\d.]+) (\w+)$', text, re.M).groups()
    return float(number) * UNITS[unit]


def planned(output):
    """The total of the table, or what was in use at most before it."""
    table = output[output.index('memory of the run'):]
    return max(bytes_in('total', table), bytes_in('most in use so far', table))


def compare(model, args, folder):
    run_dir = os.path.join(folder, 'run')
    code, output, peak = run(['train', '--model', model, '--compile-report', '--num-epochs', '1',
                              '--weight-updates-per-epoch', '3', '--run-dir', run_dir, *args],
                             folder)
    shutil.rmtree(run_dir, ignore_errors=True)
    expect(code == 0, f'{model}: exit code {code}', output)
    plan = planned(output)
    shown = ' '.join(arg for arg in args if '/' not in arg and arg != '--dataset-path')
    print(f'{model:<16} {shown:<45} plan {plan / 2**20:7.1f} MiB, '
          f'measured {peak / 2**20:7.1f} MiB, {100 * (plan / peak - 1):+5.1f} %', flush=True)
    return abs(plan / peak - 1) <= TOLERANCE


def check_plans(folder):
    cifar = os.path.join(folder, 'cifar10')
    subprocess.run([PROGRAM, 'data', 'make-cifar10', cifar, '--train', '512', '--test', '256'],
                   check=True, stdout=subprocess.DEVNULL)
    small = ['--dataset-path', cifar]
    if not FULL:
        return [compare('cifar10_cnn', small, folder),
                compare('cifar_resnet20', [*small, '--num-replicas', '2'], folder)]
    imagenet = os.path.join(folder, 'imagenet')
    subprocess.run([PROGRAM, 'data', 'make-imagenet', imagenet, '--train', '64', '--validation',
                    '32'], check=True, stdout=subprocess.DEVNULL)
    large = ['--dataset-path', imagenet]
    fits = [compare('mnist_cnn', [], folder)]
    fits += [compare(model, small, folder) for model in CIFAR]
    fits += [compare('cifar_resnet20', [*small, *more], folder) for more in
             (['--precision', '16.16'], ['--optimizer', 'adam', '--validation', 'after'],
              ['--num-replicas', '2', '--gradient-accumulation-count', '2'],
              ['--pipeline-splits', 'auto', '--gradient-accumulation-count', '8'])]
    fits += [compare(model, [*large, '--micro-batch-size', '4'], folder) for model in IMAGENET]
    fits += [compare('resnet18', [*large, '--micro-batch-size', '4', *more], folder) for more in
             (['--validation', 'false'], ['--precision', 'bf16.32'])]
    return fits


RESNET = ['train', '--model', 'resnet18', '--synthetic-data', 'host']


def check_refused(what, words, args, folder, prepare=None):
    run_dir = os.path.join(folder, 'refused')
    code, output, _ = run([*args, '--run-dir', run_dir], folder, prepare)
    expect(code == USAGE, f'{what}: expected exit code {USAGE}, got {code}', output)
    for word in (*words, 'are left'):
        expect(word in output, f'{what}: expected "{word}"', output)
    expect(not os.path.exists(run_dir), f'{what}: left {run_dir}')
    print(f'refused: {what}')


def limit_addresses(bytes_):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))


def control_group():
    """A new group with a limit of 150 MiB, version 2 or 1; None if that is not permitted."""
    name = f'pando-memory-test-{os.getpid()}'
    for root, limit in (('/sys/fs/cgroup', 'memory.max'),
                        ('/sys/fs/cgroup/memory', 'memory.limit_in_bytes')):
        group = os.path.join(root, name)
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            # Without O_CREAT: the folder of version 1 is an ordinary one.
            file = os.open(os.path.join(group, limit), os.O_WRONLY)
            os.write(file, str(150 << 20).encode())
            os.close(file)
            return group
        except OSError:
            os.rmdir(group)
    return None


def check_control_group(folder):
    group = control_group()
    if group is None:
        print('control group: not permitted here, left out')
        return

    def join():
        with open(os.path.join(group, 'cgroup.procs'), 'w') as out:
            out.write(str(os.getpid()))
    try:
        check_refused('a control group of 150 MiB', ['the control group /'], RESNET, folder, join)
    finally:
        os.rmdir(group)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_refused('ulimit -v 800 MB', ['ulimit -v', 'training: activations'], RESNET, folder,
                      limit_addresses(800 << 20))
        check_refused('--image-size 4096', ['GiB', 'training: activations'],
                      [*RESNET, '--image-size', '4096', '--micro-batch-size', '2',
                       '--memory-limit', '4G'], folder)
        check_refused('--memory-limit 600M', ['memory limit', '--micro-batch-size'],
                      [*RESNET, '--memory-limit', '600M', '--validation', 'false',
                       '--ckpts-per-epoch', '0'], folder)
        check_control_group(folder)
        expect(all(check_plans(folder)), f'plan and peak differ by more than {TOLERANCE:.0%}')


main()
