#include "pando/app/flags/job_settings.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "pando/app/record/run_mark.h"
#include "pando/comm/job.h"
#include "pando/runtime/machine/topology.h"
#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"
#include "tests/support/in_process.h"
#include "tests/support/thread_instances.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

comm::Job job_of(int instances, int index = 0) {
  return {.communicator = comm::in_process_instances(instances)[static_cast<size_t>(index)]};
}

TEST(JobSettings, AloneNothingChanges) {
  const TrainOptions options = parse({"--num-replicas=3"});
  EXPECT_EQ(options.devices.instances, 1);
  EXPECT_EQ(options.devices.devices(), 3);
}

TEST(JobSettings, TheLauncherSaysHowManyReplicas) {
  comm::Job job = job_of(2);
  job.total_replicas = 8;
  const comm::JobScope scope(job);
  const TrainOptions options = parse({"--num-replicas=3", "--micro-batch-size=4"});
  EXPECT_EQ(options.devices.num_replicas, 8);
  EXPECT_EQ(options.devices.devices(), 4);
  EXPECT_EQ(options.devices.batch(4).global_batch_size, 32);
  ASSERT_FALSE(options.warnings.empty());
  EXPECT_SAYS(options.warnings[0], "--num-replicas 3", "launcher", "8 replicas");
  EXPECT_SAYS(options.config_text, "num-replicas: 8");
  EXPECT_SAYS(options.config_text, "chosen by the launcher");
  EXPECT_TRUE(parse({"--num-replicas=8"}).warnings.empty());
  EXPECT_TRUE(parse({}).warnings.empty());
}

// While it lives, the launcher names no number of replicas.
struct DefaultReplicas {
  DefaultReplicas() { setenv("PANDO_DEFAULT_REPLICAS", "1", 1); }
  ~DefaultReplicas() { unsetenv("PANDO_DEFAULT_REPLICAS"); }
  DefaultReplicas(const DefaultReplicas&) = delete;
  DefaultReplicas& operator=(const DefaultReplicas&) = delete;
};

TEST(JobSettings, ADefaultOfTheLauncherGivesWay) {
  const DefaultReplicas is_default;
  comm::Job job = job_of(2);
  job.total_replicas = 2;
  const comm::JobScope scope(job);
  const TrainOptions options = parse({"--num-replicas=4"});
  EXPECT_EQ(options.devices.num_replicas, 4);
  EXPECT_EQ(options.devices.devices(), 2);
  EXPECT_TRUE(options.warnings.empty());
  EXPECT_SAYS(error({"--num-replicas=3"}), "--num-replicas", "multiple of the 2 instances",
              "got 3");
  EXPECT_EQ(parse({}).devices.num_replicas, 2);
  EXPECT_SAYS(parse({}).config_text, "chosen by the launcher");
}

// What the run that trained was divided into says nothing about its validation.
TEST(JobSettings, AValidationIsDividedAsItsLauncherSays) {
  const TestFolder folder;
  const auto validated = [&](const char* replicas, std::vector<std::string> more = {}) {
    std::ofstream(folder.path / "config.yml") << "num-replicas: " << replicas << "\n";
    more.insert(more.end(),
                {"--training=false", "--config-path", (folder.path / "config.yml").string()});
    const TrainOptions options = parse(more);
    EXPECT_TRUE(options.warnings.empty()) << options.warnings[0];
    return options.devices.num_replicas;
  };
  comm::Job job = job_of(2);
  {
    const comm::JobScope scope(job);
    EXPECT_EQ(validated("3"), 2);
    EXPECT_EQ(validated("4"), 4);
  }
  job.total_replicas = 2;
  const comm::JobScope scope(job);
  EXPECT_EQ(validated("4"), 2);
  const DefaultReplicas is_default;
  EXPECT_EQ(validated("3"), 2);
  EXPECT_EQ(validated("4"), 4);
  EXPECT_EQ(validated("4", {"--num-replicas=6"}), 6);
}

