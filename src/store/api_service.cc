#include "store/api_service.h"

#include <utility>

#include "store/api_error.h"
#include "store/api_reply.h"
#include "store/discovery.h"
#include "store/table_view.h"
#include "store/watch_reader.h"

namespace agenttier::store {
namespace {

using http::Response;

constexpr std::chrono::seconds kWatchTimeMin{1800};  // without timeoutSeconds: this to twice this
constexpr std::chrono::seconds kWatchTimeMax{24 * 3600};
constexpr std::chrono::seconds kSweepInterval{10};
constexpr std::size_t kWarningsMax = 20;

std::string header(const http::Request& request, std::string_view name) {
  const auto found = request.headers.find(name);
  return found ? std::string(*found) : std::string();
}

bool is_json(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ')) content_type.remove_suffix(1);
  return content_type.empty() || content_type == "application/json" || content_type == "*/*";
}

base::Result<json::object> parse_body(std::string_view content_type, std::string_view body) {
  if (!is_json(content_type)) {
    const std::string given(content_type.substr(0, 100));
    const bool binary = given.find("protobuf") != std::string::npos;
    return unsupported_media_type(
        "the body must be application/json, not " + given +
        (binary ? "; with kubectl, use \"kubectl create ... --dry-run=client -o yaml | "
                  "kubectl apply -f -\""
                : ""));
  }
  auto value = parse_json(body);
  if (!value) return bad_request("body: " + value.error().message);
  if (!value->is_object()) return bad_request("body: must be a JSON object");
  return std::move(value->get_object());
}

// Counts an open watch as long as it lives.
class CountedReader final : public http::BodyReader {
 public:
  CountedReader(std::unique_ptr<http::BodyReader> inner, std::shared_ptr<std::size_t> count)
      : inner_(std::move(inner)), count_(std::move(count)) {
    ++*count_;
  }
  ~CountedReader() override { --*count_; }
  async::Task<base::Result<std::string>> read() override { return inner_->read(); }

