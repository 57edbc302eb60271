#pragma once
// The verbs of Client for the generated types: T::kType names the kind, T::from_json and to_json
// carry it.
//
// A T holds the fields that the schema names. update() of an object made by another program would
// drop what it does not name: patch those.
//
// The client given by reference must outlive the awaited task. An object that the server holds and
// the program cannot read is kInternal: it is no fault of the caller.
//
// Example:
//   AT_CO_TRY(api::Pod pod, co_await kube::get<api::Pod>(client, {"default", "demo"}));
//   pod.metadata.labels["x"] = "y";
//   AT_CO_TRY(pod, co_await kube::update<api::Pod>(client, std::move(pod)));

#include <string>
#include <utility>
#include <vector>

#include "kube/client.h"
#include "kube/wire.h"

namespace agenttier::kube {

template <class T>
ObjectKey key_of(const T& object) {
  return {object.metadata.ns, object.metadata.name};
}

// The API server's answer as a T.
template <class T>
base::Result<T> decode(json::object object) {
  const std::string name(metadata_text(object, "name"));
  base::Result<T> decoded = T::from_json(object);
  if (decoded) return decoded;
  base::Error error = std::move(decoded).error();
  error.code = base::ErrorCode::kInternal;
  return std::move(error).context("read " + std::string(T::kType.kind) + " " + name);
}

template <class T>
struct TypedList {
  std::vector<T> items;
  std::string resource_version;
  std::string continue_token;
};

template <class T>
base::Result<TypedList<T>> decode_list(ObjectList objects) {
  TypedList<T> list;
  list.resource_version = std::move(objects.resource_version);
  list.continue_token = std::move(objects.continue_token);
  list.items.reserve(objects.items.size());
  for (json::object& object : objects.items) {
    AT_TRY(T item, decode<T>(std::move(object)));
    list.items.push_back(std::move(item));
  }
  return list;
}

template <class T>
async::Task<base::Result<T>> get(Client& client, ObjectKey key) {
  AT_CO_TRY(json::object object, co_await client.get(T::kType, std::move(key)));
  co_return decode<T>(std::move(object));
}

// One page.
template <class T>
async::Task<base::Result<TypedList<T>>> list(Client& client, ListOptions options = {}) {
  AT_CO_TRY(ObjectList objects, co_await client.list(T::kType, std::move(options)));
  co_return decode_list<T>(std::move(objects));
}

// Every page.
template <class T>
async::Task<base::Result<TypedList<T>>> list_all(Client& client, ListOptions options = {}) {
  AT_CO_TRY(ObjectList objects, co_await client.list_all(T::kType, std::move(options)));
  co_return decode_list<T>(std::move(objects));
}

template <class T>
async::Task<base::Result<T>> create(Client& client, T object) {
  AT_CO_TRY(json::object created, co_await client.create(T::kType, object.to_json()));
  co_return decode<T>(std::move(created));
}

template <class T>
async::Task<base::Result<T>> update(Client& client, T object,
                                    Subresource subresource = Subresource::kNone) {
  AT_CO_TRY(json::object updated, co_await client.update(T::kType, object.to_json(), subresource));
  co_return decode<T>(std::move(updated));
}

template <class T>
async::Task<base::Result<T>> update_status(Client& client, T object) {
  return update<T>(client, std::move(object), Subresource::kStatus);
}

template <class T>
async::Task<base::Result<T>> patch(Client& client, ObjectKey key, PatchType patch_type,
                                   json::value patch,
                                   Subresource subresource = Subresource::kNone) {
  AT_CO_TRY(json::object patched, co_await client.patch(T::kType, std::move(key), patch_type,
                                                        std::move(patch), subresource));
  co_return decode<T>(std::move(patched));
}

template <class T>
async::Task<base::Status> remove(Client& client, ObjectKey key, DeleteOptions options = {}) {
  return client.remove(T::kType, std::move(key), std::move(options));
}

}  // namespace agenttier::kube
