// SPDX-License-Identifier: MIT
#include "pando/server/config_files.h"

#include <gtest/gtest.h>

#include "pando/options/command_line.h"
#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::server {
namespace {

using serve::VersionPolicy;
using testing_support::error_of;
using testing_support::TempFolder;

TEST(ConfigFiles, ReadsBatchingAsTensorFlowServingDocumentsIt) {
  const serve::BatchingParameters read = parse_batching(R"(
    max_batch_size { value: 128 }
    batch_timeout_micros { value: 0 }
    max_enqueued_batches { value: 1000000 }
    num_batch_threads { value: 8 }
    allowed_batch_sizes: 64 allowed_batch_sizes: 128
    enable_large_batch_splitting { value: false }
    thread_pool_name { value: "pool" }
    pad_variable_length_inputs: true)",
                                                        "file");
  EXPECT_EQ(read.max_batch_size, 128);
  EXPECT_EQ(read.batch_timeout_micros, 0);
  EXPECT_EQ(read.max_enqueued_batches, 1'000'000);
  EXPECT_EQ(read.num_batch_threads, 8);
  EXPECT_EQ(read.allowed_batch_sizes, (std::vector<int64_t>{64, 128}));
  EXPECT_FALSE(read.enable_large_batch_splitting);
  EXPECT_TRUE(read.pad_variable_length_inputs);
  const auto error = [](std::string_view text) {
    return error_of([&] { parse_batching(text, "file"); });
  };
  EXPECT_SAYS(error("max_batch_sise { value: 1 }"), "file:1:1", "did you mean 'max_batch_size'");
  EXPECT_SAYS(error("max_batch_size { valu: 1 }"), "{ value: ... }");
  EXPECT_SAYS(error("max_batch_size { value: 'x' }"), "whole number");
  EXPECT_SAYS(error("max_batch_size { value: 0 }"), "max_batch_size");
}

TEST(ConfigFiles, ReadsModelsAsTensorFlowServingDocumentsThem) {
  const auto models = parse_model_config(R"(
    model_config_list {
      config {
        name: 'first' base_path: '/models/first' model_platform: 'tensorflow'
        model_version_policy { specific { versions: 42 versions: 43 } }
        version_labels { key: 'stable' value: 43 }
        version_labels { key: 'canary' value: 42 }
      }
      config { name: 'second' base_path: '/models/second' model_version_policy { all {} } }
      config { name: 'third' base_path: '/3' model_version_policy { latest { num_versions: 2 } } }
    })",
                                         "file");
  ASSERT_EQ(models.size(), 3U);
  EXPECT_EQ(models[0].name, "first");
  EXPECT_EQ(models[0].base_path, "/models/first");
  EXPECT_EQ(models[0].policy.kind, VersionPolicy::Kind::specific);
  EXPECT_EQ(models[0].policy.versions, (std::vector<int64_t>{42, 43}));
  EXPECT_EQ(models[0].labels.at("canary"), 42);
  EXPECT_EQ(models[1].policy.kind, VersionPolicy::Kind::all);
  EXPECT_EQ(models[2].policy.num_versions, 2);
  const auto error = [](std::string_view text) {
    return error_of([&] { parse_model_config(text, "file"); });
  };
  EXPECT_SAYS(error(""), "no model");
  EXPECT_SAYS(error("model_config_list { config { nam: 'x' } }"), "file:1:30", "'name'");
  EXPECT_SAYS(error("model_config_list { config { name: 5 } }"), "quotation marks");
  EXPECT_SAYS(error("model_config_list: 5"), "{ ... }");
}

TEST(ConfigFiles, ReadsYaml) {
  const YamlModels read = parse_model_yaml(R"(
batching: {max_batch_size: 8, allowed_batch_sizes: [2, 8], enable_large_batch_splitting: false}
models:
  - {name: a, base_path: /a, policy: all, labels: {stable: 3}}
  - name: b
    base_path: /b
    policy: {specific: [1, 2]}
    batching: {batch_timeout_micros: 5, pad_variable_length_inputs: true}
  - {name: c, base_path: /c, policy: {latest: 2}}
  - {name: d, base_path: /d, policy: latest}
)",
                                           "file.yml");
  EXPECT_EQ(read.batching->max_batch_size, 8);
  EXPECT_FALSE(read.batching->enable_large_batch_splitting);
  ASSERT_EQ(read.models.size(), 4U);
  EXPECT_EQ(read.models[0].labels.at("stable"), 3);
  EXPECT_EQ(read.models[1].policy.versions, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(read.models[1].batching->batch_timeout_micros, 5);
  EXPECT_EQ(read.models[2].policy.num_versions, 2);
  EXPECT_EQ(read.models[3].policy, VersionPolicy());
  const auto error = [](const std::string& text) {
    return error_of<UsageError>([&] { parse_model_yaml(text, "file.yml"); });
  };
  EXPECT_SAYS(error("models: []"), "at least one");
  EXPECT_SAYS(error("models: 5"), "file.yml:1:", "list");
  EXPECT_SAYS(error("model: []"), "'models'");
  EXPECT_SAYS(error("models: [{name: [1]}]"), "name: expected a text");
  EXPECT_SAYS(error("models: [{nam: x}]"), "'name'");
  EXPECT_SAYS(error("models: [{policy: {latest: x}}]"), "whole number");
  EXPECT_SAYS(error("models: [{policy: {specific: 1}}]"), "list");
  EXPECT_SAYS(error("models: [{policy: some}]"), "policy");
  EXPECT_SAYS(error("batching: {enable_large_batch_splitting: 1}"), "true or false");
  EXPECT_SAYS(error("batching: {max_batch: 1}"), "max_batch_size");
}

