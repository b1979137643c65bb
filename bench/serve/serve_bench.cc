// Measures answers of a network without any protocol: the bare predictor, the model server with
// small and large requests, overload, and reloads under load.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "pando/base/random.h"
#include "pando/serve/model_server.h"
#include "pando/train/load_model.h"
#include "pando/train/predictor.h"
#include "pando/zoo/zoo.h"

namespace {

using namespace pando;
using namespace pando::serve;
using Seconds = std::chrono::duration<double>;

constexpr const char* kHelp = R"(usage: serve_bench MODEL [SECONDS] [PART...]

Prints, for a network of the zoo with random weights, these parts (default: all; the others need the
first):
  predictor  one sample by one core and by all, and samples per second of all cores
  waiting    how much longer than a call of the predictor one client waits for the model server
  requests   samples per second of the model server: 4 clients with 32 samples each, and 64 clients
             with one, as a share of the predictor's
  overload   open loop at 0.5, 2 and 10 times the capacity with a deadline of ten batches:
             percentiles of what was accepted, time to refuse, share of the capacity
  reload     new versions while 4 clients ask: failed requests, median and 99th percentile
)";

double seconds_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return Seconds(Clock::now() - begin).count();
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto place = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(place));
  return values[place];
}

class Bench {
 public:
  Bench(const std::string& name, double seconds)
      : seconds_(seconds),
        entry_(zoo_entry(name)),
        model_(entry_.build(entry_.input_shape, entry_.outputs), {.name = name}),
        predictor_(model_),
        base_(std::filesystem::temp_directory_path() / fmt::format("serve_bench-{}", getpid())),
        samples_(static_cast<size_t>(32 * entry_.input_shape.elements())) {
    RandomStream random(7);
    for (float& value : samples_) value = random.next_uniform();
    std::filesystem::create_directories(base_);
    write_version(1);
  }
  ~Bench() {
    std::error_code ignored;
    std::filesystem::remove_all(base_, ignored);
  }

  void run(const std::vector<std::string>& parts) {
    const auto wants = [&](const char* part) {
      return parts.empty() || std::ranges::find(parts, part) != parts.end();
    };
    measure_predictor();
    if (wants("waiting")) measure_waiting();
    if (wants("requests")) measure_requests();
    if (wants("overload")) measure_overload();
    if (wants("reload")) measure_reloads();
  }

 private:
  void write_version(int version) const {
    const std::filesystem::path hidden = base_ / ".tmp";
    std::filesystem::create_directories(hidden);
    save_model(model_, (hidden / "model.onnx").string());
    std::filesystem::rename(hidden, base_ / std::to_string(version));
  }

  std::unique_ptr<ModelServer> start() const {
    ServerConfig config;
    config.models.push_back({.name = "m", .base_path = base_.string()});
    config.poll_interval_sec = 0.2;
    auto server = std::make_unique<ModelServer>(config);
    const double seconds = seconds_of([&] { server->await_ready(Seconds(120)); });
    fmt::print("           ready after {:.3f} s\n", seconds);
    if (!server->ready()) {
      throw InvalidArgument("the model cannot be served: ",
                            server->status({.name = "m"})->versions[0].status.message);
    }
    return server;
  }

  InferRequest request(const ModelServer& server, int64_t samples) const {
    InferRequest request{.servable = *server.find({.name = "m"})};
    std::vector<int64_t> shape = {samples};
    shape.insert(shape.end(), entry_.input_shape.begin(), entry_.input_shape.end());
    const auto values = static_cast<size_t>(samples * entry_.input_shape.elements());
    request.inputs.push_back({.name = "",
                              .type = ElementType::f32,
                              .shape = std::move(shape),
                              .data = std::as_bytes(std::span(samples_).first(values)),
                              .elements = {}});
    return request;
  }

  // Samples per second of threads that each call `work` for `samples` samples again and again.
  double rate_of(int threads, int64_t samples, const std::function<bool()>& work) const {
    std::atomic<bool> stop = false;
    std::atomic<int64_t> done = 0;
    const double seconds = seconds_of([&] {
      std::vector<std::jthread> clients;
      for (int i = 0; i < threads; ++i) {
        clients.emplace_back([&] {
          while (!stop) {
            if (work()) done += samples;
          }
        });
      }
      std::this_thread::sleep_for(Seconds(seconds_));
      stop = true;
    });
    return static_cast<double>(done) / seconds;
  }

  void call(int64_t samples, PredictorMode mode) const {
    thread_local std::vector<std::byte> results;
    results.resize(32 * predictor_.outputs()[0].sample_bytes());
    const auto* from = reinterpret_cast<const std::byte*>(samples_.data());
    std::byte* to = results.data();
    predictor_.run({.inputs = {&from, 1}, .outputs = {&to, 1}, .samples = samples}, mode);
  }

  double rate_of_calls(int threads, int64_t samples, PredictorMode mode) const {
    return rate_of(threads, samples, [&, samples, mode] {
      call(samples, mode);
      return true;
    });
  }

