// SPDX-License-Identifier: MIT
#include "pando/comm/session.h"

#include <atomic>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/in_process.h"

namespace pando::comm {
namespace {

using testing_support::error_of;
using Values = std::map<std::string, std::string>;

struct Aborted {
  int code;
};

// An instance that records how it ends.
class FakeInstance : public MpiInstance {
 public:
  FakeInstance(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_index() const override { return 1; }
  int local_count() const override { return 2; }
  int64_t activity() const override { return 0; }
  std::unique_ptr<Messages> prepare(std::vector<Outgoing> /*sent*/,
                                    std::vector<Incoming> /*received*/) override {
    return nullptr;
  }
  void progress() override { ++progresses; }
  bool finalize(std::optional<std::chrono::milliseconds> patience) override {
    check();
    patient_without_end = !patience;
    finalized = all_come;
    return all_come;
  }
  [[noreturn]] void abort(int code) override { throw Aborted{code}; }

  std::atomic<int> progresses{0};
  bool all_come = true;
  bool finalized = false;
  bool patient_without_end = false;

 private:
  int rank_;
  int size_;
};

struct Started {
  std::shared_ptr<FakeInstance> instance = std::make_shared<FakeInstance>(1, 2);
  int joins = 0;
  Communicator* watched = nullptr;