TEST(ConfigFiles, NamesModelsAfterTheirFiles) {
  const auto named = [](const char* argument) {
    const serve::ModelConfig model = model_of_argument(argument);
    return model.name + " at " + model.base_path;
  };
  EXPECT_EQ(named("mnist.onnx"), "mnist at mnist.onnx");
  EXPECT_EQ(named("/models/mnist/"), "mnist at /models/mnist/");
  EXPECT_EQ(named("a=/models/x.onnx"), "a at /models/x.onnx");
}

app::ServeFlags parsed_flags(std::vector<std::string> args) {
  app::ServeFlags flags;
  CommonOptions common;
  OptionTable table;
  app::add_serve_flags(table, flags);
  add_common_options(table, common);
  parse_command_line(table, common, args);
  validate(flags);
  return flags;
}

TEST(ConfigFiles, TakesCommandsOfTensorFlowModelServer) {
  const TempFolder folder;
  const std::string batching = folder.write_text("batching", "max_batch_size { value: 4 }");
  const app::ServeFlags flags = parsed_flags(
      {"--port=8500", "--rest_api_port=8501", "--model_name=mnist", "--model_base_path=/models/m",
       "--enable_batching=true", "--batching_parameters_file=" + batching,
       "--file_system_poll_wait_seconds=5", "--tensorflow_session_parallelism=2",
       "--enable_model_warmup=true", "--rest_api_timeout_in_ms=100"});
  const serve::ServerConfig config = server_config(flags);
  ASSERT_EQ(config.models.size(), 1U);
  EXPECT_EQ(config.models[0].name, "mnist");
  EXPECT_EQ(config.models[0].base_path, "/models/m");
  EXPECT_EQ(config.batching->max_batch_size, 4);
  EXPECT_EQ(config.poll_interval_sec, 5);
  EXPECT_EQ(config.default_deadline_sec, 0.1);
}

TEST(ConfigFiles, ReadsTheFileOfModels) {
  const TempFolder folder;
  const std::string text = folder.write_text(
      "models.config", "model_config_list { config { name: 'a' base_path: '/a' } }");
  EXPECT_EQ(server_config(parsed_flags({"--model_config_file", text})).models[0].name, "a");
  const std::string yaml =
      folder.write_text("models.yml", "models: [{name: b, base_path: /b}]\nbatching: {}");
  const serve::ServerConfig config = server_config(parsed_flags({"--model_config_file", yaml}));
  EXPECT_EQ(config.models[0].name, "b");
  EXPECT_SAYS(error_of<UsageError>([] {
                server_config(parsed_flags({"--model_config_file", "/nowhere"}));
              }),
              "/nowhere");
  EXPECT_SAYS(error_of([] { server_config(parsed_flags({"../x=/a"})); }), "name");
}

TEST(ConfigFiles, RefusesFlagsThatDoNotGoTogether) {
  const auto error = [](std::vector<std::string> args) {
    return error_of<UsageError>([&] { parsed_flags(std::move(args)); });
  };
  EXPECT_SAYS(error({}), "expected a model");
  EXPECT_SAYS(error({"a.onnx", "--model_base_path=/b"}), "several");
  EXPECT_SAYS(error({"a.onnx", "--batching_parameters_file=x"}), "--enable-batching");
  EXPECT_SAYS(error({"a.onnx", "--tls-key=x"}), "both");
  EXPECT_SAYS(error({"a.onnx", "--tls-client-ca=x"}), "--tls-certificate");
  EXPECT_SAYS(error({"a.onnx", "--rest_api_port=0", "--port=0"}), "--unix-socket");
  EXPECT_SAYS(error({"a.onnx", "--grpc_socket_path=s", "--port=0"}), "--port");
}

}  // namespace
}  // namespace pando::server