 private:
  std::unique_ptr<http::BodyReader> inner_;
  std::shared_ptr<std::size_t> count_;
};

// A store that answers is well.
bool is_health_path(std::string_view path) {
  return path == "/healthz" || path == "/livez" || path == "/readyz";
}

Part part_of(const ApiPath& path) {
  return path.subresource == "status" ? Part::kStatus : Part::kMain;
}

bool has_subresource(const ApiPath& path) {
  if (path.subresource.empty()) return true;
  if (path.subresource == "status") return path.resource->has_status;
  return path.subresource == "binding" && path.resource == &pods();
}

// The name in the body of a create, for a message about it.
std::string name_in(std::string_view body) {
  const auto value = parse_json(body);
  if (!value || !value->is_object()) return "";
  return std::string(find_text(value->get_object(), "metadata.name"));
}

// What the failure of a write is about.
StatusSubject subject_of(StatusSubject subject, std::string_view method, const std::string& ns,
                         std::string_view body, const base::Error& error) {
  // A create finds nothing missing but its namespace.
  const bool creates = method == "POST" && subject.name.empty();
  if (creates && error.reason == "NotFound") return {&namespaces(), ns};
  if (creates) subject.name = name_in(body);
  // The preconditions of a deletion.
  const bool by_kind = method == "DELETE" && error.reason == "Conflict";
  if (by_kind) subject.named_by = NamedBy::kKind;
  return subject;
}

ObjectPlace place_of(const ApiPath& path) {
  return {path.resource, path.ns, path.name};
}

}  // namespace

ApiService::ApiService(StoreParts parts, ApiLimits limits) : parts_(parts), limits_(limits) {}

base::Result<ApiService::Call> ApiService::parse(const http::Request& request,
                                                 const http::Target& target) const {
  Call call{request.method, {}, {}, header(request, "Content-Type"), header(request, "Accept"), {}};
  AT_TRY(call.path, parse_api_path(target.path));
  if (!has_subresource(call.path)) return path_not_found();
  AT_TRY(call.query, parse_api_query(request.method, target));
  return call;
}

async::Task<Response> ApiService::handle(http::Request request) {
  auto target = http::parse_target(request.target);
  if (!target) co_return status_response(bad_request(target.error().message), {});
  if (request.method == "GET") {
    auto document = discovery_document(target->path);
    if (document) co_return http::json_response(200, *std::move(document));
    if (is_health_path(target->path)) co_return http::text_response(200, "ok");
  }
  auto call = parse(request, *target);
  if (!call) co_return status_response(call.error(), {});
  StatusSubject subject{call->path.resource, call->path.name};
  if (call->method == "GET") {
    auto response = read(*call);
    if (!response) co_return status_response(response.error(), subject);
    co_return *std::move(response);
  }
  auto body = co_await request.body.read_all(limits_.request_bytes_max);
  if (!body && body.error().reason == "body_too_large") {
    co_return status_response(too_large(body.error().message), subject);
  }
  if (!body) co_return status_response(body.error(), subject);
  call->body = std::make_shared<const std::string>(*std::move(body));
  const auto sent = call->body;
  const std::string ns = call->path.ns;
  const std::string method = call->method;
  auto response = co_await write(*std::move(call));
  if (!response) subject = subject_of(std::move(subject), method, ns, *sent, response.error());
  if (!response) co_return status_response(response.error(), subject);
  co_return *std::move(response);
}

// ---- Reads

base::Result<Response> ApiService::read(const Call& call) {
  if (call.path.subresource == "binding") return method_not_allowed();
  if (!call.path.name.empty()) return get(call);
  AT_OK(check_list_query(call.query));
  return call.query.watch ? watch(call) : list(call);
}

std::int64_t ApiService::expired_before(const Resource& resource) const {
  if (&resource != &events()) return 0;
  const auto limit = parts_.clock.now() - limits_.event_time_max;
  return std::chrono::duration_cast<std::chrono::seconds>(limit.time_since_epoch()).count();
}

base::Result<Response> ApiService::get(const Call& call) const {
  const ApiPath& path = call.path;
  const ObjectPtr object = parts_.committed.find(*path.resource, path.ns, path.name);
  if (!object || object->written_at <= expired_before(*path.resource)) {
    return object_not_found(*path.resource, path.name);
  }
  if (!wants_table(call.accept)) return http::json_response(200, object->text);
  return http::json_response(
      200, table_row_of(*object, {parts_.clock.now(), call.query.include_object}));
}

base::Result<ListQuery> ApiService::list_query(const Call& call) const {
  ListQuery query{call.path.resource, call.path.ns, {}, 0, {}, {}, 0};
  AT_TRY(query.selector, Selector::parse(*call.path.resource, call.query.label_selector,
                                         call.query.field_selector));
  query.limit = call.query.limit;
  query.continue_token = call.query.continue_token;
  query.written_after = expired_before(*call.path.resource);
  return query;
}

base::Result<Response> ApiService::list(const Call& call) const {
  AT_TRY(ListQuery query, list_query(call));
  const std::string& version = call.query.resource_version;
  if (!version.empty() && version != "0") {
    const std::uint64_t wanted = std::stoull(version);
    if (wanted > parts_.history->version()) {
      return too_new(wanted, parts_.history->version());
    }
    if (call.query.version_match == VersionMatch::kExact) query.exact_version = wanted;
  }
  AT_TRY(ListPage page, list_objects(parts_.committed, *parts_.history, query));
  if (wants_table(call.accept)) {
    const TableOptions options{parts_.clock.now(), call.query.include_object};
    return http::json_response(200, table_of(*call.path.resource, page, options));
  }
  Response response = http::json_response(200, "");
  response.body = list_body(*call.path.resource, std::move(page));
  return response;
}

base::Result<Response> ApiService::watch(const Call& call) {
  if (*watches_ >= limits_.watches_max) {
    return base::exhausted("too many watches are open: " + std::to_string(limits_.watches_max) +
                           " is the limit");
  }
  if (parts_.history->closed()) return base::unavailable("the store is stopping");
  AT_TRY(WatchPlan plan, watch_plan(call));
  std::unique_ptr<http::BodyReader> reader =
      std::make_unique<CountedReader>(make_watch_reader(parts_.history, std::move(plan)), watches_);
  Response response = http::json_response(200, "");
  response.body = http::Body(std::move(reader));
  return response;
}

base::Result<WatchPlan> ApiService::watch_plan(const Call& call) const {
  AT_TRY(ListQuery query, list_query(call));
  const std::string& from = call.query.resource_version;
  const auto sends_initial = call.query.send_initial_events;
  const bool from_now = from.empty() || from == "0" || sends_initial == true;
  WatchPlan plan{};
  plan.resource = call.path.resource;
  plan.ns = call.path.ns;
  plan.from_version = from_now ? parts_.history->version() : std::stoull(from);
  if (!parts_.history->reaches(*plan.resource, plan.from_version)) {
    return gone("too old resource version: " + from + " (the current one is " +
                std::to_string(parts_.history->version()) + "); list again");
  }
  if (from_now && sends_initial != false) {
    query.limit = 0;
    AT_TRY(ListPage page, list_objects(parts_.committed, *parts_.history, query));
    plan.initial = std::move(page.items);
  }
  plan.selector = std::move(query.selector);
  plan.marks_initial_end = sends_initial == true;
  plan.bookmarks = call.query.bookmarks;
  plan.clock = &parts_.clock;
  plan.bookmark_interval = limits_.bookmark_interval;
  plan.time_max = watch_time(call.query);
  if (wants_table(call.accept)) {
    plan.render = [&clock = parts_.clock, include = call.query.include_object,
                   columns = Columns::kTold](const StoredObject& object) mutable {
      return table_row_of(object,
                          {clock.now(), include, std::exchange(columns, Columns::kLeftOut)});
    };
  }
  return plan;
}

// Spread, so that watches which began together do not end together.
std::chrono::milliseconds ApiService::watch_time(const ApiQuery& query) const {
  const std::chrono::seconds asked(query.timeout_seconds.value_or(0));
  if (asked.count() > 0) return std::min(asked, kWatchTimeMax);
  const double spread = parts_.latest.random().unit() * static_cast<double>(kWatchTimeMin.count());
  return kWatchTimeMin + std::chrono::seconds(static_cast<std::int64_t>(spread));
}

// ---- Writes

async::Task<base::Result<Response>> ApiService::write(Call call) {
  AT_CO_OK(parts_.queue.accepts());
  auto answer = decide(call);
  AT_ASSERT(answer || !parts_.latest.has_changes());
  remove_expired_events();
  // A refusal, too, waits for what it was decided on.
  AT_CO_OK(co_await make_durable());
  if (!answer) co_return std::move(answer).error();
  Response response = http::json_response(answer->status, std::move(answer->text));
  add_warnings(call, *answer, response);
  co_return response;
}

void ApiService::add_warnings(const Call& call, const Answer& answer, Response& response) {
  for (const std::string& notice : answer.notices) {
    response.headers.add("Warning", warning_of(notice));
  }
  if (call.query.write.field_validation == FieldValidation::kIgnore) return;
  for (std::size_t i = 0; i < answer.unknown_fields.size() && i < kWarningsMax; ++i) {
    response.headers.add("Warning",
                         warning_of("unknown field \"" + answer.unknown_fields[i] + "\""));
  }
}

async::Task<base::Status> ApiService::make_durable() {
  CommitQueue::CommitPtr commit;
  if (parts_.latest.has_changes()) {
    commit = parts_.queue.submit(parts_.latest.take_changes(), parts_.latest.version());
  } else {
    commit = parts_.queue.pending();
  }
  if (!commit) co_return base::Status();
  co_return co_await CommitQueue::wait(std::move(commit));
}

base::Result<ApiService::Answer> ApiService::decide(const Call& call) {
  const bool is_collection = call.path.name.empty();
  if (call.method == "POST") return create(call);
  if (call.path.subresource == "binding") return method_not_allowed();
  if (call.method == "DELETE") {
    if (!call.path.subresource.empty()) return method_not_allowed();
    return is_collection ? remove_collection(call) : remove(call);
  }
  if (is_collection) return method_not_allowed();
  if (call.method == "PUT") return update(call);
  if (call.method == "PATCH") return patch(call);
  return method_not_allowed();
}

base::Result<ApiService::Answer> ApiService::create(const Call& call) {
  const ApiPath& path = call.path;
  const bool binds = path.subresource == "binding";
  if (!path.name.empty() && !binds) return method_not_allowed();
  if (path.resource->type.namespaced && path.ns.empty()) return method_not_allowed();
  AT_TRY(json::object body, parse_body(call.content_type, *call.body));
  if (binds) {
    AT_OK(parts_.writer.bind_pod(place_of(path), body, call.query.write));
    return Answer{
        201, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"})", {}};
  }
  AT_TRY(WriteOutcome outcome,
         parts_.writer.create(place_of(path), std::move(body), call.query.write));
  return Answer{201, outcome.object->text, std::move(outcome.unknown_fields),
                std::move(outcome.notices)};
}

base::Result<ApiService::Answer> ApiService::update(const Call& call) {
  AT_TRY(json::object body, parse_body(call.content_type, *call.body));
  AT_TRY(WriteOutcome outcome, parts_.writer.update(place_of(call.path), part_of(call.path),
                                                    std::move(body), call.query.write));
  return Answer{200, outcome.object->text, std::move(outcome.unknown_fields),
                std::move(outcome.notices)};
}

base::Result<ApiService::Answer> ApiService::patch(const Call& call) {
  const auto type = patch_type_of(call.content_type);
  if (!type) {
    return unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, "
        "application/strategic-merge-patch+json");
  }
  auto body = parse_json(*call.body);
  if (!body) return bad_request("body: " + body.error().message);
  AT_TRY(WriteOutcome outcome, parts_.writer.patch(place_of(call.path), part_of(call.path), *type,
                                                   *body, call.query.write));
  return Answer{200, outcome.object->text, std::move(outcome.unknown_fields),
                std::move(outcome.notices)};
}

