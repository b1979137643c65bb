// SPDX-License-Identifier: MIT
#include "pando/comm/dist.h"

#include <cstring>
#include <thread>

#include "pando/base/error.h"
#include "pando/comm/all_reduce.h"
#include "pando/comm/collectives.h"
#include "pando/comm/job.h"
#include "pando/comm/session.h"

namespace pando::dist {

namespace {

// Below the tags of the collectives, above the tags of training.
constexpr int kTag = comm::Communicator::kHostTags - 2;

comm::Communicator* others() { return comm::current_job().communicator.get(); }

void expect_same(const char* place, const std::string& own) {
  if (others() != nullptr) comm::expect_same(*others(), place, own);
}

template <typename T>
std::string count_of(std::span<T> values) {
  return concat(values.size(), values.size() == 1 ? " number" : " numbers");
}

std::string type_of(const Tensor& tensor) {
  return concat(to_string(tensor.dtype()), " ", tensor.shape());
}

void check_root(int root) {
  if (root >= 0 && root < num_instances()) return;
  throw InvalidArgument("broadcast: expected a root from 0 to ", num_instances() - 1, ", got ",
                        root);
}

void broadcast_bytes(std::span<std::byte> bytes, const std::string& type, int root) {
  check_root(root);
  expect_same("broadcast", type);
  if (others() != nullptr) comm::broadcast(*others(), bytes, root);
}

template <typename T>
std::vector<T> gather_numbers(std::span<const T> values) {
  if (others() == nullptr) return {values.begin(), values.end()};
  const std::string_view own(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  std::vector<T> all;
  for (const std::string& text : comm::all_gather(*others(), own)) {
    const size_t before = all.size();
    all.resize(before + text.size() / sizeof(T));
    if (!text.empty()) std::memcpy(all.data() + before, text.data(), text.size());
  }
  return all;
}

template <typename T>
void divide_for_mean(std::span<T> values, Reduction reduction) {
  if (reduction == Reduction::sum) return;
  for (T& value : values) value /= static_cast<T>(num_instances());
}

// Gathers all numbers first, which is good enough for the few numbers that hosts have.
template <typename T>
void sum_gathered(std::span<T> values) {
  expect_same("all_reduce", count_of(values));
  const std::vector<T> all = gather_numbers(std::span<const T>(values));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = all[i];
    for (size_t from = i + values.size(); from < all.size(); from += values.size()) {
      values[i] += all[from];
    }
  }
}

}  // namespace

void init() { comm::process_session().join(); }

bool is_distributed() { return others() != nullptr; }

int num_instances() { return is_distributed() ? others()->size() : 1; }

int instance_index() { return is_distributed() ? others()->rank() : 0; }

int local_instance_index() { return comm::current_job().local_index; }

int num_total_replicas() { return comm::current_job().total_replicas.value_or(num_instances()); }

int num_local_replicas() { return num_total_replicas() / num_instances(); }

int replica_index_offset() { return instance_index() * num_local_replicas(); }

int devices_per_replica() { return comm::current_job().devices_per_replica.value_or(1); }

void barrier() {
  if (is_distributed()) comm::barrier(*others());
}

void broadcast(std::span<float> values, int root) {
  broadcast_bytes(std::as_writable_bytes(values), count_of(values), root);
}

void broadcast(std::span<double> values, int root) {
  broadcast_bytes(std::as_writable_bytes(values), count_of(values), root);
}

void broadcast(std::span<int64_t> values, int root) {
  broadcast_bytes(std::as_writable_bytes(values), count_of(values), root);
}

void broadcast(Tensor& tensor, int root) {
  broadcast_bytes({tensor.data(), tensor.bytes()}, type_of(tensor), root);
}

std::string broadcast(std::string_view text, int root) {
  check_root(root);
  return is_distributed() ? comm::broadcast_text(*others(), text, root) : std::string(text);
}

void all_reduce(std::span<float> values, Reduction reduction) {
  expect_same("all_reduce", count_of(values));
  if (is_distributed()) {
    comm::AllReduce sum(*others(), values, {.tag = kTag});
    sum.start();
    while (!sum.advance()) std::this_thread::yield();
  }
  divide_for_mean(values, reduction);
}

void all_reduce(std::span<double> values, Reduction reduction) {
  sum_gathered(values);
  divide_for_mean(values, reduction);
}

void all_reduce(std::span<int64_t> values) { sum_gathered(values); }

void all_reduce(Tensor& tensor, Reduction reduction) {
  expect_same("all_reduce", type_of(tensor));
  if (tensor.dtype() != DType::f32) {
    throw InvalidArgument("all_reduce: expected a tensor of f32, got ", to_string(tensor.dtype()),
                          "; convert it with cast()");
  }
  all_reduce(tensor.f32(), reduction);
}

std::vector<float> all_gather(std::span<const float> values) { return gather_numbers(values); }

std::vector<double> all_gather(std::span<const double> values) { return gather_numbers(values); }

std::vector<int64_t> all_gather(std::span<const int64_t> values) { return gather_numbers(values); }

std::vector<std::string> all_gather(std::string_view text) {
  if (!is_distributed()) return {std::string(text)};
  return comm::all_gather(*others(), text);
}

void execute_on_instances(const std::set<int>& instances, const std::function<void()>& function) {
  for (const int instance : instances) {
    if (instance >= 0 && instance < num_instances()) continue;
    throw InvalidArgument("execute_on_instances: there is no instance ", instance,
                          "; instances are 0 to ", num_instances() - 1);
  }
  if (instances.contains(instance_index())) function();
}

}  // namespace pando::dist