TEST(JobSettings, AJobOfOneHasALauncherToo) {
  const comm::JobScope scope(comm::Job{.total_replicas = 2});
  EXPECT_EQ(parse({}).devices.devices(), 2);
}

TEST(JobSettings, WithoutWordOfReplicasEachInstanceHasOne) {
  const comm::JobScope scope(job_of(3));
  EXPECT_EQ(parse({}).devices.num_replicas, 3);
  EXPECT_EQ(parse({}).devices.devices(), 1);
  EXPECT_EQ(parse({"--num-replicas=6"}).devices.devices(), 2);
  EXPECT_SAYS(error({"--num-replicas=4"}), "--num-replicas", "multiple of the 3 instances",
              "got 4");
}

TEST(JobSettings, GroupsOfStatisticsFitTheInstances) {
  comm::Job job = job_of(2);
  job.total_replicas = 12;
  const comm::JobScope scope(job);
  for (const char* group : {"2", "3", "6", "12"}) {
    EXPECT_NO_THROW(parse({"--dbn-replica-group-size", group})) << group;
  }
  EXPECT_SAYS(error({"--dbn-replica-group-size=4"}), "6 replicas of an instance", "got 4");
}

TEST(JobSettings, InstancesThatNobodyBoundDivideTheCores) {
  const int all = runtime::query_topology().usable_cores();
  comm::Job job = job_of(2);
  job.core_shares = all;
  const comm::JobScope scope(job);
  EXPECT_EQ(parse({"--num-replicas=2"}).slices, 1);
}

TEST(JobSettings, DevicesOfAReplicaMustBeThoseOfTheLauncher) {
  const comm::JobScope scope(comm::Job{.devices_per_replica = 2});
  const std::string text = error({});
  EXPECT_SAYS(text, "expected 1", "got 2", "--ipus-per-replica 1");
  EXPECT_EQ(parse({"--pipeline-splits=dense"}).devices.devices_per_replica(), 2);
}

TEST(JobSettings, ValidationUsesAllDevices) {
  const comm::JobScope scope(job_of(2));
  const TrainOptions options = parse({"--validation-num-replicas=1"});
  EXPECT_FALSE(options.phases.validation_num_replicas);
  EXPECT_SAYS(options.warnings.at(0), "--validation-num-replicas 1: no effect in a job of 2");
}

TEST(JobSettings, OtherInstancesLeaveFilesAndOutputToTheFirst) {
  const comm::JobScope scope(job_of(2, 1));
  const TrainOptions options = parse({"--resume=/nowhere", "--weights=/nowhere.h5",
                                      "--checkpoint-input-dir=/nowhere", "--verbose"});
  EXPECT_TRUE(options.checkpoints.resume.empty());
  EXPECT_TRUE(options.checkpoints.weights.empty());
  EXPECT_TRUE(options.phases.checkpoint_input_dir.empty());
  EXPECT_TRUE(options.quiet);
}

TEST(JobSettings, EveryInstanceMayHaveItsCheckpoints) {
  const comm::JobScope scope(job_of(2, 1));
  EXPECT_EQ(parse({}).checkpoints.folder("run"), "run/checkpoints");
  const TrainOptions options = parse({"--ckpt-all-instances"});
  EXPECT_EQ(options.checkpoints.folder("run"), "run/checkpoints/rank1");
  EXPECT_TRUE(options.counterparts.ckpt_all_instances);
  EXPECT_TRUE(options.warnings.empty());
  EXPECT_SAYS(error({"--ckpt-all-instances", "--ckpts-per-epoch=0"}), "--ckpt-all-instances");
}

TEST(JobSettings, SlicesAreThoseOfTheFirst) {
  testing_support::on_instances(3, [](comm::Communicator& own) {
    TrainOptions options;
    options.slices = 2 + own.rank();
    settle_together(Instances(), options);
    EXPECT_EQ(options.slices, 2);
  });
}

