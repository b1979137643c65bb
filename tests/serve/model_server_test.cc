#include "pando/serve/model_server.h"

#include <future>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <malloc.h>

#include "pando/base/memory_limit.h"
#include "tests/serve/served.h"
#include "tests/support/expect_error.h"

namespace pando::serve {
namespace {

using namespace std::chrono_literals;
using testing_support::error_of;

TEST(ModelServer, AnswersWithTheLatestVersion) {
  const Served served(2);
  const auto server = served.start();
  EXPECT_TRUE(server->live());
  EXPECT_TRUE(server->ready());
  EXPECT_TRUE(server->ready({.name = "m"}));
  EXPECT_FALSE(server->ready({.name = "n"}));
  const auto model = model_of(*server);
  EXPECT_EQ(model->name(), "m");
  EXPECT_EQ(model->version(), 2);
  EXPECT_EQ(model->signature(), "serving_default");
  EXPECT_EQ(model->inputs().at(0).shape, (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(model->outputs().at(0).shape, (std::vector<int64_t>{-1, 4}));
  for (const int64_t samples : {1, 3, 8, 21}) {
    const auto response = server->infer(scaling_request(model, samples));
    EXPECT_TRUE(is_scaled(response, samples, 2)) << response.status().message;
    EXPECT_EQ(response->outputs[0].shape, (std::vector<int64_t>{samples, 4}));
    EXPECT_GE(response->batch, 1);
  }
  EXPECT_TRUE(server->drain(60s));
  EXPECT_EQ(server->in_flight(), 0);
}

TEST(ModelServer, RequestsThatDoNotFitAreRefused) {
  const Served served(1);
  const auto server = served.start();
  const auto model = model_of(*server);
  const auto failure_of = [&](const auto& change) {
    InferRequest request = scaling_request(model, 2);
    change(request);
    const auto response = server->infer(std::move(request));
    EXPECT_EQ(response.status().code, Code::invalid_argument);
    return response.status().message;
  };
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs[0].name = "z"; }), "input 'z'");
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs.clear(); }), "is missing");
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs.push_back(r.inputs[0]); }), "twice");
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs[0].type = ElementType::i32; }), "f32", "got i32");
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs[0].shape = {8}; }), "[-1,4]", "[8]");
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs[0].shape = {2, 5}; }), "[-1,4]", "[2,5]");
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs[0].shape = {0, 4}; }), "[0,4]");
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs[0].shape = {3, 4}; }), "48 bytes", "got 32");
  EXPECT_SAYS(failure_of([](auto& r) { r.outputs = {"q"}; }), "output 'q'");
  EXPECT_SAYS(failure_of([](auto& r) { r.inputs[0].shape = {int64_t{1} << 40, 4}; }), "at most");
  EXPECT_EQ(server->infer({}).status().code, Code::internal);
}

TEST(ModelServer, CancelledRequestsAreNotComputed) {
  const Served served(1);
  const auto server = served.start();
  InferRequest request = scaling_request(model_of(*server), 1);
  request.cancelled = std::make_shared<std::atomic<bool>>(true);
  EXPECT_EQ(server->infer(std::move(request)).status().code, Code::cancelled);
  request = scaling_request(model_of(*server), 1);
  request.cancelled = std::make_shared<std::atomic<bool>>(false);
  EXPECT_TRUE(server->infer(std::move(request)));
}

TEST(ModelServer, ExpiredRequestsAreNotComputed) {
  const Served served(1);
  const auto server = served.start();
  InferRequest request = scaling_request(model_of(*server), 1);
  request.deadline = Clock::now() - 1s;
  EXPECT_EQ(server->infer(std::move(request)).status().code, Code::deadline_exceeded);
  InferRequest far = scaling_request(model_of(*server), 1);
  far.deadline = Clock::now() + 1h;
  EXPECT_TRUE(server->infer(std::move(far)));
}

