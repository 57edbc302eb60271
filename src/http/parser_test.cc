// Heads and chunks, whole, split and malformed.
#include "http/parser.h"

#include <gtest/gtest.h>

#include "http/chunk_decoder.h"

namespace agenttier::http {
namespace {

constexpr std::uint32_t kHeadMax = 1024;

base::Result<MessageHead> parse_request(std::string_view text) {
  HeadParser parser(kHeadMax);
  parser.start_request();
  AT_TRY(const std::size_t used, parser.parse_head(text));
  if (!parser.head_done()) return base::unavailable("needs more");
  EXPECT_LE(used, text.size());
  return parser.take_head();
}

// The head in pieces of one byte, as a slow client would send it.
base::Result<MessageHead> parse_bytewise(std::string_view text) {
  HeadParser parser(kHeadMax);
  parser.start_request();
  std::string waiting;
  for (const char c : text) {
    waiting += c;
    AT_TRY(const std::size_t used, parser.parse_head(waiting));
    waiting.erase(0, used);
    if (parser.head_done()) return parser.take_head();
  }
  return base::unavailable("needs more");
}

TEST(HeadParser, ReadsARequestHead) {
  const auto head = parse_request(
      "PUT /files/a%20b?x=1 HTTP/1.1\r\nHost: demo:80\r\nX-A:  1 \r\nContent-Length: 12\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "PUT");
  EXPECT_EQ(head->target, "/files/a%20b?x=1");
  EXPECT_EQ(head->headers.find("x-a"), "1");
  EXPECT_EQ(head->framing, Framing::kLength);
  EXPECT_EQ(head->content_length, 12U);
  EXPECT_EQ(head->persistence, Persistence::kKeep);
}

TEST(HeadParser, ReadsAHeadByteByByte) {
  const auto head = parse_bytewise("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers.find("Host"), "a");
  EXPECT_EQ(head->persistence, Persistence::kClose);
}

TEST(HeadParser, TakesTheAbsoluteFormAsPath) {
  const auto head = parse_request("GET http://host/p?q HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->target, "/p?q");
  EXPECT_EQ(parse_request("GET http://host HTTP/1.1\r\nHost: a\r\n\r\n")->target, "/");
}

TEST(HeadParser, KeepsOldClientsOnlyWhenTheyAsk) {
  EXPECT_EQ(parse_request("GET / HTTP/1.0\r\n\r\n")->persistence, Persistence::kClose);
  EXPECT_EQ(parse_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")->persistence,
            Persistence::kKeep);
}

TEST(HeadParser, RefusesWhatTwoServersCouldReadDifferently) {
  const std::string start = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const std::string fields : {
           "Content-Length: 1\r\nContent-Length: 2\r\n",
           "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: gzip, chunked\r\n",
           "Transfer-Encoding: gzip\r\n",
           "Transfer-Encoding: xchunked\r\n",
           "Transfer-Encoding: chunked, identity\r\n",
           "Content-Length: -1\r\n",
           "Content-Length: +1\r\n",
           "Content-Length: 0x10\r\n",
           "Content-Length: 99999999999999999999\r\n",
           "Content-Length: 1 2\r\n",
           "Content-Length:\r\n",
           "Host: b\r\n",
           "Bad Name: x\r\n",
           "Name : x\r\n",
           "X: a\x01z\r\n",
           ": x\r\n",
           "NoColon\r\n",
       }) {
    EXPECT_FALSE(parse_request(start + fields + "\r\n")) << fields;
  }
  EXPECT_FALSE(parse_request("POST / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n"));
  EXPECT_FALSE(parse_request("GET / HTTP/1.1\r\n\r\n")) << "no Host";
  EXPECT_FALSE(parse_request("GET x HTTP/1.1\r\nHost: a\r\n\r\n")) << "a target without slash";
  EXPECT_FALSE(parse_request("GET / HTTP/2.0\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(parse_request("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(parse_request("G@T / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(parse_request("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_FALSE(parse_request("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 tls hello\r\n\r\n"));
}

TEST(HeadParser, SaysThatAHeadIsTooLarge) {
  const auto whole =
      parse_request("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().reason, "head_too_large");
  const auto endless = parse_bytewise("GET /" + std::string(2000, 'x'));
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().reason, "head_too_large");
}

// Decodes chunks given in pieces of `step` bytes; what is left over goes to `rest`.
base::Result<std::string> decode_chunks(const std::string& text, std::size_t step,
                                        std::string& rest) {
  ChunkDecoder decoder;
  std::string content;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size() && !decoder.done(); at += step) {
    AT_TRY(const std::size_t size, decoder.decode(text.substr(at, step), content));
    used = at + size;
  }
  if (!decoder.done()) return base::unavailable("needs more");
  rest = text.substr(used);
  return content;
}

TEST(ChunkDecoder, DecodesChunksSplitAnywhere) {
  const std::string text =
      "5\r\nhello\r\n6;ext=\"a;b\"\r\n world\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\nGET / HTTP/1.1";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    std::string rest;
    const auto content = decode_chunks(text, step, rest);
    ASSERT_TRUE(content) << step << ": " << content.error().message;
    EXPECT_EQ(*content, "hello world!") << step;
    EXPECT_EQ(rest, "GET / HTTP/1.1") << step;
  }
}

TEST(ChunkDecoder, DecodesAnEmptyBodySplitAnywhere) {
  for (std::size_t step = 1; step <= 5; ++step) {
    std::string rest;
    const auto content = decode_chunks("0\r\n\r\n", step, rest);
    ASSERT_TRUE(content) << step;
    EXPECT_EQ(*content, "");
  }
}

TEST(ChunkDecoder, BoundsLinesAndTrailers) {
  std::string rest;
  EXPECT_FALSE(decode_chunks("1;" + std::string(5000, 'x'), 1, rest));
  EXPECT_FALSE(decode_chunks("1;" + std::string(5000, 'x'), 6000, rest));
  std::string trailers = "0\r\n";
  for (int i = 0; i < 10; ++i) trailers += "A: " + std::string(2000, 'x') + "\r\n";
  EXPECT_FALSE(decode_chunks(trailers, 1000, rest));
}

TEST(ChunkDecoder, RefusesMalformedChunks) {
  for (const std::string text :
       {"x\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "0x5\r\nhello\r\n", "0\n\n",
        "0\r\nA : b\r\n\r\n", "5\r\nhelloXX0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffff\r\n", "5 \r\nhello\r\n0\r\n\r\n", "\r\n", "0\r\nbad\r\n\r\n"}) {
    for (const std::size_t step : {std::size_t{1}, text.size()}) {
      std::string rest;
      const auto content = decode_chunks(text, step, rest);
      ASSERT_FALSE(content) << text;
      EXPECT_NE(content.error().message, "needs more") << text;
    }
  }
}

}  // namespace
}  // namespace agenttier::http
