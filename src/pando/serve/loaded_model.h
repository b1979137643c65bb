// A version of a model in memory: the predictor, what clients may send for it, and how that becomes
// rows of its inputs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/run/picture_input.h"
#include "pando/serve/infer.h"
#include "pando/serve/servable.h"
#include "pando/serve/status.h"
#include "pando/train/predictor.h"

namespace pando::serve {

struct ModelQueue;

struct LoadOptions {
  std::string name;
  int64_t version = 1;
  int workers = 0;  // threads that may compute at the same time
  int64_t max_batch = 32;
  int64_t max_request_samples = 1024;
  int warmup_runs = 3;
  std::string examples_of;  // the folder of the version; empty: none
};

class LoadedModel : public Servable {
 public:
  // Reads the file, checks that there is memory, and computes a few answers, so that the first
  // client does not wait. Throws what Predictor::load throws.
  static std::shared_ptr<LoadedModel> load(const std::string& file, const LoadOptions& options);
  ~LoadedModel() override;

  const Predictor& predictor() const { return predictor_; }
  double warm_seconds_per_sample() const { return warm_seconds_; }
  // The number of samples of a request, or what is wrong with it.
  Result<int64_t> check(const InferRequest& request) const;
  // Where samples [first, first + count) of an input are, as the network takes them: in the
  // request, or in `scratch`, where pictures and pixels are prepared. Requires: check() accepted
  // the request. Throws IoError for a picture that cannot be read.
  const std::byte* rows(const InferRequest& request, size_t input, SampleRange range,
                        std::vector<std::byte>& scratch) const;
  // The places among outputs() that a request asks for, in its order.
  std::vector<size_t> wanted_outputs(const InferRequest& request) const;

  // The requests that wait for it; belongs to the batcher.
  ModelQueue& queue() const { return *queue_; }

 private:
  LoadedModel(Predictor predictor, const LoadOptions& options);
  void describe();
  void warm_up(int runs);
  Status check_tensor(const InputTensor& tensor, size_t input, int64_t& samples) const;
  const InputTensor& tensor_of(const InferRequest& request, size_t input) const;

  Predictor predictor_;
  std::optional<app::PictureInput> pictures_;
  double warm_seconds_ = 0;
  std::unique_ptr<ModelQueue> queue_;
};

}  // namespace pando::serve
