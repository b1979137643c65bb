// SPDX-License-Identifier: MIT
#include "pando/comm/environment.h"

#include <cstdlib>
#include <limits>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::comm {

namespace {

struct Launcher {
  const char* name;
  const char* size;  // variable with the number of processes; null: there is none
  const char* rank;  // variable that only its processes have
  // Variable by which its processes find each other; null: they always do.
  const char* introduction = nullptr;
};

// The order matters: inside a step of Slurm an mpirun may have started the process, not srun, and
// both set the variables of PMIx. A batch script of Slurm has a rank but is not a step.
constexpr Launcher kLaunchers[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"mpirun of MVAPICH2", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
    {"mpiexec of MPICH", "PMI_SIZE", "PMI_RANK"},
    {"srun of Slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMIX_RANK"},
    {"a launcher that speaks PMIx", nullptr, "PMIX_RANK"},
};

std::optional<int> number(const Variables& variables, const char* name, int least) {
  const char* text = variables(name);
  if (text == nullptr) return std::nullopt;
  const std::optional<int64_t> value = parse_int(text);
  if (!value || *value < least || *value > std::numeric_limits<int>::max()) {
    throw InvalidArgument("environment variable ", name, ": expected a whole number of at least ",
                          least, ", got '", text,
                          "'; launchers set it: unset it if no launcher started this process");
  }
  return static_cast<int>(*value);
}

bool is_no(const Variables& variables, const char* name) {
  const char* text = variables(name);
  if (text == nullptr) return false;
  const std::string word = to_lower(text);
  for (const char* no : {"0", "no", "false"}) {
    if (word == no) return true;
  }
  for (const char* yes : {"1", "yes", "true"}) {
    if (word == yes) return false;
  }
  throw InvalidArgument("environment variable ", name,
                        ": expected 1, yes, true, 0, no or false, got '", text, "'");
}

void expect_equal(const char* name, std::optional<int> found, int wanted,
                  const std::string& because) {
  if (!found || *found == wanted) return;
  throw InvalidArgument("environment variable ", name, ": expected ", wanted, " (", because,
                        "), got ", *found, "; unset it or correct the launcher's options");
}

}  // namespace

const char* process_variable(const char* name) { return std::getenv(name); }

std::optional<Launch> find_launch(const Variables& variables) {
  for (const Launcher& launcher : kLaunchers) {
    const char* rank = variables(launcher.rank);
    if (rank == nullptr) continue;
    if (launcher.size == nullptr) {
      return Launch{launcher.name, concat(launcher.rank, "=", rank), std::nullopt, true};
    }
    const std::optional<int> size = number(variables, launcher.size, 1);
    if (!size) continue;
    const bool introduces =
        launcher.introduction == nullptr || variables(launcher.introduction) != nullptr;
    return Launch{launcher.name, concat(launcher.size, "=", *size), size, introduces};
  }
  return std::nullopt;
}

Division read_division(const Variables& variables, int instances, int index) {
  constexpr const char* kTotal = "POPDIST_NUM_TOTAL_REPLICAS";
  constexpr const char* kLocal = "POPDIST_NUM_LOCAL_REPLICAS";
  constexpr const char* kUniform = "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE";
  std::optional<int> total = number(variables, kTotal, 1);
  const std::optional<int> local = number(variables, kLocal, 1);
  if (is_no(variables, kUniform)) {
    throw InvalidArgument("environment variable ", kUniform, " is '", variables(kUniform),
                          "', but all instances must have the same number of replicas");
  }
  if (total && *total % instances != 0) {
    throw InvalidArgument("environment variable ", kTotal, " is ", *total,
                          ", which does not divide evenly among ", instances, " instances; ",
                          "use a multiple of ", instances);
  }
  if (total) {
    expect_equal(kLocal, local, *total / instances,
                 concat(*total, " replicas in ", instances, " instances"));
  } else if (local) {
    total = *local * instances;
  }
  const int each = total.value_or(instances) / instances;
  expect_equal("POPDIST_REPLICA_INDEX_OFFSET", number(variables, "POPDIST_REPLICA_INDEX_OFFSET", 0),
               index * each, concat("instance ", index, " with ", each, " replicas per instance"));
  return {.total_replicas = total,
          .devices_per_replica = number(variables, "POPDIST_NUM_IPUS_PER_REPLICA", 1),
          .local_instance_index = number(variables, "POPDIST_LOCAL_INSTANCE_INDEX", 0)};
}

}  // namespace pando::comm
