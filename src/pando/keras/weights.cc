// SPDX-License-Identifier: MIT
#include "pando/keras/weights.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "pando/base/checked.h"
#include "pando/base/error.h"

namespace pando::keras {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

std::string label_of(const WantedLayer& layer) {
  return concat("layer '", join(layer.names, "/"), "' (", layer.classes.back(), ")");
}

// The tensor in the form that the layer expects.
Tensor fitting(const Tensor& tensor, const WantedLayer& layer, const WantedWeight& weight,
               const std::string& place) {
  if (!weight.any_shape && tensor.shape() != weight.shape) {
    throw IoError(place, ": ", label_of(layer), ": ", weight.name, ": expected the shape ",
                  weight.shape, ", got ", tensor.shape());
  }
  if (!weight.any_shape && (tensor.dtype() == DType::i32 || tensor.dtype() == DType::u8)) {
    throw IoError(place, ": ", label_of(layer), ": ", weight.name,
                  ": expected floating-point numbers, got ", to_string(tensor.dtype()));
  }
  return cast(tensor, DType::f32);
}

std::string without_zero(const std::string& name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

// The last two parts of a name: "conv/kernel".
std::string ending_of(const std::string& name) {
  const size_t last = name.rfind('/');
  if (last == std::string::npos || last == 0) return name;
  const size_t before = name.rfind('/', last - 1);
  return before == std::string::npos ? name : name.substr(before + 1);
}

// Finds weights by the name of their layer and their own name; ignores the scopes before these.
class WeightNames {
 public:
  explicit WeightNames(const NamedTensors& weights) {
    for (const auto& [name, tensor] : weights) {
      const std::string plain = without_zero(name);
      exact_.emplace(plain, &tensor);
      by_ending_.emplace(ending_of(plain), std::pair(plain, &tensor));
    }
  }
  // Null: none, or several.
  const Tensor* find(const WantedLayer& layer, const WantedWeight& weight) const {
    for (const std::string& name : spellings(weight.name)) {
      const std::string own = concat(layer.names.back(), "/", name);
      for (const std::string& full : {concat(join(layer.names, "/"), "/", name), own}) {
        const auto found = exact_.find(full);
        if (found != exact_.end()) return found->second;
      }
      if (const Tensor* tensor = find_ending(own)) return tensor;
    }
    return nullptr;
  }

 private:
  static std::vector<std::string> spellings(const std::string& name) {
    if (name == "depthwise_kernel") return {name, "kernel"};  // Keras 3 shortens it
    return {name};
  }
  const Tensor* find_ending(const std::string& own) const {
    const Tensor* found = nullptr;
    const auto [first, last] = by_ending_.equal_range(ending_of(own));
    for (auto at = first; at != last; ++at) {
      if (!at->second.first.ends_with("/" + own)) continue;
      if (found != nullptr) return nullptr;
      found = at->second.second;
    }
    return found;
  }

  std::map<std::string, const Tensor*> exact_;
  std::multimap<std::string, std::pair<std::string, const Tensor*>> by_ending_;
};

class NamedWeights : public WeightSource {
 public:
  NamedWeights(NamedTensors weights, std::string place)
      : weights_(std::move(weights)), place_(std::move(place)) {}
  std::vector<std::vector<Tensor>> find(const std::vector<WantedLayer>& layers) const override {
    const WeightNames names(weights_);
    std::vector<std::vector<Tensor>> found;
    for (const WantedLayer& layer : layers) {
      found.emplace_back();
      for (const WantedWeight& weight : layer.weights) {
        const Tensor* tensor = names.find(layer, weight);
        if (tensor == nullptr) {
          throw IoError(place_, ": ", label_of(layer), ": there is no weight '", layer.names.back(),
                        "/", weight.name, "' among the ", weights_.size(), " weights of the file");
        }
        found.back().push_back(fitting(*tensor, layer, weight, place_));
      }
    }
    return found;
  }

 private:
  NamedTensors weights_;
  std::string place_;
};

class GroupedWeights : public WeightSource {
 public:
  GroupedWeights(std::vector<WeightGroup> groups, std::string place)
      : groups_(std::move(groups)), place_(std::move(place)) {
    std::erase_if(groups_, [](const WeightGroup& group) { return group.weights.empty(); });
  }

  // Keras' rule: the n-th group with weights belongs to the n-th layer with weights.
  std::vector<std::vector<Tensor>> find(const std::vector<WantedLayer>& layers) const override {
    std::vector<std::pair<size_t, size_t>>
        tops;  // layers [first, second) are one layer of the model
    for (size_t i = 0; i < layers.size(); ++i) {
      const bool same = i > 0 && layers[i].names[0] == layers[i - 1].names[0];
      if (!same) tops.emplace_back(i, i);
      tops.back().second = i + 1;
    }
    if (tops.size() != groups_.size()) {
      throw IoError(place_, ": expected weights of ", tops.size(), " layers, got those of ",
                    groups_.size());
    }
    std::vector<std::vector<Tensor>> found;
    for (const WantedLayer& layer : layers) found.emplace_back(layer.weights.size());
    const std::vector<const WeightGroup*> order = groups_of(layers, tops);
    for (size_t i = 0; i < tops.size(); ++i) {
      const std::span wanted(layers.data() + tops[i].first, tops[i].second - tops[i].first);
      fill(*order[i], wanted, std::span(found).subspan(tops[i].first, wanted.size()));
    }
    return found;
  }

 private:
  std::vector<const WeightGroup*> groups_of(
      const std::vector<WantedLayer>& layers,
      const std::vector<std::pair<size_t, size_t>>& tops) const {
    std::map<std::string, const WeightGroup*> by_name;
    for (const WeightGroup& group : groups_) by_name.emplace(group.layer, &group);
    std::vector<const WeightGroup*> named, counted;
    for (size_t i = 0; i < tops.size(); ++i) {
      counted.push_back(&groups_[i]);
      const auto found = by_name.find(layers[tops[i].first].names[0]);
      if (found != by_name.end()) named.push_back(found->second);
    }
    return named.size() == tops.size() ? named : counted;
  }

  void fill(const WeightGroup& group, std::span<const WantedLayer> layers,
            std::span<std::vector<Tensor>> found) const {
    struct Slot {
      const WantedLayer* layer;
      const WantedWeight* weight;
      Tensor* tensor;
    };
    std::vector<Slot> slots;
    for (const bool trainable : {true, false}) {  // the order in Keras' files
      for (size_t i = 0; i < layers.size(); ++i) {
        for (size_t j = 0; j < layers[i].weights.size(); ++j) {
          const WantedWeight& weight = layers[i].weights[j];
          if (weight.trainable == trainable) slots.push_back({&layers[i], &weight, &found[i][j]});
        }
      }
    }
    if (slots.size() != group.weights.size()) {
      throw IoError(place_, ": layer '", group.layer, "': expected ", slots.size(),
                    " weights, got ", group.weights.size());
    }
    const WeightNames names(group.weights);
    std::vector<const Tensor*> named, counted;
    for (size_t i = 0; i < slots.size(); ++i) {
      counted.push_back(&group.weights[i].second);
      const Tensor* tensor = names.find(*slots[i].layer, *slots[i].weight);
      if (tensor != nullptr) named.push_back(tensor);
    }
    const auto& sources = layers.size() > 1 && named.size() == slots.size() ? named : counted;
    for (size_t i = 0; i < slots.size(); ++i) {
      *slots[i].tensor = fitting(*sources[i], *slots[i].layer, *slots[i].weight, place_);
    }
  }

  std::vector<WeightGroup> groups_;
  std::string place_;
};

// Keras numbers the layers of a class within a model: conv2d, conv2d_1, ... Numbers may be missing
// where layers have no weights, so the n-th layer of a class has the n-th number that is there.
class CountedWeights : public WeightSource {
 public:
  CountedWeights(std::map<std::string, Tensor> weights, std::string place)
      : weights_(std::move(weights)), place_(std::move(place)) {}

  std::vector<std::vector<Tensor>> find(const std::vector<WantedLayer>& layers) const override {
    std::map<std::string, std::string> paths;  // of layers and models by their names
    std::map<std::string, size_t> used;        // by container and class
    std::vector<std::vector<Tensor>> found;
    for (const WantedLayer& layer : layers) {
      std::string names, path;
      for (size_t depth = 0; depth < layer.names.size(); ++depth) {
        names += "/" + layer.names[depth];
        const auto known = paths.find(names);
        if (known != paths.end()) {
          path = known->second;
          continue;
        }
        const std::string stem = snake_case(layer.classes[depth]);
        const std::vector<std::string> there = numbered(path, stem);
        const size_t number = used[concat(path, ":", stem)]++;
        if (number >= there.size()) {
          throw IoError(place_, ": ", label_of(layer), ": expected at least ", number + 1,
                        " layers '", stem, "' with weights in '/", path, "', got ", there.size());
        }
        path = there[number];
        paths[names] = path;
      }
      found.push_back(variables(layer, path));
    }
    return found;
  }

 private:
  // The groups "stem" and "stem_n" below a model, by their numbers.
  std::vector<std::string> numbered(const std::string& path, const std::string& stem) const {
    std::map<int64_t, std::string> groups;
    for (const char* container : {"layers/", "_layer_checkpoint_dependencies/"}) {
      const std::string prefix = (path.empty() ? "" : path + "/") + container;
      const std::string start = prefix + stem;
      for (auto at = weights_.lower_bound(start);
           at != weights_.end() && at->first.starts_with(start); ++at) {
        const size_t end = at->first.find('/', prefix.size());
        if (end == std::string::npos) continue;
        const std::string rest = at->first.substr(start.size(), end - start.size());
        const std::optional<int64_t> number = rest.empty()     ? int64_t{0}
                                              : rest[0] == '_' ? parse_int(rest.substr(1))
                                                               : std::nullopt;
        if (number) groups.emplace(*number, at->first.substr(0, end));
      }
      if (!groups.empty()) break;
    }
    std::vector<std::string> result;
    for (auto& [number, group] : groups) result.push_back(std::move(group));
    return result;
  }

  std::vector<Tensor> variables(const WantedLayer& layer, const std::string& path) const {
    std::vector<Tensor> found;
    for (size_t i = 0; i < layer.weights.size(); ++i) {
      const auto tensor = weights_.find(concat(path, "/vars/", i));
      if (tensor == weights_.end()) {
        throw IoError(place_, ": ", label_of(layer), ": expected ", layer.weights.size(),
                      " weights in '", path, "/vars', got ", i);
      }
      found.push_back(fitting(tensor->second, layer, layer.weights[i], place_));
    }
    if (weights_.contains(concat(path, "/vars/", layer.weights.size()))) {
      throw IoError(place_, ": ", label_of(layer), ": expected ", layer.weights.size(),
                    " weights in '", path, "/vars', got more");
    }
    return found;
  }

  std::map<std::string, Tensor> weights_;
  std::string place_;
};

class DeferredWeights : public WeightSource {
 public:
  explicit DeferredWeights(ReadWeights read) : read_(std::move(read)) {}
  std::vector<std::vector<Tensor>> find(const std::vector<WantedLayer>& layers) const override {
    constexpr uint64_t kRoom = uint64_t{1} << 26;
    constexpr int64_t kBytesOfElement = 4 * 8;  // a weight and three slots, in 64 bits
    uint64_t most = kRoom;
    for (const WantedLayer& layer : layers) {
      for (const WantedWeight& weight : layer.weights) {
        std::optional<int64_t> bytes = kBytesOfElement;
        for (const int64_t extent : weight.shape) {
          bytes = bytes ? product_of({*bytes, extent}) : std::nullopt;
        }
        if (!bytes || __builtin_add_overflow(most, static_cast<uint64_t>(*bytes), &most)) {
          throw Unsupported(label_of(layer), ": ", weight.name, ": the shape ", weight.shape,
                            " is too large");
        }
      }
    }
    return read_(most)->find(layers);
  }

 private:
  ReadWeights read_;
};

}  // namespace

std::string snake_case(const std::string& class_name) {
  std::string words;  // a word begins before a capital that small letters follow
  for (size_t i = 0; i < class_name.size();) {
    words += class_name[i++];
    if (i + 1 >= class_name.size() || !is_upper(class_name[i]) || !is_lower(class_name[i + 1])) {
      continue;
    }
    words += '_';
    words += class_name[i++];
    while (i < class_name.size() && is_lower(class_name[i])) words += class_name[i++];
  }
  std::string snake;  // and between a small letter and a capital
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && is_upper(words[i]) && is_lower(words[i - 1])) snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(words[i])));
  }
  return snake;
}

std::unique_ptr<WeightSource> grouped_weights(std::vector<WeightGroup> groups, std::string place) {
  return std::make_unique<GroupedWeights>(std::move(groups), std::move(place));
}
std::unique_ptr<WeightSource> named_weights(NamedTensors weights, std::string place) {
  return std::make_unique<NamedWeights>(std::move(weights), std::move(place));
}
std::unique_ptr<WeightSource> counted_weights(std::map<std::string, Tensor> weights,
                                              std::string place) {
  return std::make_unique<CountedWeights>(std::move(weights), std::move(place));
}
std::unique_ptr<WeightSource> deferred_weights(ReadWeights read) {
  return std::make_unique<DeferredWeights>(std::move(read));
}

}  // namespace pando::keras