// In use, as malloc counts.
size_t bytes_in_use() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST(ModelServer, RefusedRequestsTakeNoMemory) {
  constexpr int64_t kSamples = 1 << 20;  // answers of 16 MB
  Served served(1);
  served.config.max_request_samples = kSamples;
  const auto server = served.start();
  InferRequest request = scaling_request(model_of(*server), kSamples);
  request.deadline = Clock::now() - 1s;
  const size_t before = bytes_in_use();
  Code code = Code::ok;
  size_t during = 0;
  server->submit(std::move(request), [&](const Result<InferResponse>& result) {
    code = result.status().code;
    during = bytes_in_use();
  });
  EXPECT_EQ(code, Code::deadline_exceeded);
  EXPECT_LT(during, before + (1 << 20));
}

TEST(ModelServer, DrainsWhatIsInFlight) {
  const Served served(1);
  const auto server = served.start();
  const auto model = model_of(*server);
  std::atomic<int> good = 0;
  for (int i = 0; i < 200; ++i) {
    server->submit(scaling_request(model, 1), [&](Result<InferResponse> response) {
      if (is_scaled(response, 1, 1)) ++good;
    });
  }
  EXPECT_TRUE(server->drain(60s));
  EXPECT_EQ(good, 200);
  EXPECT_TRUE(server->draining());
  EXPECT_FALSE(server->ready());
  EXPECT_EQ(server->infer(scaling_request(model, 1)).status().code, Code::unavailable);
}

TEST(ModelServer, EndsWithAnswersForAll) {
  std::atomic<int> answers = 0;
  {
    const Served served(1);
    const auto server = served.start();
    const auto model = model_of(*server);
    for (int i = 0; i < 100; ++i) {
      server->submit(scaling_request(model, 5), [&](Result<InferResponse>) { ++answers; });
    }
  }
  EXPECT_EQ(answers, 100);
}

TEST(ModelServer, CountsWhatItDoes) {
  const Served served(1);
  const auto server = served.start();
  for (int i = 0; i < 3; ++i) server->infer(scaling_request(model_of(*server), 2));
  server->infer({.servable = model_of(*server)});
  EXPECT_TRUE(
      server->drain(60s));  // answers count as in flight until their callbacks have returned
  const std::string text = server->metrics().text();
  EXPECT_SAYS(text, "nv_inference_request_success{model=\"m\",version=\"1\"} 3",
              "nv_inference_count{model=\"m\",version=\"1\"} 6",
              "nv_inference_request_failure{model=\"m\",version=\"1\"} 1",
              ":tensorflow:serving:request_count{model_name=\"m\",status=\"OK\"} 3",
              "pando_request_phase_us_count{model=\"m\",phase=\"compute\"} 3", "pando_in_flight 0");
}

TEST(ModelServer, RefusesAConfigurationThatCannotBe) {
  EXPECT_SAYS(error_of([] { ModelServer server({.workers = -1}); }), "workers");
}

// The keys of TensorFlow Serving: requests wait for each other until the batch is full.
TEST(ModelServer, WaitsForFullBatchesIfAsked) {
  Served served(1);
  served.config.batching = BatchingParameters{
      .max_batch_size = 4, .batch_timeout_micros = 60'000'000, .num_batch_threads = 1};
  const auto server = served.start();
  const auto model = model_of(*server);
  std::vector<std::future<int64_t>> batches;
  for (int i = 0; i < 4; ++i) {
    auto promise = std::make_shared<std::promise<int64_t>>();
    batches.push_back(promise->get_future());
    server->submit(scaling_request(model, 1), [promise](Result<InferResponse> response) {
      promise->set_value(response ? response->batch : 0);
    });
  }
  for (auto& batch : batches) EXPECT_EQ(batch.get(), 4);
}

// Whether the answer comes by the thread that asks.
bool is_answered_here(ModelServer& server, std::shared_ptr<const Servable> model) {
  std::promise<std::thread::id> promise;
  auto answered = promise.get_future();
  server.submit(scaling_request(std::move(model), 1), [&](const Result<InferResponse>& response) {
    EXPECT_TRUE(is_scaled(response, 1, 1));
    promise.set_value(std::this_thread::get_id());
  });
  return answered.get() == std::this_thread::get_id();
}

