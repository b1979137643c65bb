// Numbers that make no sense: a typed error or a right result, never a signal or endless work.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <limits>
#include <thread>

#include "tests/train/extreme_support.h"

namespace pando {
namespace {

Layer conv2d(const std::function<void(Conv2DOptions&)>& set) {
  Conv2DOptions options{.filters = 2, .kernel = {3, 3}};
  set(options);
  return Conv2D(options);
}
Layer conv3d(const std::function<void(Conv3DOptions&)>& set) {
  Conv3DOptions options{.filters = 2, .kernel = {2, 2, 2}};
  set(options);
  return Conv3D(options);
}

}  // namespace

std::vector<LayerCase> window_layer_cases() {
  const Shape image = {6, 6, 2}, volume = {4, 4, 4, 2};
  using N = int64_t;
  std::vector<LayerCase> cases = {
      {"Conv2D filters", image, [](N n) { return conv2d([=](auto& o) { o.filters = n; }); }, {1}},
      {"Conv2D kernel",
       image,
       [](N n) { return conv2d([=](auto& o) {
                   o.kernel = {n, 1};
                 }); },
       {1}},
      {"Conv2D kernel, same",
       image,
       [](N n) { return conv2d([=](auto& o) {
                   o.kernel = {1, n}, o.padding = "same";
                 }); },
       {1}},
      {"Conv2D strides",
       image,
       [](N n) { return conv2d([=](auto& o) {
                   o.strides = {n, 1};
                 }); },
       {1}},
      {"Conv2D strides, same",
       image,
       [](N n) { return conv2d([=](auto& o) {
                   o.strides = {1, n}, o.padding = "same";
                 }); },
       {1}},
      {"Conv2D dilation",
       image,
       [](N n) { return conv2d([=](auto& o) {
                   o.dilation = {n, 1};
                 }); },
       {1}},
      {"Conv2D dilation, same",
       image,
       [](N n) { return conv2d([=](auto& o) {
                   o.dilation = {1, n}, o.padding = "same";
                 }); },
       {1}},
      {"Conv2D groups", image, [](N n) { return conv2d([=](auto& o) { o.groups = n; }); }, {1}},
      {"Conv3D filters", volume, [](N n) { return conv3d([=](auto& o) { o.filters = n; }); }, {1}},
      {"Conv3D kernel",
       volume,
       [](N n) { return conv3d([=](auto& o) {
                   o.kernel = {1, n, 1};
                 }); },
       {1}},
      {"Conv3D kernel, same",
       volume,
       [](N n) { return conv3d([=](auto& o) {
                   o.kernel = {1, 1, n}, o.padding = "same";
                 }); },
       {1}},
      {"Conv3D strides",
       volume,
       [](N n) { return conv3d([=](auto& o) {
                   o.strides = {1, 1, n};
                 }); },
       {1}},
      {"Conv3D strides, same",
       volume,
       [](N n) { return conv3d([=](auto& o) {
                   o.strides = {n, 1, 1}, o.padding = "same";
                 }); },
       {1}},
      {"Conv3D dilation",
       volume,
       [](N n) { return conv3d([=](auto& o) {
                   o.dilation = {1, n, 1};
                 }); },
       {1}},
      {"Conv3D dilation, same",
       volume,
       [](N n) { return conv3d([=](auto& o) {
                   o.dilation = {n, 1, 1}, o.padding = "same";
                 }); },
       {1}},
      {"Conv3D groups", volume, [](N n) { return conv3d([=](auto& o) { o.groups = n; }); }, {1}},
      {"Dense units", {5}, [](N n) { return Dense({.units = n}); }, {1}},
      {"GroupNormalization groups",
       image,
       [](N n) { return GroupNormalization({.groups = n}); },
       {1}},
      {"GroupNormalization groups, strided",
       image,
       [](N n) { return GroupNormalization({.groups = n, .strided = true}); },
       {1}},
      {"Reshape",
       image,
       [](N n) {
         return Reshape({.shape = {n, 72}});
       },
       {1}},
      {"ZeroPadding2D top",
       image,
       [](N n) {
         return ZeroPadding2D({.top_bottom = {n, 0}});
       },
       {0, 1}},
      {"ZeroPadding2D right",
       image,
       [](N n) {
         return ZeroPadding2D({.left_right = {0, n}});
       },
       {0, 1}},
      {"StandardiseImage channels",
       image,
       [](N n) { return StandardiseImage({.channels = n}); },
       {0}},
      {"NormalisePixels channels",
       image,
       [](N n) { return NormalisePixels({.channels = n}); },
       {0}},
      {"Subsample stride", image, [](N n) { return Subsample({.stride = n}); }, {1}},
      {"Subsample channels", image, [](N n) { return Subsample({.channels = n}); }, {0}},
      {"Dropout rate", image, [](N n) { return Dropout({.rate = static_cast<double>(n)}); }, {0}},
      {"Concatenate axis",
       image,
       [](N n) { return Concatenate({.axis = static_cast<int>(n)}); },
       {1, -1}},
  };
  for (const bool same : {false, true}) {
    const std::string padding = same ? "same" : "valid";
    for (const bool average : {false, true}) {
      const auto pool2d = average ? AveragePooling2D : MaxPooling2D;
      const auto pool3d = average ? AveragePooling3D : MaxPooling3D;
      const std::string name = (average ? "AveragePooling" : "MaxPooling");
      cases.push_back({name + "2D pool " + padding,
                       image,
                       [=](N n) {
                         return pool2d({.pool = {n, 1}, .padding = padding});
                       },
                       {1}});
      cases.push_back({name + "2D strides " + padding,
                       image,
                       [=](N n) {
                         return pool2d({.strides = {1, n}, .padding = padding});
                       },
                       {}});
      cases.push_back({name + "3D pool " + padding,
                       volume,
                       [=](N n) {
                         return pool3d({.pool = {1, n, 1}, .padding = padding});
                       },
                       {1}});
      cases.push_back({name + "3D strides " + padding,
                       volume,
                       [=](N n) {
                         return pool3d({.strides = {n, 1, 1}, .padding = padding});
                       },
                       {}});
    }
  }
  return cases;
}

namespace {

TEST(ExtremeNumbers, OfLayersAreErrorsOrWork) { expect_errors_or_work(window_layer_cases()); }

TEST(ExtremeNumbers, OfInputsAreErrorsOrWork) {
  for (const int64_t value : kNumbers) {
    SCOPED_TRACE(value);
    const std::string failure = failure_of([&] {
      const SymbolicTensor input = Input({value, 2, 1});
      SymbolicTensor x = Conv2D({.filters = 1, .kernel = {1, 1}})(input);
      x = Dense({.units = 2})(Flatten()(x));
      Model model = compiled(Network(input, x), classifier());
      model.prepare(RunMode::train, 2, {{"x", DType::f32, {value, 2, 1}}, {"y", DType::i32, {}}});
    });
    EXPECT_EQ(failure == "", value == 1) << failure;
  }
}

// Batch sizes, counts and lengths of the public calls.
TEST(ExtremeNumbers, OfCallsAreErrorsOrWork) {
  const Dataset data = image_data(6);
  const auto with = [&](const std::function<void(Model&, int64_t)>& call,
                        const std::vector<int64_t>& right) {
    for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, kTwo31, int64_t{1} << 40,
                                kTwo62, std::numeric_limits<int64_t>::max()}) {
      Model model = compiled(small_cnn(), classifier());
      std::string failure;
      EXPECT_NO_THROW(failure = failure_of([&] { call(model, value); })) << value;
      const bool works = std::ranges::count(right, value) > 0;
      if (works || value < 0) {
        EXPECT_EQ(failure == "", works) << value << ": " << failure;
      }
    }
  };
  const auto fit = [&](const std::function<void(FitOptions&, int64_t)>& set) {
    return [&data, set](Model& model, int64_t value) {
      std::atomic<bool> stop = true;  // epochs without number end before the first
      FitOptions options{.batch_size = 2, .stop = &stop, .verbose = 0};
      set(options, value);
      model.fit(data, options);
    };
  };
  with(fit([](FitOptions& o, int64_t n) { o.batch_size = n; }), {1});
  with(fit([](FitOptions& o, int64_t n) { o.epochs = n; }), {0, 1});
  with(fit([](FitOptions& o, int64_t n) { o.epochs = n, o.carry_remainder = true; }), {0, 1});
  with(fit([](FitOptions& o, int64_t n) { o.updates_per_epoch = n; }), {0, 1, kTwo31});
  with(fit([](FitOptions& o, int64_t n) { o.steps_per_epoch = n; }), {0, 1, kTwo31});
  with(fit([](FitOptions& o, int64_t n) { o.initial_update = n; }), {0, 1});
  with(fit([](FitOptions& o, int64_t n) { o.initial_epoch = n, o.epochs = n; }), {0, 1});
  with(fit([](FitOptions& o, int64_t n) {
         o.joined_epochs = n, o.epochs = n, o.carry_remainder = true;
       }),
       {1});
  with(fit([](FitOptions& o, int64_t n) { o.prefetch_depth = static_cast<int>(n); }), {1});
  with(fit([](FitOptions& o, int64_t n) {
         o.validation_data = image_data(4), o.validation_batch_size = n;
       }),
       {0, 1});
  with([&](Model& model, int64_t n) { model.evaluate(data, {.batch_size = n}); }, {1});
  with([&](Model& model, int64_t n) { model.evaluate(data, {.steps_per_execution = n}); },
       {0, 1, kTwo31, kTwo62});
  with([&](Model& model, int64_t n) { model.predict(data, {.batch_size = n}); }, {1});
  with([&](Model& model, int64_t n) { model.prepare(RunMode::train, n, data.fields()); }, {1});
  with(
      [&](Model& model, int64_t n) {
        CompileOptions options = classifier();
        options.steps_per_execution = n;
        model.compile(options);
        model.fit(data, {.verbose = 0});
      },
      {0, 1, kTwo31, kTwo62});
}

