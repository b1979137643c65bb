// SPDX-License-Identifier: MIT
#include "pando/launch/run_reference.h"

#include "pando/launch/run_options.h"

namespace pando::launch {
namespace {

constexpr const char* kHead =
    R"md(<!-- Made by `pando run --help-markdown > docs/reference/run.md`; do not edit. -->
# pando run

Starts a program as several instances, on one machine or on several.

## Synopsis

```sh
pando run [FLAG [VALUE]]... [--] PROGRAM [ARGUMENT]...
```

## Description

An instance is a process. `mpirun`, of Open MPI or MPICH, starts `--num-instances` processes, divided
evenly over the hosts; `--num-replicas` replicas are divided evenly among the instances. You can start
any program; `pando train` trains one model with the replicas of all instances.

The program is the first word that is neither flag nor value; all words after it are its arguments.
If `pando` is not on `PATH`, the program `pando` means the running executable. On other hosts, Pando
has to be installed under the same path, and the data have to be there too.

### How values are written

`--name value` and `--name=value` are the same. You may shorten a name as long as it is unambiguous:
`--num-instance`. A boolean flag needs no value; its values are `true t 1 yes y on` and `false f 0
no n off`. In the YAML file of `--import-config`, every flag is a key of the same name, except those
marked as "only on the command line".

### Cores

Each instance of a host gets its own cores, all within one NUMA node where a node has room, and the
devices of an instance divide its cores. `pando run` divides the cores that it may use itself
(`taskset`, a control group). If there are more instances than cores, instances share cores, and
`pando run` prints a warning. `--print-topology` shows the division.

### Environment of an instance

| Variable | Value |
|---|---|
| `POPDIST_NUM_TOTAL_REPLICAS` | replicas of all instances |
| `POPDIST_NUM_LOCAL_REPLICAS` | replicas of this instance |
| `POPDIST_NUM_IPUS_PER_REPLICA` | devices of each replica |
| `POPDIST_REPLICA_INDEX_OFFSET` | index of the first replica of this instance |
| `POPDIST_LOCAL_INSTANCE_INDEX` | index of this instance among those of its host |
| `POPDIST_UNIFORM_REPLICAS_PER_INSTANCE` | `1`: all instances have the same number of replicas |
| `PANDO_JOB` | name of the job, the same after a restart |
| `PANDO_DEFAULT_REPLICAS` | `1`: `--num-replicas` was not given, so `pando train` uses its own `--num-replicas`; else `0` |
| `PANDO_RESTART` | number of restarts of the job |
| `PANDO_HEARTBEAT_PERIOD`, `PANDO_HEARTBEAT_TIMEOUT` | seconds, if the flags are given |
| `PANDO_STALL_TIMEOUT` | seconds after which an instance that others wait for counts as lost; the value that `pando run` itself has |
| `TERM` | `dumb`: the output is split into lines, not shown on a terminal |

`PATH`, `LD_LIBRARY_PATH` and all variables that begin with `PANDO_` or `POPDIST_` are passed on to
other hosts; with Open MPI, `--mpi-local-args '-x NAME'` passes on another variable.

### Output

Output is printed in whole lines that start with their instance: `[1,0]<stdout>:` is instance 0. With
`--only-output-from-instance N`, the last errors of another instance are still shown if it fails.

### Signals

The first SIGINT, SIGTERM, SIGHUP or SIGUSR1 reaches every instance as SIGUSR1: `pando train` then
stops after the weight update in progress and saves. Signals within one second of the first are the same
request: `timeout` signals a process and then its group, a closed terminal sends SIGHUP twice. A later
signal ends the job. The last line names the signal. On the machine of `pando run`, processes of the job
that were stopped (SIGSTOP) continue, so that they can save.

### Failures

When an instance fails, all instances end. The last line names the first instance that failed, its
host, its process and how it ended. A job that saved and stopped (exit code 75) has not failed,
whatever made it stop. If the other instances do not end within 15 seconds, `pando run` ends them.
With `--max-restarts N` the job is restarted, and `pando train` continues from its last good
checkpoint.

## Flags

)md";

constexpr const char* kTail = R"md(
## Exit codes

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | the job failed, or a host was lost or cannot be reached |
| 2 | a wrong flag or configuration, or numbers that do not divide evenly |
| 75 | the program saved everything and stopped after a signal |
| 126 | the program is not executable |
| 127 | the program does not exist |
| 128 + n | signal n ended the program, or was a later signal to `pando run` |
| others | the exit code of the instance that failed first |

## Examples

Two instances on this machine, with two replicas each:

```sh
pando run --num-instances 2 --num-replicas 4 pando train --model cifar_resnet8
```

Four hosts with two instances each, restarted up to three times:

```sh
pando run -H 'node[0-3]' --num-instances 8 --max-restarts 3 \
  pando train --model resnet50 --dataset-path /data/imagenet
```

Show where everything would run, and with which command:

```sh
pando run --num-instances 4 --num-replicas 8 --print-topology --dry-run -- echo hello
```

A pipeline of two stages in each of four replicas, on two instances:

```sh
pando run --num-instances 2 --num-replicas 4 --ipus-per-replica 2 \
  pando train --model toy_model --pipeline-splits conv2d_1 --gradient-accumulation-count 8
```
)md";

}  // namespace

std::string run_reference() { return kHead + run_flags_markdown() + kTail; }

}  // namespace pando::launch