TEST(ModelServer, ComputesShortRequestsOfOneClientWhereTheyArrive) {
  const Served served(1);
  const auto server = served.start();
  const auto model = model_of(*server);
  int here = 0;
  for (int i = 0; i < 5; ++i) here += is_answered_here(*server, model) ? 1 : 0;
  EXPECT_EQ(here, 0) << "not before it is known that the client is alone";
  for (int i = 0; i < 10'000 && here < 100; ++i) {
    here += is_answered_here(*server, model) ? 1 : 0;
  }
  EXPECT_EQ(here, 100);
  // Several samples are divided among the workers.
  std::promise<std::thread::id> promise;
  server->submit(scaling_request(model, 4), [&](const Result<InferResponse>& response) {
    EXPECT_TRUE(is_scaled(response, 4, 1));
    promise.set_value(std::this_thread::get_id());
  });
  EXPECT_NE(promise.get_future().get(), std::this_thread::get_id());
}

TEST(ModelServer, CallersThatHelpComputeWhatTheyHaveBroughtAsOneBatch) {
  Served served(1);
  served.config.workers = 1;  // no core is free for another thread
  const auto server = served.start();
  const auto model = model_of(*server);
  EXPECT_FALSE(server->help());
  std::vector<int64_t> batches;
  int told = 0;
  const auto after = std::make_shared<const std::function<void()>>([&] { ++told; });
  for (int i = 0; i < 3; ++i) {
    InferRequest request = scaling_request(model, 2);
    request.caller_helps = true;
    request.after_answers = after;
    server->submit(std::move(request), [&](const Result<InferResponse>& response) {
      EXPECT_TRUE(is_scaled(response, 2, 1));
      batches.push_back(response ? response->batch : 0);
    });
  }
  EXPECT_TRUE(batches.empty());
  while (server->help()) {
  }
  EXPECT_EQ(batches, (std::vector<int64_t>{6, 6, 6}));
  EXPECT_EQ(told, 1);
}

TEST(ModelServer, WorkersTakeWhatIsTooMuchForHelp) {
  const Served served(1);
  const auto server = served.start();
  const auto model = model_of(*server);
  constexpr int kRequests = 500;
  std::latch answered(kRequests);
  for (int i = 0; i < kRequests; ++i) {
    InferRequest request = scaling_request(model, 1);
    request.caller_helps = true;
    server->submit(std::move(request), [&](const Result<InferResponse>& response) {
      EXPECT_TRUE(is_scaled(response, 1, 1));
      answered.count_down();
    });
  }
  server->help();  // once
  answered.wait();
}

TEST(ModelServer, RequestsWithoutHelpReachTheWorkers) {
  Served served(1);
  served.config.batching =
      BatchingParameters{.max_batch_size = 4, .batch_timeout_micros = 1000, .num_batch_threads = 1};
  const auto server = served.start();
  InferRequest request = scaling_request(model_of(*server), 1);
  request.caller_helps = true;  // but batches are asked for, so the workers form them
  std::atomic<int> told = 0;
  request.after_answers = std::make_shared<const std::function<void()>>([&] { ++told; });
  EXPECT_TRUE(is_scaled(server->infer(std::move(request)), 1, 1));
  while (told == 0) std::this_thread::yield();
}

TEST(ModelServer, NeverComputesForTheCallerWhereBatchesAreAskedFor) {
  Served served(1);
  served.config.batching =
      BatchingParameters{.max_batch_size = 4, .batch_timeout_micros = 1000, .num_batch_threads = 1};
  const auto server = served.start();
  const auto model = model_of(*server);
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(is_answered_here(*server, model));
}

TEST(ModelServer, ManyClientsGetTheirOwnAnswers) {
  const Served served(1);
  const auto server = served.start();
  const auto model = model_of(*server);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> clients;
    for (int t = 0; t < 6; ++t) {
      clients.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          const auto first = static_cast<float>(100 * t + i);
          const int64_t samples = 1 + (t + i) % 11;
          if (!is_scaled(server->infer(scaling_request(model, samples, first)), samples, 1,
                         first)) {
            ++wrong;
          }
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pando::serve
