// SPDX-License-Identifier: MIT
#include "pando/launch/run_reference.h"

#include "pando/launch/run_options.h"

namespace pando::launch {
namespace {

constexpr const char* kHead =
    R"md(<!-- Made by `pando run --help-markdown > docs/reference/run.md`; do not edit. -->
# pando run

Starts a program as several instances, on one machine or on many.

## Synopsis

```sh
pando run [FLAG [VALUE]]... [--] PROGRAM [ARGUMENT]...
```

## Description

An instance is a process. `mpirun`, of Open MPI or MPICH, starts `--num-instances` of them, divided
evenly over the hosts; `--num-replicas` are divided evenly among the instances. Any program can be
started; `pando train` in it trains one model with the replicas of all instances.

The first word that is neither flag nor value starts the program, and all that follows belongs to
it. `pando` is this program when there is none on `PATH`; on other hosts it has to be installed at
the same place, and so do the data.

### How values are written

`--name value` and `--name=value` are the same. A name may be shortened while it stays unambiguous:
`--num-instance`. A boolean flag may stand alone; its values are `true t 1 yes y on` and `false f 0
no n off`. Every flag that is not only for the command line is a key of the same name in the YAML
file of `--import-config`.

### Cores

Instances of a host have cores of their own, all within one NUMA node where a node has room, and the
devices of an instance divide its cores. What `pando run` itself may use (`taskset`, a control
group) is what it divides. With more instances than cores they share them, and a warning says so.
`--print-topology` shows the division.

### Environment of an instance

| Variable | Value |
|---|---|
| `POPDIST_NUM_TOTAL_REPLICAS` | replicas of all instances |
| `POPDIST_NUM_LOCAL_REPLICAS` | replicas of this one |
| `POPDIST_NUM_IPUS_PER_REPLICA` | devices of each replica |
| `POPDIST_REPLICA_INDEX_OFFSET` | the index of its first replica |
| `POPDIST_LOCAL_INSTANCE_INDEX` | its index among the instances of its host |
| `POPDIST_UNIFORM_REPLICAS_PER_INSTANCE` | `1`: all have equally many |
| `PANDO_JOB` | a name of the job, the same after a restart |
| `PANDO_DEFAULT_REPLICAS` | `1`: `--num-replicas` was not given, and that of `pando train` counts; else `0` |
| `PANDO_RESTART` | how often the job was started again |
| `PANDO_HEARTBEAT_PERIOD`, `PANDO_HEARTBEAT_TIMEOUT` | seconds, if the flags are given |
| `PANDO_STALL_TIMEOUT` | seconds after which an instance that others wait for counts as lost; as `pando run` has it |
| `TERM` | `dumb`: what it writes becomes lines |

`PATH`, `LD_LIBRARY_PATH` and what begins with `PANDO_` or `POPDIST_` are passed on to other hosts;
`--mpi-local-args '-x NAME'` passes on more (Open MPI).

### Output

Lines come whole, with the instance in front: `[1,0]<stdout>:` is instance 0. With
`--only-output-from-instance N` the last errors of another instance are still shown when it fails.

### Signals

The first SIGINT, SIGTERM, SIGHUP or SIGUSR1 reaches every instance as SIGUSR1: `pando train` then
stops after the weight update in progress and saves. The second ends the job. The last line says
which signal it was.

### Failures

When an instance fails all end, and the last line names the first that failed, its host, its process
and how it ended. A job that saved and stopped (exit code 75) has not failed, whoever asked for it.
A job whose other instances do not end within 15 seconds is ended. With `--max-restarts N` the job is
started again, and `pando train` goes on from its last good checkpoint.

## Flags

)md";

constexpr const char* kTail = R"md(
## Exit codes

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | failed; so does a job with a host that is lost or cannot be reached |
| 2 | a wrong flag or configuration, or numbers that do not divide |
| 75 | the program was stopped by a signal, with everything saved |
| 126 | the program may not be executed |
| 127 | the program is not there |
| 128 + n | signal n ended the program, or was the second to `pando run` |
| others | that of the instance that failed first |

## Examples

Two instances of this machine, with two replicas each:

```sh
pando run --num-instances 2 --num-replicas 4 pando train --model cifar_resnet8
```

Four hosts with two instances each, started again up to three times:

```sh
pando run -H 'node[0-3]' --num-instances 8 --max-restarts 3 \
  pando train --model resnet50 --dataset-path /data/imagenet
```

Where everything would run, and with which command:

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
