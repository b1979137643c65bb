// The compilation report as JSON.
// SPDX-License-Identifier: MIT
#include "pando/base/json.h"
#include "pando/compiler/report.h"

namespace pando::compiler {

namespace {

Json passes_json(const Program& program) {
  Json rows = Json::array();
  for (const PassRecord& pass : program.passes()) {
    rows.push_back({{"name", pass.name},
                    {"changed", pass.changed},
                    {"disabled", pass.disabled},
                    {"seconds", pass.seconds}});
  }
  return rows;
}

Json timed_json(const std::vector<KernelTime>& times) {
  Json rows = Json::array();
  for (const KernelTime& time : times) {
    Json& row = rows.push_back({{"kernel", time.candidate}, {"seconds", time.seconds}});
    if (time.error >= 0) row["error"] = time.error;
  }
  return rows;
}

Json op_json(const OpReport& op) {
  Json json = {{"call", op.call},
               {"op", op.op},
               {"name", op.name},
               {"layer", op.layer},
               {"part", to_string(op.part)},
               {"stage", op.stage},
               {"kernel", op.kernel},
               {"result", op.result},
               {"layouts", op.layouts},
               {"refusals", op.refusals},
               {"slow", op.slow},
               {"flops", op.flops},
               {"bytes_read", op.bytes_read},
               {"bytes_written", op.bytes_written}};
  if (op.tiles > 1) json["tiles"] = op.tiles;
  if (!op.timed.empty()) json["timed"] = timed_json(op.timed);
  if (!op.given.empty()) json["given"] = op.given;
  return json;
}

Json layer_json(const LayerReport& layer) {
  return {{"layer", layer.layer},
          {"stage", layer.stage},
          {"ops", layer.ops},
          {"forward_flops", layer.forward_flops},
          {"backward_flops", layer.backward_flops},
          {"bytes_moved", layer.bytes_moved},
          {"weights", layer.weights},
          {"weight_bytes", layer.weight_bytes},
          {"kept_bytes", layer.kept_bytes}};
}

Json block_json(const MemoryBlock& block) {
  Json values = Json::array();
  for (const ir::Value* value : block.values) values.push_back(value->name());
  return {{"region", to_string(block.region)},
          {"stage", block.stage},
          {"offset", block.offset},
          {"bytes", block.bytes},
          {"first_call", block.first},
          {"last_call", block.last},
          {"holds", describe(block)},
          {"values", std::move(values)}};
}

Json stage_json(const StageMemory& memory, const StageMap& map) {
  return {{"stage", map.stage},
          {"working_bytes", map.bytes},
          {"peak_bytes", map.peak_bytes},
          {"peak_call", map.peak_call},
          {"held_bytes", memory.held_activations + memory.held_sums},
          {"gradient_bytes", memory.gradients},
          {"statistics_bytes", memory.moments},
          {"live_bytes", map.live}};
}

Json memory_json(const CompilationReport& report) {
  const Program& program = *report.program;
  const MemoryPlan& plan = program.memory();
  const AlwaysLive& live = report.always_live;
  Json json = {{"slice_bytes", plan.planned_bytes()},
               {"unshared_bytes", plan.unshared_bytes},
               {"scratch_bytes", program.scratch_bytes()},
               {"always_live",
                {{"weights", live.weights},
                 {"packed_variables", live.packed},
                 {"gradients", live.gradients},
                 {"statistics", live.statistics},
                 {"held", live.held}}}};
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    json["stages"].push_back(stage_json(plan.stages[i], report.memory.stages[i]));
  }
  json["blocks"] = Json::array();
  for (const MemoryBlock& block : report.memory.blocks) json["blocks"].push_back(block_json(block));
  return json;
}

}  // namespace

std::string to_json(const CompilationReport& report) {
  const Program& program = *report.program;
  Json json = {{"passes", passes_json(program)},
               {"precision", to_string(program.options().precision)},
               {"division",
                {{"slices", program.slices()},
                 {"samples_of_a_slice", report.slice_batch},
                 {"parts", program.in_parts()},
                 {"stages", program.stages()}}},
               {"flops_per_sample",
                {{"forward", report.flops(StepPart::forward)},
                 {"backward", report.flops(StepPart::backward)},
                 {"all", report.flops()}}},
               {"ops", Json::array()},
               {"layers", Json::array()},
               {"memory", memory_json(report)}};
  for (const OpReport& op : report.ops) json["ops"].push_back(op_json(op));
  for (const LayerReport& layer : report.layers) json["layers"].push_back(layer_json(layer));
  return json.dump(1);
}

}  // namespace pando::compiler