// Sets the variables of a launcher as long as it lives.
struct Launched {
  Launched(const char* job, const char* restart) {
    setenv("PANDO_JOB", job, 1);
    setenv("PANDO_RESTART", restart, 1);
  }
  ~Launched() {
    unsetenv("PANDO_JOB");
    unsetenv("PANDO_RESTART");
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;
};

class Restart : public testing::Test {
 protected:
  std::string run() const { return (folder_.path / "run").string(); }
  std::string resumed() const { return parse({"--run-dir=" + run()}).checkpoints.resume; }
  void write(const std::string& name) const {
    fs::create_directories((folder_.path / name).parent_path());
    std::ofstream(folder_.path / name) << "x";
  }

  TestFolder folder_;
};

TEST_F(Restart, ARunIsFoundAgainByTheNameOfItsJob) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path);
  const Launched launched("host-7", "1");
  EXPECT_EQ(parse({}).run_dir, "");  // the first attempt had not come to make one
  for (const char* name : {"other", "own"}) fs::create_directories(fs::path("runs") / name);
  mark_job("runs/own");
  write("runs/own/checkpoints/epoch_1.0.h5");
  EXPECT_EQ(parse({}).run_dir, "runs/own");
  EXPECT_EQ(parse({}).checkpoints.resume, "auto");
  EXPECT_EQ(parse({"--run-dir=mine"}).run_dir, "mine");
  const Launched first("host-7", "0");
  EXPECT_EQ(parse({}).run_dir, "");
  fs::current_path(before);
}

TEST_F(Restart, GoesOnWithTheCheckpointsOfItsJob) {
  const Launched launched("job1", "1");
  EXPECT_EQ(resumed(), "");
  write("run/checkpoints/epoch_1.0.h5");
  EXPECT_EQ(resumed(), "");  // of another run
  mark_job(run());
  EXPECT_EQ(resumed(), "auto");
  write_mark(run(), {.id = "this"});
  EXPECT_EQ(resumed(), "auto");
  write_mark(run() + "/checkpoints", {.id = "another"});
  EXPECT_EQ(resumed(), "");
  write_mark(run() + "/checkpoints", {.id = "this"});
  EXPECT_EQ(resumed(), "auto");
  const Launched other("job2", "1");
  EXPECT_EQ(resumed(), "");
}

TEST_F(Restart, OnlyARestartFindsAFolderThatNobodyNamed) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path);
  const comm::JobScope scope(job_of(2));
  fs::create_directories("runs/own");
  {
    const Launched first("host-7", "0");
    mark_job("runs/own");
    EXPECT_SAYS(error({"--resume=auto"}), "--run-dir or --checkpoint-output-dir; give one");
  }
  {
    const Launched again("host-7", "1");
    EXPECT_EQ(parse({"--resume=auto"}).run_dir, "runs/own");
  }
  const Launched other("host-8", "1");
  EXPECT_SAYS(error({"--resume=auto"}), "give one");
  fs::current_path(before);
}

TEST_F(Restart, AFirstAttemptBeginsAnew) {
  const Launched launched("job1", "0");
  fs::create_directories(run());
  mark_job(run());
  write("run/checkpoints/epoch_1.0.h5");
  EXPECT_EQ(resumed(), "");
}

TEST_F(Restart, TheMarkKeepsItsTime) {
  const Launched launched("job1", "0");
  fs::create_directories(run());
  mark_job(run());
  const fs::path mark = fs::path(run()) / ".job";
  const auto earlier = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(mark, earlier);
  mark_job(run());
  EXPECT_EQ(fs::last_write_time(mark), earlier);
  EXPECT_SAYS(testing_support::error_of<IoError>([] { mark_job("/proc/none"); }), "No such file");
}

}  // namespace
}  // namespace pando::app
