// SPDX-License-Identifier: MIT
#include "pando/app/flags/train_reference.h"

#include <fmt/core.h>

#include "pando/app/flags/train_options.h"
#include "pando/options/presets.h"

namespace pando::app {
namespace {

constexpr const char* kHead =
    R"md(<!-- Made by `pando train --help-markdown > docs/reference/train.md`; do not edit. -->
# pando train

Trains a model of the zoo, validates it, and writes checkpoints, a history and a log.

## Synopsis

```sh
pando train [--config NAME] [--config-path FILE] [FLAG [VALUE...]]...
```

## Description

Reads the data set, builds and compiles the model, spreads it over devices, trains for
`--num-epochs` and then validates every checkpoint that training produced. Without flags it
trains `mnist_cnn` on Fashion-MNIST. A run writes all its files to its run directory. The
same seed, slices and data give the same bits on any number of cores.

A wrong flag, value or combination ends the program before anything is written; the message
names the flag, what was expected, what it got and what to do.

### How values are written

- `--name value` and `--name=value` are the same. A name may be shortened if the result is
  unambiguous.
- A boolean flag needs no value: `--shuffle` is `--shuffle true`, `--no-shuffle` is `--shuffle
  false`. Values: `true t 1 yes y on` and `false f 0 no n off`, in any case.
- A list takes several words, or commas: `--device-mapping 0 1 1`, `--device-mapping=0,1,1`.
- A number may be a fraction: `--logs-per-epoch 1/2`.
- A dictionary is YAML or JSON and replaces the whole default: `--norm-layer '{name: group_norm,
  num_groups: 32}'`. To change one key only: `--set norm-layer.momentum=0.9`.

### Configuration files and presets

Every flag is a key of the same name in YAML. Defaults come first, then the preset or file, then
the command line; the order on the command line does not matter. `--print-config` prints every
effective value and where it came from; the run directory keeps the same text as `config.yml`, and
`--config-path RUN/config.yml` repeats the run. In files, anchors and merges (`<<`) work; an unknown
or duplicate key is an error.

`--config NAME` selects a preset: from the file that `--config-path` names, or one of those that
ship with the program:

)md";

constexpr const char* kTail = R"md(
## Files

The run directory is `--run-dir`, or by default `runs/<model>-<date>-<time>`. It contains:

- `config.yml`: every effective option, with its origin as a comment. Options that `--precision`
  chose are comments only: a run from this file chooses them again.
- `log.txt`: the messages of the run; times are in the history.
- `history.csv`, `history.json`: a row for every log event and every validation.
- `summary.json`: state, best value and a short curve, for lists of many runs.
- `checkpoints/epoch_<epoch>.h5`: weights that Keras can read, and all that is needed to resume.
- `events.out.tfevents.*`: the same numbers for TensorBoard; `curves.svg`: loss and accuracy as a
  picture; with `--wandb`, `wandb.jsonl`.
- `class_report.txt`, `class_report.csv`, `confusion.csv`, `confusion.svg`: precision, recall
  and F1 of each class and the confusion matrix, after validation.
- `run.json`, `load.csv`, `class_report.json`, `class_samples.png`, `input.json`, `input.png`: what
  `pando report` reads beside these; with `--report`, its page `report.html`.
- Instead of the class report, a regression has `target_report.txt`, `target_report.json` and
  `targets.svg`; a segmentation has `segmentation_report.txt`, `.csv`, `.json`, `segmentation.png`
  and `segmentation_samples.png`.

If `--run-dir` already has files of an earlier run, they are moved to `previous-<n>/` in it.

## Exit codes

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | failed; the message says where |
| 2 | a wrong flag, value or configuration, or a run directory that cannot be written |
| 3 | the loss is not a finite number |
| 75 | stopped by a signal after a weight update, with everything saved: the run can be resumed |

## Examples

Five epochs of the default model:

```sh
pando train --num-epochs 5 --micro-batch-size 128
```

A preset, with a change, on CIFAR-10 files:

```sh
pando train --config resnet8_test --dataset-path ~/cifar10 --num-epochs 10
```

What a large run would need, without its data and without training:

```sh
pando train --config resnet50_16ipus_8k_bn_pipeline --synthetic-data host --num-replicas 1 --dry-run
```

Two replicas, four micro-batches of each per weight update:

```sh
pando train --num-replicas 2 --micro-batch-size 32 --gradient-accumulation-count 4
```

A pipeline whose splits are chosen by measurement, and a trace of what every worker did:

```sh
pando train --pipeline-splits auto --gradient-accumulation-count 16 --trace pipeline.json
```

Reports on where time and memory go, in the folder `reports`:

```sh
pando train --num-epochs 1 --profile reports
```

Group normalisation in place of batch normalisation:

```sh
pando train --model cifar_resnet20 --norm-layer '{name: group_norm, num_groups: 8}'
```
)md";

std::string text_of(const ConfigValue& preset, const char* key, const char* otherwise) {
  const ConfigValue* value = preset.find(key);
  return value == nullptr ? otherwise : value->text;
}

std::string presets_table() {
  std::string out =
      "| Preset | Model | Data set | Micro-batch | Global batch | Replicas | Epochs |\n"
      "|---|---|---|---|---|---|---|\n";
  const ConfigValue file = parse_yaml(kPresetsText, kPresetsSource);
  for (size_t i = 0; i < file.keys.size(); ++i) {
    const ConfigValue& preset = file.items[i];
    const std::string micro_batch = text_of(preset, "micro-batch-size", "");
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", file.keys[i],
                       text_of(preset, "model", ""), text_of(preset, "dataset", "of the model"),
                       micro_batch, text_of(preset, "global-batch-size", micro_batch.c_str()),
                       text_of(preset, "num-replicas", "1"), text_of(preset, "num-epochs", ""));
  }
  return out;
}

}  // namespace

std::string train_reference() {
  TrainOptions options;
  CommonOptions common;
  OptionTable table;
  add_train_options(table, options);
  add_common_options(table, common);
  return kHead + presets_table() + "\n## Flags\n\n" + markdown_text(table) + kTail;
}

}  // namespace pando::app
