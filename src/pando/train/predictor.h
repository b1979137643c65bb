// Answers of a network for programs that embed it: made once, then called by any number of threads
// without copies of weights, allocations or new threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pando/tensor/dtype.h"
#include "pando/tensor/shape.h"
#include "pando/tensor/tensor.h"
#include "pando/train/load_model.h"
#include "pando/train/model.h"
#include "pando/train/model_facts.h"

namespace pando {

// One input or output of a network.
struct PredictorTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // the shape of one sample: without the batch

  size_t sample_bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
  bool operator==(const PredictorTensor&) const = default;
};

struct PredictorOptions {
  // The largest number of samples that are computed together; programs exist for 1, 2, 4, ... up to
  // it. Larger calls are answered piece by piece.
  int64_t max_batch = 32;
  // Threads that may compute at the same time; more of them wait. 0: the cores of the process.
  int workers = 0;
  // Whether PredictorMode::latency can be asked for, which needs threads and memory of its own.
  bool latency = true;
  // With PredictorMode::latency, one sample is computed by one core where that is sooner, as a
  // short measurement says when the predictor is made. True: always by all cores.
  bool always_in_parts = false;
};

// Which cores a call uses. Neither this nor the number of samples changes the bits of an answer.
enum class PredictorMode {
  throughput,  // the calling thread computes; other threads may call at the same time
  latency,     // all cores compute one call; other calls with this mode wait for it
};

// Samples in memory of the caller, as rows one after the other. Pointers have the order of
// inputs() and outputs(); they need no alignment. Each row is copied once, between this memory and
// that of the worker which computes it.
struct PredictorRows {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;  // a null pointer: this output is not needed
  int64_t samples = 0;
};

// Immutable: every method may be called by any thread at any time. It keeps weights of its own, so
// the model that it was made from may change or go. Copies are the same predictor.
class Predictor {
 public:
  // Throws what Model::predict throws before its first step, OverMemoryLimit among it.
  explicit Predictor(const Model& model, const PredictorOptions& options = {});
  // From a model file: what load_model() reads.
  static Predictor load(const std::string& path, const PredictorOptions& options = {},
                        const LoadModelOptions& file = {});

  const std::string& name() const;
  const std::vector<PredictorTensor>& inputs() const;
  const std::vector<PredictorTensor>& outputs() const;
  const ModelFacts& facts() const;
  int64_t max_batch() const;
  int workers() const;
  // Memory that the predictor holds: weights, packed weights, arenas of the workers and that of
  // PredictorMode::latency.
  int64_t bytes() const;

  // Computes the outputs of all samples. Allocates nothing and starts no thread. Throws
  // InvalidArgument for pointers that do not fit inputs() and outputs(), and for a mode that the
  // options left out.
  void run(const PredictorRows& rows, PredictorMode mode = PredictorMode::throughput) const;
  // The same for samples that lie at several places, such as those of several requests: they are
  // computed together.
  void run(std::span<const PredictorRows> parts,
           PredictorMode mode = PredictorMode::throughput) const;
  // For networks with one input and one output: x [n, ...] of the input's type. Throws
  // InvalidArgument if it does not fit.
  Tensor run(const Tensor& x, PredictorMode mode = PredictorMode::throughput) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pando
