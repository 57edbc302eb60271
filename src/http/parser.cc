#include "http/parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>

#include "base/assert.h"
#include "http/text.h"

namespace agenttier::http {
namespace {

namespace beast_http = boost::beast::http;
using boost::system::error_code;
using View = boost::beast::string_view;

std::string text(View view) {
  return {view.data(), view.size()};
}

// Collects what Beast's parser finds; the same for requests and responses.
template <bool kIsRequest>
class Collector final : public beast_http::basic_parser<kIsRequest> {
 public:
  explicit Collector(std::uint32_t head_bytes_max) {
    this->header_limit(head_bytes_max);
    this->body_limit(boost::none);
  }

  MessageHead head;

 private:
  void on_request_impl(beast_http::verb, View method, View target, int version,
                       error_code&) override {
    head.method = text(method);
    head.target = text(target);
    head.version = version;
  }
  void on_response_impl(int status, View, int version, error_code&) override {
    head.status = status;
    head.version = version;
  }
  void on_field_impl(beast_http::field, View name, View value, error_code&) override {
    head.headers.add({name.data(), name.size()}, text(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(View body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, View, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, View body, error_code&) override {
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
};

base::Error parse_error(const error_code& code) {
  base::Error error = base::invalid("malformed HTTP message: " + code.message());
  if (code == beast_http::error::header_limit) {
    error = base::invalid("the HTTP head is larger than the limit");
    error.reason = "head_too_large";
  }
  return error;
}

std::size_t count(const Headers& headers, std::string_view name) {
  std::size_t number = 0;
  for (const auto& field : headers.fields())
    number += equal_without_case(field.first, name) ? 1 : 0;
  return number;
}

// "http://host/path" means "/path"; other forms are left to check_request.
void use_origin_form(std::string& target) {
  const auto scheme = target.find("://");
  if (target.empty() || target.front() == '/' || scheme == std::string::npos) return;
  const auto path = target.find_first_of("/?", scheme + 3);
  std::string origin = path == std::string::npos ? "/" : target.substr(path);
  if (origin.front() == '?') origin.insert(origin.begin(), '/');
  target = std::move(origin);
}

base::Status check_request(MessageHead& head) {
  use_origin_form(head.target);
  if (head.target.front() != '/' && head.target != "*") {
    return base::invalid("malformed HTTP message: the request target must begin with '/'");
  }
  const std::size_t hosts = count(head.headers, "Host");
  if (hosts > 1 || (hosts == 0 && head.version == 11)) {
    return base::invalid("malformed HTTP message: exactly one Host field is needed");
  }
  return {};
}

base::Status check_framing(const MessageHead& head, Framing framing) {
  const std::size_t codings = count(head.headers, "Transfer-Encoding");
  if (codings == 0) return {};
  if (framing != Framing::kChunked || codings > 1 || head.version == 10 ||
      !equal_without_case(trim(*head.headers.find("Transfer-Encoding")), "chunked")) {
    return base::invalid("malformed HTTP message: the only transfer coding is 'chunked', once");
  }
  if (count(head.headers, "Content-Length") > 0) {
    return base::invalid("malformed HTTP message: both a length and a transfer coding");
  }
  return {};
}

template <bool kIsRequest>
base::Status finish_head(Collector<kIsRequest>& parser) {
  MessageHead& head = parser.head;
  if (parser.chunked()) {
    head.framing = Framing::kChunked;
  } else if (const auto length = parser.content_length(); length && *length > 0) {
    head.framing = Framing::kLength;
    head.content_length = *length;
  } else if (!length && !kIsRequest) {
    head.framing = Framing::kToEnd;
  }
  head.persistence = parser.keep_alive() ? Persistence::kKeep : Persistence::kClose;
  AT_OK(check_framing(head, head.framing));
  if constexpr (kIsRequest) {
    AT_OK(check_request(head));
    const auto expect = head.headers.find("Expect");
    head.expects_continue =
        head.version == 11 && expect && equal_without_case(*expect, "100-continue");
  } else {
    if (head.status / 100 == 1 || head.status == 204 || head.status == 304) {
      head.framing = Framing::kNone;
    }
  }
  return {};
}

template <class Parser>
base::Result<std::size_t> put_head(Parser& parser, std::string_view data) {
  error_code code;
  const std::size_t used = parser.put(boost::asio::const_buffer(data.data(), data.size()), code);
  if (code && code != beast_http::error::need_more) return parse_error(code);
  if (parser.is_header_done()) AT_OK(finish_head(parser));
  return used;
}

}  // namespace

class HeadParser::Impl {
 public:
  explicit Impl(std::uint32_t max) : head_bytes_max(max) {}

  template <class Function>
  auto with(Function function) const {
    AT_ASSERT(request || response);
    return request ? function(*request) : function(*response);
  }
  template <class Function>
  auto with(Function function) {
    AT_ASSERT(request || response);
    return request ? function(*request) : function(*response);
  }

  std::uint32_t head_bytes_max;
  BodyPresence body = BodyPresence::kNormal;
  std::optional<Collector<true>> request;
  std::optional<Collector<false>> response;
};

HeadParser::HeadParser(std::uint32_t head_bytes_max)
    : impl_(std::make_unique<Impl>(head_bytes_max)) {}
HeadParser::~HeadParser() = default;

void HeadParser::start_request() {
  impl_->response.reset();
  impl_->request.emplace(impl_->head_bytes_max);
}

void HeadParser::start_response(BodyPresence body) {
  impl_->request.reset();
  impl_->response.emplace(impl_->head_bytes_max);
  impl_->body = body;
}

base::Result<std::size_t> HeadParser::parse_head(std::string_view data) {
  return impl_->with([data](auto& parser) { return put_head(parser, data); });
}

bool HeadParser::head_done() const {
  return impl_->with([](const auto& parser) { return parser.is_header_done(); });
}

MessageHead HeadParser::take_head() {
  auto head = impl_->with([](auto& parser) { return std::move(parser.head); });
  if (impl_->response && impl_->body == BodyPresence::kOmitted) head.framing = Framing::kNone;
  return head;
}

}  // namespace agenttier::http
