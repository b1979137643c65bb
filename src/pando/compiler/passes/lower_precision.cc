// Before:  y f32 = conv(x f32, f f32)          m f32 = batch_moments(y f32)
// After:   h f16 = cast(x)   y f16 = conv(h f16, f f16)      m f32 = batch_moments(y f16)
// Every value gets the 16-bit type, except inputs and outputs that its op declares exact. A cast is
// inserted where the type of a value differs from the type its reader needs. Weights that stay f32
// are read through round_variable, and so is what was computed from weights alone: these
// conversions run once per weight update.
// SPDX-License-Identifier: MIT
#include <map>
#include <tuple>

#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

bool is_float(DType dtype) { return dtype != DType::u8 && dtype != DType::i32; }

class Lowering {
 public:
  explicit Lowering(CompileState& state)
      : graph_(state.graph),
        precision_(state.options.precision),
        options_(state.options.half),
        half_(precision_.compute) {}

  void run() {
    for (ir::Value* input : graph_.inputs()) {
      if (input->role() == ir::InputRole::variable) retype(input, precision_.update);
    }
    std::vector<ir::Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (ir::Node* node : nodes) lower(node);
    for (const ir::Output& output : std::vector<ir::Output>(graph_.outputs())) {
      const bool gradient = output.role == ir::OutputRole::gradient;
      convert_output(output, gradient ? precision_.update : DType::f32);
    }
  }

 private:
  static void retype(ir::Value* value, DType dtype) {
    if (value->type().dtype == DType::f32) value->set_type({dtype, value->shape()});
  }

  void lower(ir::Node* node) {
    const bool cast = node->op() == "cast";
    for (int i = 0; i < node->num_inputs() && !cast; ++i) {
      const DType dtype = node->input(i)->type().dtype;
      const DType wanted = ops::is_exact_input(*node, i) ? DType::f32 : half_;
      if (is_float(dtype) && dtype != wanted) node->set_input(i, converted(node, i, wanted));
    }
    bool rounds = false;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (ops::is_exact_output(*node, i)) continue;
      retype(node->output(i), half_);
      rounds = rounds || node->output(i)->type().dtype == half_;
    }
    if (cast) set_cast_type(node);
    if (rounds && !ops::has_trait(*node, ops::Trait::view)) {
      mark(node, options_.stochastic_rounding == StochasticRounding::on, ++streams_);
    }
    const bool products = ops::definition(*node).products != ops::Products::none;
    if (options_.half_partials && products) {
      node->attributes().set("half_partials", int64_t{1});
    }
  }

  static void set_cast_type(ir::Node* node) {
    node->attributes().set("dtype", std::string(to_string(node->output()->type().dtype)));
  }

  // Sets attributes that tell the kernel how to round.
  void mark(ir::Node* node, bool stochastic, int64_t stream) {
    if (stochastic) {
      node->attributes().set("half_rounding", std::string("stochastic"));
      node->attributes().set("half_stream", stream);
    }
    if (options_.nan_on_overflow) node->attributes().set("half_overflow", std::string("nan"));
  }

  ir::Value* converted(ir::Node* reader, int index, DType dtype) {
    ir::Value* value = reader->input(index);
    // Stages do not share converted values.
    ir::Value*& result = converted_[{value, dtype, reader->stage()}];
    if (result == nullptr) result = insert_conversion(value, dtype, reader);
    return result;
  }

  ir::Value* insert_conversion(ir::Value* value, DType dtype, const ir::Node* position) {
    const bool of_weights = is_weight(value) && (dtype != DType::f32 || per_update(*position));
    if (of_weights) return rounded_variable(value, dtype, position);
    return finish_conversion(graph_.insert_before(position, conversion("cast", value, dtype)),
                             dtype, false);
  }

  static bool per_update(const ir::Node& node) {
    return ops::has_trait(node, ops::Trait::per_update);
  }

  // Whether the value is a variable or was computed from variables alone.
  static bool is_weight(const ir::Value* value) {
    return value->is_input() ? value->role() == ir::InputRole::variable
                             : per_update(*value->producer());
  }

  ir::Value* rounded_variable(ir::Value* value, DType dtype, const ir::Node* position) {
    ir::Value*& rounded = rounded_[{value, dtype}];
    if (rounded == nullptr) {
      rounded = finish_conversion(
          graph_.insert_before(position, conversion("round_variable", value, dtype)), dtype, true);
    }
    return rounded;
  }

  static ir::NodeSpec conversion(const char* op, ir::Value* value, DType dtype) {
    return {.op = op,
            .inputs = {value},
            .attributes = {{"dtype", std::string(to_string(dtype))}},
            .name = value->is_input() ? value->name() : value->producer()->name()};
  }

  ir::Value* finish_conversion(ir::Node* node, DType dtype, bool variable) {
    node->output()->set_type({dtype, node->input(0)->shape()});
    const StochasticRounding mode = options_.stochastic_rounding;
    const bool stochastic = mode == StochasticRounding::on ||
                            (variable && mode == StochasticRounding::replica_identical_only);
    if (dtype == DType::f32) return node->output();
    // Stages that convert the same value use the same noise, and the numbers of streams do not
    // depend on stages.
    int64_t& stream = converted_stream_[node->input(0)];
    if (stream == 0) stream = ++streams_;
    mark(node, stochastic, stream);
    return node->output();
  }

  // Inserts the cast right after the producer, so that buckets of gradients are complete as early
  // as before.
  void convert_output(const ir::Output& output, DType dtype) {
    const DType now = output.value->type().dtype;
    if (!is_float(now) || now == dtype || output.value->is_input()) return;
    const ir::Node* producer = output.value->producer();
    const ir::Node* next = nullptr;
    const auto& nodes = graph_.nodes();
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      if (nodes[i].get() == producer) next = nodes[i + 1].get();
    }
    ir::NodeSpec spec = conversion("cast", output.value, dtype);
    ir::Node* cast = next == nullptr ? graph_.append(std::move(spec))
                                     : graph_.insert_before(next, std::move(spec));
    cast->set_stage(producer->stage());
    graph_.redirect_output(output, finish_conversion(cast, dtype, false));
  }

  ir::Graph& graph_;
  Precision precision_;
  HalfOptions options_;
  DType half_;
  int64_t streams_ = 0;
  std::map<std::tuple<const ir::Value*, DType, int>, ir::Value*> converted_;
  std::map<std::pair<const ir::Value*, DType>, ir::Value*> rounded_;
  std::map<const ir::Value*, int64_t> converted_stream_;
};

}  // namespace

bool LowerPrecision::run(CompileState& state) const {
  if (!state.options.precision.half()) return false;
  Lowering(state).run();
  return true;
}

}  // namespace pando::compiler