  Session session(Values values) {
    return Session({.variables =
                        [values](const char* name) {
                          const auto found = values.find(name);
                          return found == values.end() ? nullptr : found->second.c_str();
                        },
                    .join =
                        [this] {
                          ++joins;
                          return instance;
                        },
                    .watch = [this](MpiInstance& own) -> std::unique_ptr<Monitor> {
                      watched = &own;
                      return nullptr;
                    },
                    .share_cores =
                        [](Communicator&) {
                          return CoreShare{1, 3};
                        }});
  }
};

Values by_mpirun(const char* count) {
  return {{"OMPI_COMM_WORLD_SIZE", count}, {"OMPI_COMM_WORLD_RANK", "0"}};
}

int code_of_abort(Session& session, int code, Ending ending) {
  try {
    session.end(code, ending);
  } catch (const Aborted& aborted) {
    return aborted.code;
  }
  return -1;
}

TEST(Session, AProcessAloneDoesNotTouchMpi) {
  Started started;
  for (const Values& values : {Values{}, by_mpirun("1")}) {
    Session session = started.session(values);
    session.join();
    EXPECT_EQ(session.job().communicator, nullptr);
    EXPECT_FALSE(session.job().total_replicas);
    EXPECT_EQ(session.status_line("cause"), "");
    session.end(1, Ending::alone);  // returns
  }
  EXPECT_EQ(started.joins, 0);
}

TEST(Session, AProcessAloneHasTheReplicasTheLauncherSays) {
  Started started;
  Session session = started.session({{"POPDIST_NUM_TOTAL_REPLICAS", "3"}});
  session.join();
  EXPECT_EQ(session.job().total_replicas, 3);
}

TEST(Session, AProcessThatDoesNotJoinTheOthersIsApart) {
  Started started;
  EXPECT_EQ(started.session({}).apart(), "");
  EXPECT_EQ(started.session(by_mpirun("1")).apart(), "");
  Session session = started.session(by_mpirun("2"));
  EXPECT_SAYS(session.apart(), "mpirun of Open MPI");
  EXPECT_SAYS(session.apart(), "OMPI_COMM_WORLD_SIZE=2");
  EXPECT_SAYS(session.apart(), "pando::dist::init()");
  EXPECT_EQ(started.joins, 0);
}

TEST(Session, JoinsOnce) {
  Started started;
  Values values = by_mpirun("2");
  values["POPDIST_NUM_TOTAL_REPLICAS"] = "4";
  values["POPDIST_NUM_IPUS_PER_REPLICA"] = "2";
  Session session = started.session(values);
  session.join();
  session.join();
  EXPECT_EQ(started.joins, 1);
  EXPECT_EQ(session.job().communicator, started.instance);
  EXPECT_EQ(started.watched, started.instance.get());
  EXPECT_EQ(session.job().local_index, 1);
  EXPECT_EQ(session.job().local_count, 2);
  EXPECT_EQ(session.job().core_share, 1);
  EXPECT_EQ(session.job().core_shares, 3);
  EXPECT_EQ(session.job().total_replicas, 4);
  EXPECT_EQ(session.job().devices_per_replica, 2);
}

TEST(Session, TheLauncherNumbersTheInstancesOfAMachine) {
  Started started;
  Values values = by_mpirun("2");
  values["POPDIST_LOCAL_INSTANCE_INDEX"] = "0";
  Session session = started.session(values);
  session.join();
  EXPECT_EQ(session.job().local_index, 0);
}

TEST(Session, AJobOfOneIsAlone) {
  Started started;
  started.instance = std::make_shared<FakeInstance>(0, 1);
  Session session = started.session({{"PMIX_RANK", "0"}});
  session.join();
  EXPECT_EQ(started.joins, 1);
  EXPECT_EQ(session.job().communicator, nullptr);
  EXPECT_EQ(started.watched, nullptr);
  session.end(0, Ending::together);
  EXPECT_TRUE(started.instance->finalized);
}

TEST(Session, RefusesALauncherThatMpiDoesNotKnow) {
  Started started;
  Session session = started.session(by_mpirun("4"));
  const std::string message = error_of<CommError>([&] { session.join(); });
  EXPECT_SAYS(message, "mpirun of Open MPI started 4 processes");
  EXPECT_SAYS(message, "OMPI_COMM_WORLD_SIZE=4");
  EXPECT_SAYS(message, "MPI finds 2");
  EXPECT_SAYS(message, mpi_library());
  EXPECT_EQ(session.job().communicator, nullptr);
  EXPECT_EQ(code_of_abort(session, 1, Ending::alone), 1);  // MPI was started nevertheless
}

TEST(Session, WithoutMpiItDoesNotDoTheWorkTwice) {
  Session session({.variables = [](const char* name) -> const char* {
                     const std::string_view asked = name;
                     return asked == "PMI_SIZE" || asked == "PMI_RANK" ? "2" : nullptr;
                   },
                   .join = []() -> std::shared_ptr<MpiInstance> {
                     throw Unsupported("this Pando was built without MPI");
                   }});
  const std::string message = error_of<Unsupported>([&] { session.join(); });
  EXPECT_SAYS(message, "mpiexec of MPICH");
  EXPECT_SAYS(message, "PMI_SIZE=2");
  EXPECT_SAYS(message, "this Pando was built without MPI");
}

TEST(Session, RefusesAStepOfSlurmWithoutPmix) {
  Started started;
  Session session = started.session({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}});
  const std::string message = error_of<CommError>([&] { session.join(); });
  EXPECT_SAYS(message, "SLURM_STEP_NUM_TASKS=2");
  EXPECT_SAYS(message, "srun --mpi=pmix");
  EXPECT_EQ(started.joins, 0);
}

TEST(Session, EndsTogether) {
  for (const int code : {0, 75}) {
    Started started;
    Session session = started.session(by_mpirun("2"));
    session.join();
    session.end(code, Ending::together);
    EXPECT_TRUE(started.instance->finalized);
    EXPECT_EQ(started.instance->patient_without_end, code == 0);
    EXPECT_EQ(session.job().communicator, nullptr);
    session.end(code, Ending::together);  // has ended already
  }
}

TEST(Session, EndsTheOthersWhenItFails) {
  Started started;
  Session session = started.session(by_mpirun("2"));
  session.join();
  EXPECT_EQ(code_of_abort(session, 2, Ending::alone), 2);
  EXPECT_EQ(code_of_abort(session, 0, Ending::alone), 1);
  EXPECT_FALSE(started.instance->finalized);
}

TEST(Session, DoesNotFinalizeAfterAFailure) {
  Started started;
  Session session = started.session(by_mpirun("2"));
  session.join();
  started.instance->fail("instance 0 died");
  EXPECT_EQ(code_of_abort(session, 0, Ending::together), 1);
  EXPECT_FALSE(started.instance->finalized);
}

TEST(Session, DoesNotWaitForOthersThatGoOn) {
  Started started;
  started.instance->all_come = false;
  Session session = started.session(by_mpirun("2"));
  session.join();
  EXPECT_EQ(code_of_abort(session, 75, Ending::together), 75);
}

// An instance whose last messages are still in transit would otherwise keep the others waiting.
TEST(Session, MpiGoesOnWhileItWaitsForTheOthers) {
  const auto watched = in_process_instances(2);
  std::vector<std::shared_ptr<FakeInstance>> instances;
  for (int i = 0; i < 2; ++i) instances.push_back(std::make_shared<FakeInstance>(i, 2));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Session session({.variables = [](const char* name) -> const char* {
                         const std::string_view asked = name;
                         return asked == "PMI_SIZE" || asked == "PMI_RANK" ? "2" : nullptr;
                       },
                       .join = [&, i] { return instances[i]; },
                       .watch =
                           [&, i](Communicator& /*instance*/) {
                             MonitorOptions options;
                             options.ends_process = false;
                             return std::make_unique<Monitor>(*watched[i], options);
                           },
                       .share_cores = [](Communicator& /*instance*/) { return CoreShare(); }});
      session.join();
      while (i == 0 && instances[1]->progresses < 3) std::this_thread::yield();
      session.end(0, Ending::together);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(instances[0]->finalized);
  EXPECT_TRUE(instances[1]->finalized);
}

}  // namespace
}  // namespace pando::comm