TEST(ExtremeNumbers, OfDataSetsAreErrorsOrWork) {
  const Dataset data = image_data(6);
  const std::vector<std::function<void(int64_t)>> calls = {
      [&](int64_t n) { data.batch(n).next(); },
      [&](int64_t n) { data.batch(4).repeat(n).next(); },
      [&](int64_t n) { data.batch(4).share({.total = n, .first = n - 1}).next(); },
      [&](int64_t n) { data.batch(4).prefetch(static_cast<int>(n)).next(); },
      [&](int64_t n) { data.batch(4).prefetch(1, {.workers = static_cast<int>(n)}).next(); },
      [&](int64_t n) {
        data.batch(4).restore({n, n});
      },
      [&](int64_t n) { data.repeat(n).skip(n).batch(2).next(); },
      [&](int64_t n) { data.repeat(n).concat(data.repeat(n)).batch(2).next(); },
      [&](int64_t n) { data.take(n).batch(2).next(); },
      [&](int64_t n) { data.shard(n, n - 1).batch(2).next(); },
      [&](int64_t n) { data.repeat(n).shuffle().take(2).batch(2); },
      [&](int64_t n) { data.repeat(n).cache({.most_bytes = 1 << 20}); },
      [&](int64_t n) { data.shuffle({.buffer = n}); },
      [&](int64_t n) { data.get(n, n); },
      [&](int64_t n) { one_hot(data, n); },
      [&](int64_t n) {
        Dataset::from_function(n, [&](int64_t i) { return data.get(i % 6); }).get(0);
      },
      [&](int64_t n) {
        Dataset::generate(2, {{"x", DType::f32, {n, n}}}, [](const SampleView&) {});
      },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const int64_t value : kNumbers) {
      SCOPED_TRACE(std::to_string(i) + " with " + std::to_string(value));
      EXPECT_NO_THROW(failure_of([&] { calls[i](value); }));
    }
  }
}

