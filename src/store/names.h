#pragma once
// The name rules of Kubernetes. Each gives an empty text if the name is right, otherwise what is
// wrong with it, in the words that Kubernetes uses.

#include <cstddef>
#include <string>
#include <string_view>

#include "store/resource.h"

namespace agenttier::store {

inline constexpr std::size_t kSubdomainMax = 253;
inline constexpr std::size_t kLabelMax = 63;

std::string name_fault(NameRule rule, std::string_view name);
// Keys of labels and annotations, finalizers: "prefix/name" or "name".
std::string qualified_name_fault(std::string_view name);
std::string label_value_fault(std::string_view value);
// Keys of Secrets and ConfigMaps.
std::string data_key_fault(std::string_view key);

}  // namespace agenttier::store
