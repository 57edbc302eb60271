#pragma once
// The ApiService answers requests of the Kubernetes API from the parts of the store. Reads come
// from the committed table, writes are decided on the LatestState and answered when they are
// durable.

#include <memory>
#include <string>

#include "http/service.h"
#include "store/api_path.h"
#include "store/commit_queue.h"
#include "store/object_list.h"
#include "store/object_writer.h"
#include "store/watch_history.h"
#include "store/watch_reader.h"

namespace agenttier::store {

// The parts that one store is made of; all outlive the service.
struct StoreParts {
  const base::Clock& clock;
  const ObjectTable& committed;
  const std::shared_ptr<WatchHistory>& history;
  LatestState& latest;
  ObjectRemover& remover;
  ObjectWriter& writer;
  CommitQueue& queue;
};

struct ApiLimits {
  std::size_t request_bytes_max;
  std::size_t watches_max;
  std::chrono::seconds event_time_max;
  std::chrono::milliseconds bookmark_interval;
};

class ApiService final : public http::Service {
 public:
  ApiService(StoreParts parts, ApiLimits limits);
  async::Task<http::Response> handle(http::Request request) override;

 private:
  struct Call {  // one parsed request
    std::string method;
    ApiPath path;
    ApiQuery query;
    std::string content_type;
    std::string accept;
    std::shared_ptr<const std::string> body;  // of a write
  };
  // What a write is to answer once it is durable.
  struct Answer {
    int status = 200;
    std::string text;
    std::vector<std::string> unknown_fields;
    std::vector<std::string> notices = {};
  };

  base::Result<Call> parse(const http::Request& request, const http::Target& target) const;
  base::Result<http::Response> read(const Call& call);
  base::Result<http::Response> get(const Call& call) const;
  base::Result<http::Response> list(const Call& call) const;
  base::Result<http::Response> watch(const Call& call);
  base::Result<WatchPlan> watch_plan(const Call& call) const;
  std::chrono::milliseconds watch_time(const ApiQuery& query) const;
  async::Task<base::Result<http::Response>> write(Call call);
  base::Result<Answer> decide(const Call& call);
  base::Result<Answer> create(const Call& call);
  base::Result<Answer> update(const Call& call);
  base::Result<Answer> patch(const Call& call);
  base::Result<Answer> remove(const Call& call);
  base::Result<Answer> remove_collection(const Call& call);
  static void add_warnings(const Call& call, const Answer& answer, http::Response& response);
  async::Task<base::Status> make_durable();
  base::Result<ListQuery> list_query(const Call& call) const;
  std::int64_t expired_before(const Resource& resource) const;
  void remove_expired_events();

  StoreParts parts_;
  ApiLimits limits_;
  std::shared_ptr<std::size_t> watches_ = std::make_shared<std::size_t>(0);
  base::WallTime next_sweep_{};
};

}  // namespace agenttier::store