TEST(ExtremeNumbers, OfDevicesAreErrorsOrWork) {
  for (const int value :
       {0, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    SCOPED_TRACE(value);
    const auto prepare = [](Model& model) {
      model.prepare(RunMode::train, 2, image_data(2).fields());
    };
    EXPECT_NE(failure_of([&] {
                const DeviceStrategy strategy({.devices = value});
                const auto scope = strategy.scope();
                Model model = compiled(small_cnn(), classifier());
                prepare(model);
              }),
              "");
    for (const bool slices : {false, true}) {
      const std::string failure = failure_of([&] {
        ExecutionOptions execution;
        (slices ? execution.slices : execution.threads) = value;
        Model model = compiled(small_cnn(), classifier("sgd", execution));
        prepare(model);
      });
      EXPECT_EQ(failure == "", value == 0) << failure;
    }
    const auto accumulation = [&] {
      Model model = compiled(small_cnn(), classifier());
      model.set_gradient_accumulation_options({.steps_per_replica = value});
      prepare(model);
      model.fit(image_data(4), {.batch_size = 2, .verbose = 0});
    };
    EXPECT_NO_THROW(EXPECT_TRUE(failure_of(accumulation) != "" || value > 0));
  }
}

TEST(ExtremeNumbers, MissingFieldsAreNamed) {
  Model model = compiled(small_cnn(), classifier());
  EXPECT_SAYS(failure_of([&] { model.prepare(RunMode::train, 2, {}); }), "no fields");
  const Dataset features = Dataset::from_tensors(random_tensor({4, 6, 6, 1}, 1));
  EXPECT_SAYS(failure_of([&] { model.fit(features, {.verbose = 0}); }), "no labels");
  EXPECT_SAYS(failure_of([&] { features.get(0).y(); }), "at least 2 fields", "got 1");
  EXPECT_SAYS(failure_of([&] { features.batch(2).next()->y(); }), "at least 2 fields");
  EXPECT_SAYS(failure_of([] { Sample().x(); }), "got 0");
}

TEST(ExtremeNumbers, NullCallbacksAreNamed) {
  Model model = compiled(small_cnn(), classifier());
  const std::string failure =
      failure_of([&] { model.fit(image_data(4), {.callbacks = {nullptr}, .verbose = 0}); });
  EXPECT_SAYS(failure, "fit: callbacks: ", "0", "null");
}

TEST(ExtremeNumbers, AModelOfTwoThreadsThrows) {
  Model model = compiled(small_cnn(), classifier());
  class InTheMiddle : public Callback {
   public:
    explicit InTheMiddle(Model& model) : model_(model) {}
    void on_epoch_end(FitContext& context, const Logs&) override {
      const auto use = [&](const std::function<void()>& call) {
        std::thread([&] { failures.push_back(failure_of(call)); }).join();
      };
      use([&] { model_.fit(image_data(4), {.verbose = 0}); });
      use([&] { model_.evaluate(image_data(4)); });
      use([&] { model_.predict(image_data(4)); });
      use([&] { model_.compile(classifier()); });
      use([&] { model_.set_weights(model_.get_weights()); });
      context.model->evaluate(image_data(4));  // the thread of the fit may
    }
    std::vector<std::string> failures;

   private:
    Model& model_;
  };
  const auto callback = std::make_shared<InTheMiddle>(model);
  model.fit(image_data(4), {.callbacks = {callback}, .verbose = 0});
  ASSERT_EQ(callback->failures.size(), 5u);
  for (const std::string& failure : callback->failures) EXPECT_SAYS(failure, "another thread");
  EXPECT_NO_THROW(model.predict(image_data(4)));
}

}  // namespace
}  // namespace pando
