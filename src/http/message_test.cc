// Values, targets, error responses, routes, event streams, heads: no connection.
#include "http/message.h"

#include <gtest/gtest.h>

#include "http/head_text.h"
#include "http/routes.h"
#include "http/service.h"
#include "http/sse.h"

namespace agenttier::http {
namespace {

TEST(Headers, CompareNamesWithoutCase) {
  Headers headers{{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}};
  EXPECT_EQ(headers.find("content-type"), "a");
  EXPECT_EQ(headers.find("X"), "1");
  EXPECT_EQ(headers.find("Y"), std::nullopt);
  headers.set("X", "3");
  EXPECT_EQ(headers.fields().size(), 2U);
  headers.remove("CONTENT-TYPE");
  EXPECT_EQ(headers.fields().size(), 1U);
}

TEST(Target, DecodesTheQueryAndLeavesThePath) {
  const auto target = parse_target("/a%20b/c+d?x=1%2B1&y=a+b&flag&=v&x=2#frag");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a%20b/c+d");
  EXPECT_EQ(target->find("x"), "1+1");
  EXPECT_EQ(target->find("y"), "a b");
  EXPECT_EQ(target->find("flag"), "");
  EXPECT_EQ(target->find("none"), std::nullopt);
  EXPECT_EQ(target->query.size(), 5U);
}

TEST(Target, RefusesWhatIsNoPathOrBroken) {
  for (const char* text :
       {"", "*", "a/b", "?x=1", "/?x=%", "/?x=%4", "/?x=%zz", "/?x=%00", "/?%0"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(Percent, EncodesAndDecodes) {
  EXPECT_EQ(percent_encode("a/b c~\xc3\xa9"), "a%2Fb%20c~%C3%A9");
  EXPECT_EQ(percent_encode_path("/a/b c"), "/a/b%20c");
  EXPECT_EQ(*percent_decode("a+b%2fc"), "a+b/c");
  EXPECT_FALSE(percent_decode("%0"));
  EXPECT_FALSE(percent_decode("a%00b"));
}

TEST(ErrorResponse, SaysWhatAndWhereAndWhen) {
  base::Error error = base::invalid_field("spec.size", "must be positive");
  error.retry_after = std::chrono::milliseconds(1500);
  const Response response = error_response(error);
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.headers.find("Retry-After"), "2");
  EXPECT_EQ(response.headers.find("Content-Type"), "application/json");
  EXPECT_NE(response.body.bytes().find("\"causes\":[{\"field\":\"spec.size\""), std::string::npos);
}

TEST(ErrorResponse, UsesTheReasonAsItsWord) {
  base::Error error = base::denied("no");
  error.reason = "policy_violation";
  EXPECT_NE(error_response(error).body.bytes().find("\"error\":\"policy_violation\""),
            std::string::npos);
  EXPECT_NE(error_response(base::denied("no")).body.bytes().find("\"error\":\"denied\""),
            std::string::npos);
}

TEST(HeadText, DataCannotMakeFields) {
  const Headers headers{{"X", "a\r\nSet-Cookie: b"}, {"Bad\r\nName", "c"}, {"Connection", "x"}};
  const std::string head = response_head(200, headers, {}, 11);
  EXPECT_EQ(head, "HTTP/1.1 200 OK\r\nX: a  Set-Cookie: b\r\n\r\n");
}

TEST(HeadText, RefusesARequestThatCannotBeSent) {
  Request request;
  request.authority = "a:1";
  EXPECT_TRUE(request_head(request, {}, "test"));
  for (const char* target : {"", "a", "/a b", "/a\r\nX: y", "http://a/"}) {
    request.target = target;
    EXPECT_FALSE(request_head(request, {}, "test")) << target;
  }
  request.target = "/";
  request.method = "GET /x HTTP/1.1\r\nA:";
  EXPECT_FALSE(request_head(request, {}, "test"));
  request.method = "GET";
  request.headers.set("X", "a\nb");
  EXPECT_FALSE(request_head(request, {}, "test"));
}

// The route, or what else came, and the variables as "name=value;".
std::string matched(const RouteTable& routes, std::string_view method, std::string_view path) {
  const auto result = routes.match(method, path);
  if (std::holds_alternative<RouteNotFound>(result)) return "not found";
  if (std::holds_alternative<BadPath>(result)) return "bad path";
  if (const auto* other = std::get_if<MethodNotAllowed>(&result)) return "allow " + other->allow;
  const auto& match = std::get<RouteMatch>(result);
  std::string text = std::to_string(match.route);
  for (const auto& [name, value] : match.variables) text += " " + name + "=" + value;
  return text;
}

RouteTable sandbox_routes() {
  RouteTable routes;
  routes.add("GET", "/sandboxes", 1);
  routes.add("POST", "/sandboxes", 2);
  routes.add("GET", "/sandboxes/{id}", 3);
  routes.add("GET", "/sandboxes/bulk", 4);
  routes.add("DELETE", "/sandboxes/{id}", 5);
  routes.add("GET", "/sandboxes/{id}/files/{path...}", 6);
  routes.add("PUT", "/sandboxes/{name}/files/{path...}", 7);
  routes.add("POST", "/sandboxes/{id}/files/archive", 8);
  routes.add("GET", "/", 9);
  routes.add("GET", "/ui/{path...}", 10);
  return routes;
}

TEST(Routes, MatchLiteralsBeforeVariables) {
  const auto routes = sandbox_routes();
  EXPECT_EQ(matched(routes, "GET", "/sandboxes"), "1");
  EXPECT_EQ(matched(routes, "POST", "/sandboxes"), "2");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/demo"), "3 id=demo");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/bulk"), "4");
  EXPECT_EQ(matched(routes, "DELETE", "/sandboxes/bulk"), "5 id=bulk");
  EXPECT_EQ(matched(routes, "POST", "/sandboxes/a/files/archive"), "8 id=a");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/a/files/archive"), "6 id=a path=archive");
  EXPECT_EQ(matched(routes, "GET", "/"), "9");
}

TEST(Routes, KeepTheRestOfThePathAsItIs) {
  const auto routes = sandbox_routes();
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/a/files//etc//x"), "6 id=a path=/etc//x");
  EXPECT_EQ(matched(routes, "PUT", "/sandboxes/a/files/b%20c/%2e%2E/"), "7 name=a path=b c/../");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/a/files/"), "6 id=a path=");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/a/files"), "not found");
}