base::Result<ApiService::Answer> ApiService::remove(const Call& call) {
  AT_TRY(const Removal removal, parse_removal(*call.body, call.query));
  const ApiPath& path = call.path;
  const ObjectPtr object = parts_.latest.find(*path.resource, path.ns, path.name);
  if (!object) return object_not_found(*path.resource, path.name);
  AT_OK(parts_.remover.check(object, removal.request));
  if (removal.dry_run == DryRun::kYes) return Answer{200, success_text(*object), {}};
  const ObjectPtr last = parts_.remover.remove(object, removal.request);
  const bool is_left = parts_.latest.table().find_uid(object->uid) != nullptr;
  const bool shown = is_left || path.resource->shows_deleted_object;
  return Answer{200, shown ? last->text : success_text(*object), {}};
}

base::Result<ApiService::Answer> ApiService::remove_collection(const Call& call) {
  const Resource& resource = *call.path.resource;
  const bool reached = !resource.type.namespaced || !call.path.ns.empty();
  if (!reached || !resource.deletes_collection) return method_not_allowed();
  AT_TRY(const Removal removal, parse_removal(*call.body, call.query));
  AT_TRY(const ListQuery query, list_query(call));
  ListPage removed{{}, parts_.latest.version(), ""};
  for (const ObjectPtr& object : parts_.latest.table().of(resource)) {
    if (!query.ns.empty() && object->ns != query.ns) continue;
    const bool selected = query.selector.matches(*object);
    if (selected && parts_.remover.check(object, removal.request)) removed.items.push_back(object);
  }
  if (removal.dry_run == DryRun::kNo) {
    for (const ObjectPtr& object : removed.items) parts_.remover.remove(object, removal.request);
  }
  return Answer{200, list_text(resource, removed), {}};
}

// Together with a write, so that nothing has to wake up for it; reads do not show what has expired.
void ApiService::remove_expired_events() {
  const auto now = parts_.clock.now();
  if (now < next_sweep_) return;
  next_sweep_ = now + kSweepInterval;
  const std::int64_t limit = expired_before(events());
  std::vector<ObjectPtr> expired;
  for (const ObjectPtr& event : parts_.latest.table().of(events())) {
    if (event->written_at <= limit) expired.push_back(event);
  }
  for (const ObjectPtr& event : expired) parts_.remover.remove(event, {});
}

}  // namespace agenttier::store
