// The server over loopback: what it answers, refuses and survives.
#include <gtest/gtest.h>

#include "http/testing.h"

namespace agenttier::http {
namespace {

using namespace std::chrono_literals;

async::Task<Response> say_hello(Request request) {
  co_return text_response(200, request.method + " " + request.target);
}

async::Task<Response> echo(Request request) {
  Response response;
  const auto length = request.body.length();
  response.body = Body(request.body.into_reader(), length);
  co_return response;
}

TEST(Server, AnswersARequest) {
  TestServer server(say_hello);
  const auto answer =
      server.run(call(server.client(), make_request(server.authority(), "/hello?x=1")));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /hello?x=1");
}

TEST(Server, EchoesAStreamedBody) {
  TestServer server(echo);
  const std::string sent(3'000'000, 'x');
  const auto answer =
      server.run(call(server.client(), make_request(server.authority(), "/", sent)));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), sent.size());
  EXPECT_TRUE(answer.body == sent);
}

}  // namespace
}  // namespace agenttier::http