TEST(Routes, DecodeASegmentAfterSplitting) {
  const auto routes = sandbox_routes();
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/a%2Fb"), "3 id=a/b");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/a+b"), "3 id=a+b");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/%zz"), "bad path");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/%00"), "bad path");
}

TEST(Routes, TellWhichMethodsAreAllowed) {
  const auto routes = sandbox_routes();
  EXPECT_EQ(matched(routes, "PATCH", "/sandboxes"), "allow GET, HEAD, POST");
  EXPECT_EQ(matched(routes, "PATCH", "/sandboxes/a"), "allow DELETE, GET, HEAD");
  EXPECT_EQ(matched(routes, "HEAD", "/sandboxes/a"), "3 id=a");
  EXPECT_EQ(matched(routes, "GET", "/sandboxes/"), "not found");
  EXPECT_EQ(matched(routes, "GET", "//sandboxes"), "not found");
  EXPECT_EQ(matched(routes, "GET", "/nothing"), "not found");
  EXPECT_EQ(matched(routes, "OPTIONS", "*"), "not found");
}

TEST(Sse, WritesEventsThatCannotBeSplit) {
  EXPECT_EQ(format_sse({.event = "a\nb", .data = "x\ny\r\nz\rw", .id = "1\n2"}),
            "id: 12\nevent: ab\ndata: x\ndata: y\ndata: z\ndata: w\n\n");
  EXPECT_EQ(format_sse({.event = "", .data = "", .id = ""}), "data: \n\n");
}

TEST(Sse, MakesJsonSafeWithoutChangingIt) {
  EXPECT_EQ(sse_safe_json("{\"a\":\n\"\xC2\x85\xE2\x80\xA8\xE2\x80\xA9\x7f\x0b\"}"),
            "{\"a\": \"\\u0085\\u2028\\u2029\\u007f\\u000b\"}");
  EXPECT_EQ(sse_safe_json("\"\\\"\xC2\x85\\\\\" \"\xC3\xA9\xE2\x82\xAC\""),
            "\"\\\"\\u0085\\\\\" \"\xC3\xA9\xE2\x82\xAC\"");
}

TEST(Sse, ParsesWhatItWroteHoweverItIsSplit) {
  const std::vector<SseEvent> events = {{"output", "one\ntwo", "7"}, {"", "plain", "7"}};
  const std::string text = "\xEF\xBB\xBF: hi\r\n" + format_sse(events[0]) +
                           std::string(kSseKeepAlive) + "retry: 5\rdata:plain\r\r" + "data: cut";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    SseParser parser(100);
    std::vector<SseEvent> seen;
    for (std::size_t at = 0; at < text.size(); at += step) {
      const auto fed = parser.feed(text.substr(at, step));
      ASSERT_TRUE(fed);
      seen.insert(seen.end(), fed->begin(), fed->end());
    }
    EXPECT_EQ(seen, events) << step;
    EXPECT_EQ(parser.last_id(), "7");
  }
}

TEST(Sse, BoundsAnEvent) {
  SseParser parser(10);
  EXPECT_FALSE(parser.feed("data: " + std::string(20, 'x')));
  SseParser many(10);
  EXPECT_FALSE(many.feed("data: abc\ndata: abc\ndata: abc\ndata: abc\n"));
}

}  // namespace
}  // namespace agenttier::http
