#include "pando/serve/config.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::serve {
namespace {

using testing_support::error_of;

ServerConfig one_model() { return {.models = {{.name = "m", .base_path = "/models/m"}}}; }

template <typename Change>
std::string error_after(const Change& change) {
  ServerConfig config = one_model();
  change(config);
  return error_of([&] { validate(config); });
}

TEST(ServerConfig, DefaultsAreValid) {
  EXPECT_NO_THROW(validate(one_model()));
  EXPECT_NO_THROW(validate(BatchingParameters{}));
  EXPECT_NO_THROW(validate(ServerConfig{}));
}

TEST(ServerConfig, NamesOfModelsCannotLeaveTheirPlace) {
  for (const std::string name : {"", ".a", "a/b", "a b", "..", "a%2e"}) {
    EXPECT_SAYS(error_after([&](auto& config) { config.models[0].name = name; }), "name",
                "1 to 128");
  }
  EXPECT_SAYS(error_after([](auto& config) { config.models[0].name = std::string(129, 'a'); }),
              "1 to 128");
  EXPECT_SAYS(error_after([](auto& config) { config.models.push_back(config.models[0]); }),
              "model 'm'", "two models");
  EXPECT_SAYS(error_after([](auto& config) { config.models[0].base_path.clear(); }), "base_path");
}

TEST(ServerConfig, PoliciesAndLabelsAreChecked) {
  EXPECT_SAYS(error_after([](auto& config) { config.models[0].policy.num_versions = 0; }),
              "num_versions", "got 0");
  EXPECT_SAYS(error_after([](auto& config) {
                config.models[0].policy.kind = VersionPolicy::Kind::specific;
              }),
              "versions", "empty");
  EXPECT_SAYS(error_after([](auto& config) {
                config.models[0].policy = {.kind = VersionPolicy::Kind::specific, .versions = {-1}};
              }),
              "versions", "-1");
  EXPECT_SAYS(error_after([](auto& config) {
                config.models[0].labels = {{"a/b", 1}};
              }),
              "labels", "a/b");
  EXPECT_SAYS(error_after([](auto& config) {
                config.models[0].labels = {{"a", -1}};
              }),
              "labels", "-1");
}

TEST(ServerConfig, NumbersHaveRanges) {
  EXPECT_SAYS(error_after([](auto& config) { config.workers = -1; }), "workers");
  EXPECT_SAYS(error_after([](auto& config) { config.max_batch = 0; }), "max_batch");
  EXPECT_SAYS(error_after([](auto& config) { config.max_request_samples = 0; }),
              "max_request_samples");
  EXPECT_SAYS(error_after([](auto& config) { config.max_queue_samples = 0; }), "max_queue_samples");
  EXPECT_SAYS(error_after([](auto& config) { config.max_queue_sec = -1; }), "max_queue_sec");
  EXPECT_SAYS(error_after([](auto& config) { config.load_retries = -1; }), "load_retries");
  EXPECT_SAYS(error_after([](auto& config) { config.warmup_runs = -1; }), "warmup_runs");
  EXPECT_SAYS(error_after([](auto& config) { config.poll_interval_sec = -1; }), "poll_interval");
  EXPECT_SAYS(error_after([](auto& config) { config.default_deadline_sec = -1; }), "deadline");
  EXPECT_SAYS(error_after([](auto& config) { config.load_retry_interval_sec = -1; }), "retry");
}

TEST(BatchingParameters, AreCheckedAsTensorFlowServingDoes) {
  const auto error = [](const BatchingParameters& parameters) {
    return error_of([&] { validate(parameters); });
  };
  EXPECT_SAYS(error({.max_batch_size = 0}), "max_batch_size");
  EXPECT_SAYS(error({.batch_timeout_micros = -1}), "batch_timeout_micros");
  EXPECT_SAYS(error({.max_enqueued_batches = 0}), "max_enqueued_batches");
  EXPECT_SAYS(error({.num_batch_threads = -1}), "num_batch_threads");
  EXPECT_SAYS(error({.max_batch_size = 4, .max_execution_batch_size = 5}),
              "max_execution_batch_size");
  EXPECT_SAYS(error({.max_batch_size = 4, .allowed_batch_sizes = {2, 2, 4}}), "ascending");
  EXPECT_SAYS(error({.max_batch_size = 4, .allowed_batch_sizes = {0, 4}}), "ascending");
  EXPECT_SAYS(error({.max_batch_size = 4, .allowed_batch_sizes = {1, 2}}), "max_batch_size 4",
              "got 2");
  EXPECT_NO_THROW(validate(BatchingParameters{
      .max_batch_size = 8, .allowed_batch_sizes = {2, 4}, .max_execution_batch_size = 4}));
  EXPECT_SAYS(error_after([](auto& config) {
                config.models[0].batching = BatchingParameters{.max_batch_size = 0};
              }),
              "model 'm'", "max_batch_size");
  EXPECT_SAYS(
      error_after([](auto& config) { config.batching = BatchingParameters{.max_batch_size = 0}; }),
      "max_batch_size");
}

}  // namespace
}  // namespace pando::serve