  void measure_predictor() {
    const double one = rate_of_calls(1, 1, PredictorMode::throughput);
    const double all = rate_of_calls(1, 1, PredictorMode::latency);
    fmt::print("predictor  one sample: {:.1f} us by one core, {:.1f} us by {} cores\n", 1e6 / one,
               1e6 / all, predictor_.workers());
    for (const int64_t batch : {1, 2, 4, 8, 32}) {
      const double rate = rate_of_calls(predictor_.workers(), batch, PredictorMode::throughput);
      fmt::print("           {:.0f} samples/s by calls of {}\n", rate, batch);
      capacity_ = std::max(capacity_, rate);
    }
  }

  void measure_waiting() const {
    const auto server = start();
    std::vector<double> calls;
    std::vector<double> answers;
    const Clock::time_point begin = Clock::now();
    while (Seconds(Clock::now() - begin).count() < seconds_) {
      calls.push_back(seconds_of([&] { call(1, PredictorMode::throughput); }));
      answers.push_back(seconds_of([&] { server->infer(request(*server, 1)); }));
    }
    const double call = percentile(calls, 0.5);
    const double answer = percentile(answers, 0.5);
    fmt::print("waiting    {:.1f} us, {:.1f} us more than a call; p99 {:.1f} us\n", 1e6 * answer,
               1e6 * (answer - call), 1e6 * percentile(answers, 0.99));
  }

  void measure_requests() const {
    const auto server = start();
    for (const auto& [clients, samples] : {std::pair<int, int64_t>{4, 32}, {64, 1}}) {
      const double rate = rate_of(clients, samples, [&, count = samples] {
        return static_cast<bool>(server->infer(request(*server, count)));
      });
      fmt::print("requests   {:.0f} samples/s by {} clients with {}: {:.0f} % of the predictor\n",
                 rate, clients, samples, 100 * rate / capacity_);
    }
  }

  // What an open loop saw.
  struct Loop {
    std::mutex mutex;
    std::vector<double> accepted;
    std::vector<double> refused;
    int64_t late = 0;
  };

  void send(ModelServer& server, double deadline, Loop& loop) const {
    InferRequest one = request(server, 1);
    const Clock::time_point begin = Clock::now();
    one.deadline = begin + std::chrono::duration_cast<Clock::duration>(Seconds(deadline));
    server.submit(std::move(one), [&loop, begin](const Result<InferResponse>& result) {
      const double seconds = Seconds(Clock::now() - begin).count();
      const std::lock_guard lock(loop.mutex);
      if (result) {
        loop.accepted.push_back(seconds);
      } else if (result.status().code == Code::resource_exhausted) {
        loop.refused.push_back(seconds);
      } else {
        ++loop.late;
      }
    });
  }

  void measure_overload() const {
    const auto server = start();
    const double deadline = std::max(0.05, 10 * 32 / capacity_);
    for (const double factor : {0.5, 2.0, 10.0}) {
      Loop loop;
      const double interval = 1 / (factor * capacity_);
      const Clock::time_point begin = Clock::now();
      int64_t sent = 0;
      while (Seconds(Clock::now() - begin).count() < seconds_) {
        const double due = Seconds(Clock::now() - begin).count() / interval;
        for (; static_cast<double>(sent) < due; ++sent) send(*server, deadline, loop);
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
      const double seconds = Seconds(Clock::now() - begin).count();
      while (server->in_flight() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      fmt::print(
          "overload   {:4.1f}x: deadline {:.1f} ms, accepted p50 {:.2f} ms, p99 {:.2f} ms, refused "
          "p99 {:.3f} ms, {} late, goodput {:.0f} %\n",
          factor, 1e3 * deadline, 1e3 * percentile(loop.accepted, 0.5),
          1e3 * percentile(loop.accepted, 0.99), 1e3 * percentile(loop.refused, 0.99), loop.late,
          100 * static_cast<double>(loop.accepted.size()) / seconds / capacity_);
    }
  }

  void measure_reloads() const {
    const auto server = start();
    for (const bool reloads : {false, true}) {
      std::mutex mutex;
      std::vector<double> times;
      std::atomic<int64_t> failed = 0;
      int versions = 0;
      std::atomic<bool> stop = false;
      std::jthread writer([&] {
        while (reloads && !stop) {
          write_version(2 + versions++);
          server->poll();
        }
      });
      rate_of(4, 1, [&] {
        const auto begin = Clock::now();
        if (!server->infer(request(*server, 1))) ++failed;
        const std::lock_guard lock(mutex);
        times.push_back(Seconds(Clock::now() - begin).count());
        return true;
      });
      stop = true;
      writer.join();
      fmt::print("reload     {} versions: {} of {} failed, p50 {:.2f} ms, p99 {:.2f} ms\n",
                 versions, failed.load(), times.size(), 1e3 * percentile(times, 0.5),
                 1e3 * percentile(times, 0.99));
    }
  }

  const double seconds_;
  const ZooEntry entry_;
  const Model model_;
  const Predictor predictor_;
  const std::filesystem::path base_;
  std::vector<float> samples_;
  double capacity_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cout << kHelp;
    return 2;
  }
  try {
    const int first_part = std::min(argc, 3);
    Bench(argv[1], argc > 2 ? std::stod(argv[2]) : 3).run({argv + first_part, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "serve_bench: " << error.what() << "\n";
    return 1;
  }
}
