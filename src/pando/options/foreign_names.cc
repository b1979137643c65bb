// SPDX-License-Identifier: MIT
#include "pando/options/foreign_names.h"

#include <algorithm>

#include "pando/options/options.h"

namespace pando {
namespace {

std::string with_dashes(std::string_view name) {
  std::string text = to_lower(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

// Returns null if the table has no such option, or its dictionary no such key.
const Option* find_target(const OptionTable& table, std::string_view target) {
  const size_t dot = target.find('.');
  const Option* option = table.find_exact(target.substr(0, dot));
  if (option == nullptr || dot == std::string_view::npos) return option;
  const bool has_key = option->entries && option->entries->find_exact(target.substr(dot + 1));
  return has_key ? option : nullptr;
}

bool is_elsewhere(std::string_view target) { return target.starts_with("pando "); }

}  // namespace

std::span<const ForeignNames> foreign_names() {
  static const std::vector<ForeignNames> rows = {
      {"dataset-path",
       {"data", "data-dir", "data-path", "data-root", "datadir", "dataset-dir", "dataset-root",
        "root", "train-dir", "path"}},
      {"folder", {"data-dir", "data-path", "data-root", "root", "dir", "path", "output-dir"}},
      {"synthetic-data", {"dummy-data", "fake-data", "generated-data", "use-synthetic-data"}},
      {"image-size",
       {"imgsz", "img", "img-size", "input-size", "crop-size", "train-crop-size", "resolution"}},
      {"random-flip", {"hflip", "vflip", "hflip-prob", "fliplr", "flipud", "horizontal-flip"}},
      {"random-crop", {"crop-padding", "crop-pct"}},
      {"random-crop-area", {"min-scale", "crop-scale", "scale-min"}},
      {"random-rotation", {"degrees", "rotation", "rotate"}},
      {"color-jitter", {"jitter", "hsv-h", "hsv-s", "hsv-v", "color-jitter-prob"}},
      {"randaugment", {"aa", "auto-augment", "autoaugment", "ra-magnitude", "ra-reps", "rand-aug"}},
      {"random-erasing", {"reprob", "random-erase", "erasing", "cutout"}},
      {"random-erasing-fill", {"remode"}},
      {"mixup", {"mixup-alpha", "mix-up"}},
      {"cutmix", {"cutmix-alpha", "cut-mix"}},
      {"pipeline-num-parallel",
       {"workers", "num-workers", "nw", "jobs", "num-parallel-calls", "dataloader-workers"}},
      {"workers", {"num-workers", "nw", "jobs", "threads", "num-threads"}},
      {"model", {"arch", "architecture", "backbone", "net", "network"}},
      {"weights",
       {"pretrained", "initial-checkpoint", "init-from", "load", "load-weights", "finetune",
        "weights-path", "pretrained-weights", "from-pretrained"}},
      {"micro-batch-size", {"bs", "mbs", "batch", "batch-size-per-device", "train-batch-size"}},
      {"batch-size", {"bs", "batch", "micro-batch-size"}},
      {"validation-micro-batch-size",
       {"val-batch-size", "validation-batch-size", "eval-batch-size", "test-batch-size",
        "per-device-eval-batch-size"}},
      {"global-batch-size", {"gbs", "total-batch-size", "effective-batch-size"}},
      {"gradient-accumulation-count",
       {"accum", "accum-steps", "grad-accum", "grad-accum-steps", "gradient-accumulation",
        "gradient-accumulation-steps", "accumulate-grad-batches", "accumulation-factor",
        "gradient-accumulation-factor", "accumulation-steps"}},
      {"num-epochs",
       {"n-epochs", "max-epochs", "epoch-count", "train-epochs", "nb-epoch", "num-train-epochs"}},
      {"weight-updates-per-epoch", {"steps-per-epoch", "limit-train-batches"}},
      {"steps-per-execution", {"iterations-per-loop", "device-iterations", "batches-per-step"}},
      {"seed", {"random-seed", "manual-seed", "rng-seed", "random-state"}},
      {"learning-rate", {"lr", "lr0", "base-lr", "init-lr", "initial-lr", "blr"}},
      {"lr-schedule", {"sched", "scheduler", "lr-scheduler", "cos-lr", "lr-policy"}},
      {"lr-schedule-params.boundaries",
       {"milestones", "decay-milestones", "lr-steps", "decay-epochs", "lr-step-size"}},
      {"lr-schedule-params.end_learning_rate_ratio", {"lrf", "min-lr", "final-lr", "lr-min"}},
      {"lr-warmup-params.warmup_epochs",
       {"warmup", "warmup-epochs", "lr-warmup-epochs", "warm-up-epochs"}},
      {"optimizer", {"opt", "optim"}},
      {"optimizer-params.momentum", {"momentum", "mom", "sgd-momentum"}},
      {"optimizer-params.nesterov", {"nesterov", "use-nesterov"}},
      {"optimizer-params.beta_1", {"beta1", "beta-1", "adam-beta1"}},
      {"optimizer-params.beta_2", {"beta2", "beta-2", "adam-beta2"}},
      {"optimizer-params.epsilon", {"eps", "epsilon", "opt-eps", "adam-epsilon"}},
      {"optimizer-params.rho", {"rho", "rmsprop-alpha", "decay"}},
      {"weight-decay", {"wd"}},
      {"l2-regularization", {"l2", "kernel-regularizer"}},
      {"ema-decay",
       {"model-ema", "model-ema-decay", "use-ema", "ema-momentum", "weight-averaging"}},
      {"label-smoothing", {"smoothing", "ls"}},
      {"norm-layer.momentum", {"bn-momentum", "batch-norm-momentum"}},
      {"dbn-replica-group-size", {"sync-bn", "sync-batchnorm", "dist-bn"}},
      {"precision", {"amp", "fp16", "bf16", "half", "mixed-precision", "dtype", "amp-dtype"}},
      {"loss-scaling", {"loss-scale", "grad-scale"}},
      {"num-replicas",
       {"gpus", "ngpus", "num-gpus", "gpu", "device", "devices", "num-devices", "ipus", "num-ipus",
        "replicas", "replication-factor", "num-ipus-per-replica"}},
      {"devices", {"gpus", "ngpus", "num-gpus", "device", "ipus", "num-ipus", "num-replicas"}},
      {"threads", {"nthreads", "num-threads", "omp-num-threads", "intra-op-threads", "cpus"}},
      {"cores-per-device", {"cores", "num-cores"}},
      {"pipeline-stages", {"pipeline-depth", "num-stages", "stages"}},
      {"recomputation",
       {"grad-checkpointing", "gradient-checkpointing", "recompute", "activation-checkpointing"}},
      {"deterministic", {"cudnn-deterministic", "use-deterministic-algorithms"}},
      {"resume",
       {"ckpt", "ckpt-path", "resume-from", "resume-from-checkpoint", "continue", "restore",
        "start-epoch"}},
      {"checkpoint-output-dir", {"save-dir-checkpoints", "ckpt-dir", "checkpoint-path"}},
      {"ckpts-per-epoch",
       {"save-freq", "save-period", "save-interval", "save-every", "checkpoint-freq",
        "checkpoint-interval"}},
      {"keep-last", {"checkpoint-hist", "save-total-limit", "max-to-keep"}},
      {"keep-best", {"save-best", "save-best-only"}},
      {"restore-best", {"restore-best-weights"}},
      {"early-stopping", {"monitor"}},
      {"patience", {"early-stopping-patience", "stopping-patience"}},
      {"logs-per-epoch",
       {"print-freq", "log-interval", "log-freq", "log-every-n-steps", "logging-steps"}},
      {"output-dir", {"out-dir", "outdir", "save-dir", "log-dir", "logdir", "results-dir"}},
      {"run-dir",
       {"output-dir", "output", "out-dir", "outdir", "save-dir", "log-dir", "logdir", "project",
        "name", "exp", "experiment", "model-dir", "results-dir"}},
      {"config-path", {"cfg", "config-file", "yaml", "params-file"}},
      {"config", {"preset"}},
      {"quiet", {"silent"}},
      {"verbose", {"debug", "log-level"}},
      {"profile", {"profiler", "profile-dir"}},
      {"wandb-tags", {"tags"}},
      {"wandb-run-name", {"run-name"}},
      {"num-instances",
       {"np", "nproc", "nproc-per-node", "nnodes", "num-processes", "num-procs", "ntasks",
        "world-size"}},
      {"instances", {"nodes", "nnodes", "num-nodes", "nproc-per-node", "world-size"}},
      {"host", {"hosts", "nodelist", "master-addr", "rdzv-endpoint", "machinefile"}},
      {"mpi-local-args", {"mpi-args"}},
      {"host-subnet", {"subnet", "netmask"}},
      {"seconds", {"duration", "time"}},
      {"samples", {"count"}},
      {"pando run --num-instances",
       {"num-instances", "instances", "np", "nproc", "nproc-per-node", "nnodes", "num-processes",
        "ntasks", "world-size", "rank", "local-rank"}},
      {"pando run --host", {"host", "hosts", "master-addr", "rdzv-endpoint", "dist-url"}},
      {"pando run --hostfile", {"hostfile", "machinefile"}},
      {"pando validate --weights", {"evaluate", "eval", "eval-only", "test-only"}}};
  return rows;
}

std::optional<ForeignTarget> find_foreign(const OptionTable& table, std::string_view name) {
  const std::string wanted = with_dashes(name);
  for (const ForeignNames& row : foreign_names()) {
    if (std::find(row.names.begin(), row.names.end(), wanted) == row.names.end()) continue;
    const Option* option = find_target(table, row.target);
    if (option != nullptr || is_elsewhere(row.target)) return ForeignTarget{row.target, option};
  }
  return std::nullopt;
}

std::string to_text(const ForeignTarget& target, std::string_view dashes) {
  if (is_elsewhere(target.target)) return std::string(target.target);
  const size_t dot = target.target.find('.');
  if (dot == std::string_view::npos) return concat(dashes, target.target);
  if (!dashes.empty()) return concat("--set ", target.target, "=VALUE");
  return concat(target.target.substr(0, dot), ": {", target.target.substr(dot + 1), ": VALUE}");
}

}  // namespace pando
