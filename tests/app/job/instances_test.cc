#include "pando/app/job/instances.h"

#include <csignal>
#include <cstring>
#include <mutex>

#include <gtest/gtest.h>

#include "pando/app/job/agreed_signal.h"
#include "pando/app/job/agreement.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/job/shared_state.h"
#include "pando/nn/layers.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_instances.h"

namespace pando::app {
namespace {

using testing_support::on_instances;

// The failure of one instance; the text is empty if it did not fail.
struct Failure {
  std::string text;
  int code = 0;
  bool is_told = false;
};
std::vector<Failure> failures_of(int count, const std::function<void(const Instances&)>& body) {
  std::vector<Failure> failures(static_cast<size_t>(count));
  on_instances(count, [&](comm::Communicator& own) {
    try {
      body(Instances());
    } catch (const AgreedFailure& error) {
      failures[static_cast<size_t>(own.rank())] = {error.what(), error.code(),
                                                   error.is_told_here()};
    }
  });
  return failures;
}

TEST(Instances, AProcessWithoutAJobIsTheFirstOfOne) {
  const Instances instances;
  EXPECT_EQ(instances.count(), 1);
  EXPECT_TRUE(instances.is_first());
  EXPECT_EQ(instances.share(2.5), 2.5);
  EXPECT_EQ(instances.gather("own"), (std::vector<std::string>{"own"}));
  EXPECT_EQ(instances.from_first([] { return "text"; }), "text");
  EXPECT_THROW(instances.together([] { throw IoError("disk"); }), IoError);
  EXPECT_THROW(instances.from_first([]() -> std::string { throw UsageError("flag"); }), UsageError);
}

TEST(Instances, AllGetWhatTheFirstHas) {
  on_instances(3, [](comm::Communicator& own) {
    const Instances instances;
    EXPECT_EQ(instances.count(), 3);
    EXPECT_EQ(instances.index(), own.rank());
    EXPECT_EQ(instances.is_first(), own.rank() == 0);
    EXPECT_EQ(instances.share(1.0 + own.rank()), 1.0);
    EXPECT_EQ(instances.gather(std::to_string(own.rank())),
              (std::vector<std::string>{"0", "1", "2"}));
    int calls = 0;
    const auto name = [&] {
      ++calls;
      return concat("of ", own.rank());
    };
    EXPECT_EQ(instances.from_first(name), "of 0");
    EXPECT_EQ(calls, own.rank() == 0 ? 1 : 0);
    instances.together([&] { ++calls; });
    EXPECT_EQ(calls, own.rank() == 0 ? 2 : 1);
  });
}

TEST(Instances, WhereOneFailsAllFailAndOneTells) {
  const std::vector<Failure> failures = failures_of(4, [](const Instances& instances) {
    instances.together([&] {
      if (instances.index() >= 2) throw UsageError("no data here");
    });
  });
  for (size_t i = 0; i < failures.size(); ++i) {
    EXPECT_EQ(failures[i].text, "instance 2: no data here");
    EXPECT_EQ(failures[i].code, kUsage);
    EXPECT_EQ(failures[i].is_told, i == 2);
  }
}

TEST(Instances, AllFailWithTheFirst) {
  const std::vector<Failure> failures = failures_of(2, [](const Instances& instances) {
    instances.from_first([]() -> std::string { throw IoError("disk full"); });
  });
  for (size_t i = 0; i < failures.size(); ++i) {
    EXPECT_EQ(failures[i].text, "disk full");
    EXPECT_EQ(failures[i].code, kFailed);
    EXPECT_EQ(failures[i].is_told, i == 0);
  }
}

TEST(AgreedSignal, TheSignalOfOneIsThatOfAll) {
  const Instances alone;
  AgreedSignal own(alone, "");
  EXPECT_EQ(own.ask(), 0);
  EXPECT_FALSE(own.wanted());
  std::raise(SIGUSR1);
  EXPECT_TRUE(own.wanted());
  EXPECT_EQ(own.received(), 0);
  EXPECT_EQ(own.ask(), SIGUSR1);
  EXPECT_EQ(own.received(), SIGUSR1);
  EXPECT_EQ(own.text(), "SIGUSR1");
}

Model small_model(uint64_t seed) {
  const SymbolicTensor input = Input({4});
  Model model(input, Dense({.units = 3, .name = "dense"})(input), {.seed = seed});
  model.compile({.optimizer = Adam()});
  return model;
}

TEST(SharedState, AllGetTheStateOfTheFirst) {
  Model model = small_model(7);
  model.fit(Tensor(DType::f32, {8, 4}), Tensor(DType::f32, {8, 3}), {.verbose = 0});
  TrainingState saved = model.training_state();
  saved.notes = {{"model", "small"}, {"open", "\xff"}};
  saved.weights.path = "checkpoints/epoch_1.0.h5";
  saved.weights.attributes = {{"backend", "pando"}};
  saved.loss_scaling = {.factor = 64, .updates = 3, .histogram = {1000, 1}, .filtered = {0.1, 0}};
  saved.epoch_sums = {{.samples = 5, .loss = {1.5, 1e-20}, .metrics = {3}}};
  std::mutex mutex;
  on_instances(3, [&](comm::Communicator& own) {
    std::optional<TrainingState> state;
    if (own.rank() == 0) {
      const std::lock_guard lock(mutex);
      state = saved;
    }
    share_state(Instances(), state);
    ASSERT_TRUE(state);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(state->notes, saved.notes);
    EXPECT_EQ(state->position, saved.position);
    EXPECT_EQ(state->iteration, 1);
    ASSERT_EQ(state->epoch_sums.size(), 1u);
    EXPECT_EQ(state->epoch_sums[0].numbers(), saved.epoch_sums[0].numbers());
    EXPECT_EQ(state->seed, 7u);
    EXPECT_EQ(state->data_epoch, saved.data_epoch);
    EXPECT_EQ(state->optimizer, saved.optimizer);
    EXPECT_EQ(state->loss_scaling, saved.loss_scaling);
    EXPECT_EQ(state->weights.path, saved.weights.path);
    EXPECT_EQ(state->weights.attributes, saved.weights.attributes);
    Model other = small_model(7);
    other.restore(*state);
    const TrainingState again = other.training_state();
    ASSERT_EQ(again.weights.state.size(), saved.weights.state.size());
    ASSERT_GT(saved.weights.state.size(), 0u);
    for (size_t i = 0; i < saved.weights.state.size(); ++i) {
      const Tensor& found = again.weights.state[i].value;
      const Tensor& wanted = saved.weights.state[i].value;
      EXPECT_EQ(std::memcmp(found.data(), wanted.data(), wanted.bytes()), 0);
    }
  });
}

TEST(SharedState, NoneIsSharedToo) {
  on_instances(2, [](comm::Communicator& own) {
    std::optional<TrainingState> state;
    if (own.rank() == 1) state.emplace();
    share_state(Instances(), state);
    EXPECT_FALSE(state);
  });
}

TEST(SharedState, AllGetTheWeightsOfTheFirst) {
  std::vector<std::vector<Tensor>> weights(3);
  on_instances(3, [&](comm::Communicator& own) {
    Model model = small_model(static_cast<uint64_t>(own.rank()));
    share_weights(Instances(), model);
    weights[static_cast<size_t>(own.rank())] = model.get_weights();
  });
  for (size_t i = 1; i < 3; ++i) {
    for (size_t w = 0; w < weights[0].size(); ++w) {
      const Tensor& wanted = weights[0][w];
      EXPECT_EQ(std::memcmp(weights[i][w].data(), wanted.data(), wanted.bytes()), 0);
    }
  }
}

TEST(Agreement, OptionsOfAMachineMayDiffer) {
  const Facts facts = option_facts("model: toy # default\nthreads: 4\ndataset-path: /data\n");
  EXPECT_EQ(facts, (Facts{{"--model", "toy"}}));
}

TEST(Agreement, TheProgramHasAChecksum) {
  EXPECT_EQ(program_fact(), program_fact());
  EXPECT_SAYS(program_fact(), "bytes with checksum ");
  EXPECT_FALSE(program_fact().starts_with("0 bytes"));
}

TEST(Agreement, TheSameFactsPass) {
  on_instances(3, [](comm::Communicator&) { check_agreement(Instances(), {{"--model", "toy"}}); });
}

TEST(Agreement, NamesTheInstancesAndTheFirstThatDiffers) {
  const auto facts_of = [](int index) -> Facts {
    return {
        {"--model", "toy"}, {"--seed", index < 2 ? "1" : "2"}, {"--loss", index < 2 ? "a" : "b"}};
  };
  const std::vector<Failure> failures = failures_of(3, [&](const Instances& instances) {
    check_agreement(instances, facts_of(instances.index()));
  });
  for (size_t i = 0; i < failures.size(); ++i) {
    EXPECT_SAYS(failures[i].text, "--seed", "'1' on instance 0", "'2' on instance 2");
    EXPECT_EQ(failures[i].code, kUsage);
    EXPECT_EQ(failures[i].is_told, i == 0);
  }
  const std::vector<Failure> fewer = failures_of(2, [&](const Instances& instances) {
    check_agreement(instances, instances.is_first() ? Facts{} : Facts{{"--model", "toy"}});
  });
  EXPECT_SAYS(fewer[0].text, "--model", "nothing on instance 0", "'toy' on instance 1");
}

}  // namespace
}  // namespace pando::app
