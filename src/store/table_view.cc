#include "store/table_view.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "api/crds.h"
#include "base/time_format.h"

namespace agenttier::store {
namespace {

constexpr api::PrinterColumn kAgeColumn[] = {{"Age", "date", ".metadata.creationTimestamp"}};

std::span<const api::PrinterColumn> columns_of(const Resource& resource) {
  const api::KindInfo* kind = api::find_kind(resource.type.kind);
  return kind && !kind->columns.empty() ? kind->columns : std::span(kAgeColumn);
}

json::object definition(std::string_view name, std::string_view type, std::string_view format) {
  return {{"name", name}, {"type", type}, {"format", format}, {"description", ""}, {"priority", 0}};
}

json::array definitions(const Resource& resource) {
  json::array list{definition("Name", "string", "name")};
  for (const api::PrinterColumn& column : columns_of(resource)) {
    const bool as_text = column.type == "date" && !resource.is_custom;
    list.push_back(definition(column.name, as_text ? "string" : column.type, ""));
  }
  return list;
}

json::value age_cell(const json::value& value, base::WallTime now) {
  const json::string* text = value.if_string();
  if (!text) return "<unknown>";
  const auto time = base::parse_rfc3339(view(*text));
  if (!time) return "<unknown>";
  return json::string(format_age(std::chrono::duration_cast<std::chrono::seconds>(now - *time)));
}

json::value cell(const api::PrinterColumn& column, const json::object& object, base::WallTime now) {
  std::string_view path = column.json_path;
  if (path.starts_with('.')) path.remove_prefix(1);
  const json::value* value = find_path(object, path);
  if (!value || value->is_null()) return nullptr;
  if (column.type == "date") return age_cell(*value, now);
  if (value->is_object() || value->is_array()) return json::string(json::serialize(*value));
  return *value;
}

json::value shown_object(const json::object& value, IncludeObject include) {
  if (include == IncludeObject::kNone) return nullptr;
  if (include == IncludeObject::kWhole) return value;
  return json::object{{"kind", "PartialObjectMetadata"},
                      {"apiVersion", "meta.k8s.io/v1"},
                      {"metadata", value.at("metadata")}};
}

json::object row(const Resource& resource, const StoredObject& object,
                 const TableOptions& options) {
  const json::object value = parse_object(object);
  json::array cells{object.name};
  for (const api::PrinterColumn& column : columns_of(resource)) {
    cells.push_back(cell(column, value, options.now));
  }
  return {{"cells", std::move(cells)}, {"object", shown_object(value, options.include)}};
}

json::object table(const Resource& resource, json::object metadata, json::array rows,
                   Columns columns) {
  json::object table{{"kind", "Table"}, {"apiVersion", "meta.k8s.io/v1"}};
  table["metadata"] = std::move(metadata);
  table["columnDefinitions"] = nullptr;
  if (columns == Columns::kTold) table["columnDefinitions"] = definitions(resource);
  table["rows"] = std::move(rows);
  return table;
}

}  // namespace

bool wants_table(std::string_view accept) {
  const std::string_view first = accept.substr(0, accept.find(','));
  return first.find("as=Table") != std::string_view::npos &&
         first.find("v=v1beta1") == std::string_view::npos;
}

std::string format_age(std::chrono::seconds age) {
  const auto seconds = std::max<std::int64_t>(age.count(), 0);
  const auto minutes = seconds / 60;
  const auto hours = minutes / 60;
  const auto days = hours / 24;
  const auto two = [](std::int64_t whole, const char* unit, std::int64_t rest, const char* part) {
    const std::string text = std::to_string(whole) + unit;
    return rest == 0 ? text : text + std::to_string(rest) + part;
  };
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return std::to_string(minutes) + "m";
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return std::to_string(hours) + "h";
  if (days < 8) return two(days, "d", hours % 24, "h");
  if (days < 730) return std::to_string(days) + "d";
  return two(days / 365, "y", days % 365, "d");
}

std::string table_of(const Resource& resource, const ListPage& page, const TableOptions& options) {
  json::object metadata{{"resourceVersion", std::to_string(page.version)}};
  if (!page.continue_token.empty()) metadata["continue"] = page.continue_token;
  if (page.remaining > 0) metadata["remainingItemCount"] = page.remaining;
  json::array rows;
  for (const ObjectPtr& object : page.items) rows.push_back(row(resource, *object, options));
  return json::serialize(table(resource, std::move(metadata), std::move(rows), options.columns));
}

std::string table_row_of(const StoredObject& object, const TableOptions& options) {
  const Resource& resource = *object.resource;
  json::object metadata{{"resourceVersion", std::to_string(object.version)}};
  json::array rows{row(resource, object, options)};
  return json::serialize(table(resource, std::move(metadata), std::move(rows), options.columns));
}

}  // namespace agenttier::store
