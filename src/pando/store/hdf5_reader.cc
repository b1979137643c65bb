// SPDX-License-Identifier: MIT
#include "pando/store/hdf5_reader.h"

#include <algorithm>
#include <optional>

#include "pando/store/hdf5/attributes.h"
#include "pando/store/hdf5/dataset.h"
#include "pando/store/hdf5/links.h"
#include "pando/store/hdf5/superblock.h"

namespace pando::store {

namespace {

constexpr int kMostSoftLinks = 16;       // on one path
constexpr uint64_t kMostExpansion = 64;  // times the size of the file

std::vector<std::string> components_of(const std::string& path) {
  std::vector<std::string> components = split(path, '/');
  std::erase_if(components, [](const std::string& part) { return part.empty() || part == "."; });
  return components;
}

// An object that was read before. Its parts are read when a caller asks for them. No part is read
// twice, so the limit on reading metadata does not depend on how often a caller asks.
struct CachedObject {
  hdf5::ObjectHeader header;
  std::optional<hdf5::Dataset> dataset;
  std::optional<hdf5::Links> links;
  std::optional<std::map<std::string, hdf5::Bytes>> attributes;
};

}  // namespace

struct Hdf5Reader::State {
  std::string name;
  hdf5::FileBytes bytes;
  hdf5::DataBudget budget{};
  hdf5::GlobalHeap strings{bytes, budget};
  uint64_t root = 0;
  std::map<uint64_t, CachedObject> objects;  // by address

  // Runs a step and adds file and object to its errors.
  template <typename Step>
  auto in_place(const std::string& place, const Step& step) {
    try {
      return step();
    } catch (const IoError& error) {
      throw IoError("HDF5 file '", name, "': ", place, place.empty() ? "" : ": ", error.what());
    }
  }
  State(std::string file_name, hdf5::FileBytes file, uint64_t most_bytes)
      : name(std::move(file_name)), bytes(std::move(file)) {
    if (__builtin_mul_overflow(bytes.size(), kMostExpansion, &budget.left) ||
        __builtin_add_overflow(budget.left, most_bytes, &budget.left)) {
      budget.left = ~uint64_t{0};
    }
    in_place("", [this] { root = hdf5::read_superblock(bytes); });
  }

  template <typename Step>
  auto at_object(const std::string& path, const Step& step) {
    return in_place(concat("'", path, "'"), [&] { return step(object_at(path)); });
  }
  template <typename Step>
  auto at_attribute(const std::string& object, const std::string& attribute, const Step& step) {
    return in_place(concat("attribute '", attribute, "' of '", object, "'"),
                    [&] { return step(attribute_of(object_at(object), attribute)); });
  }

  CachedObject& object(uint64_t address) {
    const auto known = objects.find(address);
    if (known != objects.end()) return known->second;
    return objects[address] = {.header = hdf5::read_object_header(bytes, address)};
  }
  const hdf5::Links& links_of(CachedObject& object) {
    if (!object.links) object.links = hdf5::read_links(bytes, object.header);
    return *object.links;
  }
  const std::map<std::string, hdf5::Bytes>& attributes_of(CachedObject& object) {
    if (!object.attributes) object.attributes = hdf5::read_attributes(bytes, object.header);
    return *object.attributes;
  }
  hdf5::Attribute attribute_of(CachedObject& object, const std::string& attribute) {
    const auto& all = attributes_of(object);
    const auto found = all.find(attribute);
    if (found == all.end()) throw IoError("there is no such attribute");
    return hdf5::parse_attribute(bytes, found->second);
  }

  const hdf5::Link* find_link(CachedObject& group, const std::string& part) {
    const hdf5::Links& links = links_of(group);
    const auto found = links.find(part);
    return found == links.end() ? nullptr : &found->second;
  }
  CachedObject& object_at(const std::string& path) {
    int soft_links = 0;
    return object(follow(root, path, soft_links));
  }
  // The address of the object to which `path` leads from the group `start`.
  uint64_t follow(uint64_t start, const std::string& path, int& soft_links) {
    uint64_t at = path.starts_with('/') ? root : start;
    for (const std::string& part : components_of(path)) {
      const hdf5::Link* link = find_link(object(at), part);
      if (link == nullptr) throw IoError("there is no '", part, "'");
      if (link->kind == hdf5::LinkKind::hard) {
        at = link->address;
      } else if (link->kind == hdf5::LinkKind::other) {
        throw IoError("'", part, "' is a link into another file, which is not supported");
      } else if (++soft_links > kMostSoftLinks) {
        throw IoError("'", part, "' follows more than ", kMostSoftLinks, " soft links");
      } else {
        at = follow(at, link->target, soft_links);
      }
    }
    return at;
  }
  bool exists(const std::string& path) {
    int soft_links = 0;
    const std::vector<std::string> parts = components_of(path);
    uint64_t at = root;
    for (size_t i = 0; i < parts.size(); ++i) {
      const hdf5::Link* link = find_link(object(at), parts[i]);
      if (link == nullptr) return false;
      if (i + 1 < parts.size()) at = follow(at, parts[i], soft_links);
    }
    return true;
  }

