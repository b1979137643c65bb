#include "pando/serve/repository.h"

#include <future>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "pando/base/memory_limit.h"
#include "pando/serve/model_server.h"
#include "tests/serve/served.h"
#include "tests/support/expect_error.h"

namespace pando::serve {
namespace {

using namespace std::chrono_literals;
using testing_support::error_of;

TEST(Repository, VersionsAndLabelsMayBeAskedFor) {
  Served served(3, {.kind = VersionPolicy::Kind::all});
  served.config.models[0].labels = {{"stable", 1}, {"gone", 9}};
  const auto server = served.start();
  server->poll();
  EXPECT_EQ(model_of(*server, {.name = "m", .version = 2})->version(), 2);
  EXPECT_EQ(model_of(*server, {.name = "m", .label = "stable"})->version(), 1);
  const auto failure_of = [&](const ModelSpec& spec) { return server->find(spec).status(); };
  EXPECT_EQ(failure_of({.name = "n"}).message, "Servable not found for request: Latest(n)");
  EXPECT_EQ(failure_of({.name = "n"}).code, Code::not_found);
  EXPECT_EQ(failure_of({.name = "m", .version = 7}).message,
            "Servable not found for request: Specific(m, 7)");
  EXPECT_EQ(failure_of({.name = "m", .label = "gone"}).code, Code::not_found);
  EXPECT_SAYS(failure_of({.name = "m", .label = "odd"}).message, "version label: odd");
  EXPECT_EQ(failure_of({.name = "m", .signature_name = "X"}).message,
            "Serving signature name: \"X\" not found in signature def");
  EXPECT_TRUE(server->find({.name = "m", .signature_name = "serving_default"}));
}

TEST(Repository, StatesOfVersionsAreThoseOfTensorFlowServing) {
  const Served served(2, {.kind = VersionPolicy::Kind::all});
  const auto server = served.start();
  server->poll();
  const auto status = server->status({.name = "m"});
  ASSERT_TRUE(status);
  ASSERT_EQ(status->versions.size(), 2u);
  EXPECT_EQ(status->versions[0].version, 2);
  EXPECT_EQ(status->versions[0].state, VersionState::available);
  EXPECT_EQ(static_cast<int>(VersionState::available), 30);
  EXPECT_EQ(to_string(VersionState::available), "AVAILABLE");
  EXPECT_EQ(server->status({.name = "m", .version = 1})->versions.size(), 1u);
  EXPECT_SAYS(server->status({.name = "m", .version = 5}).status().message, "version 5 of model m");
  EXPECT_SAYS(server->status({.name = "x"}).status().message, "any versions of model x");
  EXPECT_SAYS(server->status({.name = "m", .label = "l"}).status().message, "label: l");
  EXPECT_EQ(server->models().size(), 1u);
}

TEST(Repository, ANewVersionReplacesTheOldOneWithoutAGap) {
  const Served served(1);
  const auto server = served.start();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, answered = 0;
  {
    std::vector<std::jthread> clients;
    for (int t = 0; t < 2; ++t) {
      clients.emplace_back([&] {
        while (!stop) {
          const auto model = server->find({.name = "m"});
          const auto response = model ? server->infer(scaling_request(*model, 3))
                                      : Result<InferResponse>(model.status());
          const auto factor = model ? static_cast<float>((*model)->version()) : 0;
          if (!is_scaled(response, 3, factor)) ++wrong;
          ++answered;
        }
      });
    }
    for (int version = 2; version <= 6; ++version) {
      served.write(version);
      server->poll();
      EXPECT_EQ(model_of(*server)->version(), version);
    }
    stop = true;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(answered, 0);
  server->poll();
  server->poll();
  const auto status = server->status({.name = "m"});
  EXPECT_EQ(status->versions[0].state, VersionState::available);
  EXPECT_EQ(status->versions[1].state, VersionState::end);
}

TEST(Repository, ABrokenVersionNeverReplacesAGoodOne) {
  const Served served(1);
  const auto server = served.start();
  std::filesystem::create_directory(served.folder.path("2"));
  const std::string whole = served.folder.read("1/model.onnx");
  served.folder.write_text("2/model.onnx", whole.substr(0, whole.size() / 2));
  std::filesystem::create_directory(served.folder.path("3"));
  server->poll();
  EXPECT_EQ(model_of(*server)->version(), 1);
  EXPECT_TRUE(server->ready());
  const auto status = server->status({.name = "m", .version = 3});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->versions[0].state, VersionState::end);
  EXPECT_SAYS(status->versions[0].status.message, "model.onnx", "found 0");
  // Once its files are whole, it is tried again.
  served.folder.write_text("3/model.onnx", whole);
  server->poll();
  EXPECT_EQ(model_of(*server)->version(), 3);
  EXPECT_TRUE(is_scaled(server->infer(scaling_request(model_of(*server), 1)), 1, 1));
}

TEST(Repository, ModelsWithoutAGoodVersionAreNotReady) {
  Served served(0);
  const auto server = served.start();
  EXPECT_FALSE(server->ready());
  EXPECT_EQ(server->find({.name = "m"}).status().code, Code::not_found);
  served.config.models[0].base_path = served.folder.path("nowhere");
  const auto other = served.start();
  EXPECT_FALSE(other->ready());
  EXPECT_EQ(other->status({.name = "m"}).status().code, Code::not_found);
}

TEST(Repository, ChecksMemoryBeforeItLoads) {
  const Served served(1);
  const auto server = served.start();
  write_version(served.folder.path(), 2, Model(Sequential({1500}, {Dense({.units = 1500})})));
  set_memory_limit(1);
  server->poll();
  set_memory_limit(0);
  const auto status = server->status({.name = "m", .version = 2});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->versions[0].state, VersionState::end);
  EXPECT_EQ(status->versions[0].status.code, Code::resource_exhausted);
  EXPECT_SAYS(status->versions[0].status.message, "the model", "need");
  EXPECT_EQ(model_of(*server)->version(), 1);
}

TEST(Repository, ReturnsTheMemoryOfVersionsThatNobodyUses) {
  const Served served(1);
  const auto server = served.start();
  std::shared_ptr<const Servable> held = model_of(*server);
  const std::weak_ptr<const Servable> first = held;
  served.write(2);
  server->poll();
  EXPECT_EQ(server->status({.name = "m", .version = 1})->versions[0].state,
            VersionState::unloading);
  EXPECT_FALSE(server->find({.name = "m", .version = 1}));
  held.reset();
  server->poll();
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(server->status({.name = "m", .version = 1})->versions[0].state, VersionState::end);
  // What was counted for it goes too.
  const std::string text = server->metrics().text();
  EXPECT_SAYS(text, "nv_inference_count{model=\"m\",version=\"2\"}",
              "pando_load_seconds{model=\"m\",version=\"2\"}");
  EXPECT_FALSE(testing_support::says(text, "version=\"1\""));
}

TEST(Repository, ReloadChangesWhatIsServed) {
  const Served served(1);
  const Served other(4);
  const auto server = served.start();
  const auto kept = model_of(*server);
  ServerConfig config = other.config;
  config.models[0].name = "n";
  server->reload(config);
  server->poll();
  EXPECT_FALSE(server->find({.name = "m"}));
  EXPECT_EQ(model_of(*server, {.name = "n"})->version(), 4);
  // A version stays as long as somebody holds it.
  EXPECT_TRUE(is_scaled(server->infer(scaling_request(kept, 2)), 2, 1));
  config.models[0].name = "";
  EXPECT_SAYS(error_of([&] { server->reload(config); }), "name");
  EXPECT_TRUE(server->find({.name = "n"}));
}

TEST(Repository, AReloadBringsBatchingParametersToNewVersions) {
  const Served served(1);
  const Served other(1);
  std::vector<std::optional<BatchingParameters>>
      seen;  // by the repository's thread, before poll ends
  Repository repository(served.config, {.load = [&](const FoundVersion&, const ModelConfig& model) {
                          seen.push_back(model.batching);
                          throw IoError("not loaded");
                          return std::shared_ptr<LoadedModel>();
                        }});
  repository.poll();
  ServerConfig config = other.config;
  config.batching = BatchingParameters{.max_batch_size = 7};
  repository.reload(config);
  repository.poll();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_FALSE(seen[0].has_value());
  ASSERT_TRUE(seen[1].has_value());
  EXPECT_EQ(seen[1]->max_batch_size, 7);
}

// A server whose first version was replaced while another model loaded must become ready.
TEST(Repository, VersionsThatEndedWellAreSettled) {
  const Served served(1);
  Repository repository(
      served.config, {.load = [](const FoundVersion& found, const ModelConfig& model) {
        return LoadedModel::load(model_file_of(found),
                                 {.name = model.name, .version = found.version, .max_batch = 4});
      }});
  repository.poll();
  served.write(2);
  repository.poll();
  repository.poll();
  ASSERT_EQ(repository.status({.name = "m", .version = 1})->versions[0].state, VersionState::end);
  EXPECT_TRUE(repository.await_settled(std::chrono::seconds(0)));
}

TEST(Repository, AnotherBasePathHasOtherModels) {
  const Served served(1);
  const TempFolder other;
  write_version(other.path(), 1, scaling_model(5));
  const auto server = served.start();
  ServerConfig config = served.config;
  config.models[0].base_path = other.path();
  server->reload(config);
  server->poll();
  EXPECT_TRUE(is_scaled(server->infer(scaling_request(model_of(*server), 2)), 2, 5));
  // One that cannot be loaded leaves the old one.
  const TempFolder broken;
  std::filesystem::create_directory(broken.path("1"));
  config.models[0].base_path = broken.path();
  server->reload(config);
  server->poll();
  EXPECT_TRUE(is_scaled(server->infer(scaling_request(model_of(*server), 2)), 2, 5));
  EXPECT_SAYS(server->status({.name = "m"})->versions[0].status.message, "found 0");
}

TEST(Repository, PoliciesChooseVersions) {
  Served served(3, {.kind = VersionPolicy::Kind::specific, .versions = {1, 3}});
  const auto server = served.start();
  EXPECT_EQ(model_of(*server, {.name = "m", .version = 1})->version(), 1);
  EXPECT_FALSE(server->find({.name = "m", .version = 2}));
  served.config.models[0].policy = {};
  served.config.transition = Transition::unload_first;
  const auto other = served.start();
  EXPECT_EQ(model_of(*other)->version(), 3);
  served.write(4);
  other->poll();
  EXPECT_EQ(model_of(*other)->version(), 4);
  EXPECT_FALSE(other->find({.name = "m", .version = 3}));
}

TEST(Repository, GoodRequestsSurviveManyReloads) {
  const Served served(1);
  const auto server = served.start();
  std::atomic<bool> stop = false;
  std::atomic<int> failed = 0, answered = 0;
  std::jthread client([&] {
    while (!stop) {
      const auto model = server->find({.name = "m"});
      if (!model || !server->infer(scaling_request(*model, 2))) ++failed;
      ++answered;
    }
  });
  const std::string whole = served.folder.read("1/model.onnx");
  for (int version = 2; version < 30; ++version) {
    const std::string name = std::to_string(version);
    if (version % 4 == 0) {
      write_version(served.folder.path(), version, Model(Sequential({3}, {Dense({.units = 2})})));
    } else if (version % 4 == 1) {
      std::filesystem::create_directory(served.folder.path(name));
      served.folder.write_text(name + "/model.onnx", whole.substr(0, whole.size() / 3));
    } else {
      served.write(version);
    }
    server->poll();
  }
  stop = true;
  client.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(answered, 0);
}

// Requests of clients that know only the name of the model must not fail.
TEST(Repository, OtherInputsDoNotReplaceWhatIsServed) {
  Served served(1);
  const auto server = served.start();
  write_version(served.folder.path(), 2, Model(Sequential({3}, {Dense({.units = 2})})));
  server->poll();
  EXPECT_EQ(model_of(*server)->version(), 1);
  EXPECT_SAYS(server->status({.name = "m", .version = 2})->versions[0].status.message, "[-1, 3]",
              "[-1, 4]", "version 1", "another name");
  // A request for its number gets it.
  ServerConfig config = served.config;
  config.models[0].policy = {.kind = VersionPolicy::Kind::specific, .versions = {2}};
  server->reload(config);
  server->poll();
  EXPECT_EQ(model_of(*server)->version(), 2);
}

}  // namespace
}  // namespace pando::serve
