// One program on many instances: the index of this instance, the number of instances, and
// collectives. A process that no launcher started is the only instance, and everything here works
// for it too.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando::dist {

// Joins the other instances if a launcher (pando run, mpirun, srun) started this process. Call it
// first in main(). When the process exits with code 0, it waits for the others to end; with any
// other code it ends them. Throws InvalidArgument, CommError, Unsupported.
void init();

bool is_distributed();       // several instances
int num_instances();         // 1 when alone
int instance_index();        // from 0
int local_instance_index();  // among the instances of this machine

// The replicas of all instances: as many as the launcher says, otherwise one per instance. All
// instances have the same number; those of instance i start at i * num_local_replicas().
int num_total_replicas();
int num_local_replicas();
int replica_index_offset();
int devices_per_replica();  // what the launcher says, otherwise 1

// Collectives: every instance calls the same ones in the same order, with the same number of
// elements, from one thread. Numbers are added in the order of the instances. They throw
// InvalidArgument on all instances if the instances disagree, and CommError if an instance is lost.
enum class Reduction { sum, mean };

void barrier();

// Gives all instances the values of instance `root`.
void broadcast(std::span<float> values, int root = 0);
void broadcast(std::span<double> values, int root = 0);
void broadcast(std::span<int64_t> values, int root = 0);
void broadcast(Tensor& tensor, int root = 0);
std::string broadcast(std::string_view text, int root = 0);  // texts may have any length

void all_reduce(std::span<float> values, Reduction reduction = Reduction::sum);
void all_reduce(std::span<double> values, Reduction reduction = Reduction::sum);
void all_reduce(std::span<int64_t> values);                             // the sum
void all_reduce(Tensor& tensor, Reduction reduction = Reduction::sum);  // f32 only

// Returns the values of all instances, one after the other; here the number of elements may differ.
std::vector<float> all_gather(std::span<const float> values);
std::vector<double> all_gather(std::span<const double> values);
std::vector<int64_t> all_gather(std::span<const int64_t> values);
std::vector<std::string> all_gather(std::string_view text);  // one of each instance

// Calls `function` on these instances; the others continue immediately.
void execute_on_instances(const std::set<int>& instances, const std::function<void()>& function);

}  // namespace pando::dist