  std::vector<std::string> strings_of(const hdf5::Attribute& attribute) {
    if (attribute.raw.empty()) return {};
    if (!attribute.type.is_string()) {
      throw IoError("expected strings, got ", attribute.type.name);
    }
    return hdf5::decode_strings(bytes, strings, attribute.type, attribute.raw);
  }
  Tensor tensor_of(CachedObject& object) {
    if (!hdf5::is_dataset(object.header)) throw IoError("is not a dataset");
    if (!object.dataset) object.dataset = hdf5::parse_dataset(bytes, object.header);
    const hdf5::Dataset& dataset = *object.dataset;
    const DType dtype = hdf5::tensor_type(dataset.type);
    if (dataset.space.null) throw IoError("the dataset holds no data");
    hdf5::DatasetReader reader(bytes, dataset, budget);
    const std::vector<uint64_t>& dims = dataset.space.dims;
    Tensor tensor(dtype, Shape(std::vector<int64_t>(dims.begin(), dims.end())));
    if (hdf5::same_bytes(dataset.type)) {
      reader.read({reinterpret_cast<uint8_t*>(tensor.data()), tensor.bytes()});
      return tensor;
    }
    hdf5::Bytes raw(reader.bytes());
    reader.read(raw);
    hdf5::decode_tensor(dataset.type, raw, tensor);
    return tensor;
  }
};

Hdf5Reader::Hdf5Reader(const std::string& path)
    : state_(std::make_unique<State>(path, hdf5::FileBytes(path), Options().most_bytes)) {}
Hdf5Reader::Hdf5Reader(std::span<const uint8_t> content, const std::string& name, Options options)
    : state_(std::make_unique<State>(name, hdf5::FileBytes(content, options.check_sums),
                                     options.most_bytes)) {}
Hdf5Reader::Hdf5Reader(Hdf5Reader&&) noexcept = default;
Hdf5Reader& Hdf5Reader::operator=(Hdf5Reader&&) noexcept = default;
Hdf5Reader::~Hdf5Reader() = default;

void Hdf5Reader::limit_tensors(uint64_t most_bytes) {
  state_->budget.left = std::min(state_->budget.left, most_bytes);
}

bool Hdf5Reader::exists(const std::string& path) {
  return state_->in_place(concat("'", path, "'"), [&] { return state_->exists(path); });
}

bool Hdf5Reader::is_group(const std::string& path) {
  return state_->at_object(path,
                           [](CachedObject& object) { return hdf5::is_group(object.header); });
}

bool Hdf5Reader::is_dataset(const std::string& path) {
  return state_->at_object(path,
                           [](CachedObject& object) { return hdf5::is_dataset(object.header); });
}

std::vector<std::string> Hdf5Reader::children(const std::string& group) {
  return state_->at_object(group, [&](CachedObject& object) {
    std::vector<std::string> names;
    for (const auto& [name, link] : state_->links_of(object)) names.push_back(name);
    return names;
  });
}

Tensor Hdf5Reader::read_tensor(const std::string& path) {
  return state_->at_object(path, [&](CachedObject& object) { return state_->tensor_of(object); });
}

std::vector<std::string> Hdf5Reader::attribute_names(const std::string& object) {
  return state_->at_object(object, [&](CachedObject& found) {
    std::vector<std::string> names;
    for (const auto& [name, message] : state_->attributes_of(found)) names.push_back(name);
    return names;
  });
}

bool Hdf5Reader::has_attribute(const std::string& object, const std::string& name) {
  return state_->at_object(
      object, [&](CachedObject& found) { return state_->attributes_of(found).contains(name); });
}

std::vector<std::string> Hdf5Reader::read_strings(const std::string& object,
                                                  const std::string& name) {
  return state_->at_attribute(object, name, [&](const hdf5::Attribute& attribute) {
    return state_->strings_of(attribute);
  });
}

std::vector<double> Hdf5Reader::read_numbers(const std::string& object, const std::string& name) {
  return state_->at_attribute(object, name, [](const hdf5::Attribute& attribute) {
    if (attribute.raw.empty()) return std::vector<double>();
    if (!attribute.type.is_number()) throw IoError("expected numbers, got ", attribute.type.name);
    return hdf5::decode_numbers(attribute.type, attribute.raw);
  });
}

std::map<std::string, std::string> Hdf5Reader::string_attributes(const std::string& object) {
  std::map<std::string, std::string> values;
  for (const std::string& name : attribute_names(object)) {
    state_->at_attribute(object, name, [&](const hdf5::Attribute& attribute) {
      const bool scalar = !attribute.space.null && attribute.space.dims.empty();
      if (scalar && attribute.type.is_string())
        values[name] = state_->strings_of(attribute).front();
    });
  }
  return values;
}

}  // namespace pando::store
