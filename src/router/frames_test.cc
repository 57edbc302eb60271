#include "router/frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agenttier::router {
namespace {

struct Seen {
  Frame::Channel channel;
  std::uint64_t offset;
  std::string payload;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> decode_all(FrameDecoder& decoder) {
  std::vector<Seen> seen;
  while (true) {
    auto frame = decoder.next();
    if (!frame || !frame->has_value()) return seen;
    seen.push_back({(*frame)->channel, (*frame)->offset, std::string((*frame)->payload)});
  }
}

TEST(FrameDecoder, GivesTheSameFramesHoweverTheStreamIsCut) {
  const std::vector<Seen> wanted = {{Frame::Channel::kStdout, 0, "hello"},
                                    {Frame::Channel::kStderr, 5, std::string("\0\xff", 2)},
                                    {Frame::Channel::kKeepAlive, 0, ""},
                                    {Frame::Channel::kStatus, 0, R"({"exitCode":3})"}};
  std::string stream;
  for (const Seen& frame : wanted) {
    stream += encode_frame(frame.channel, frame.offset, frame.payload);
  }
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    FrameDecoder decoder;
    std::vector<Seen> seen;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      decoder.feed(stream.substr(at, step));
      for (Seen& frame : decode_all(decoder)) seen.push_back(std::move(frame));
    }
    EXPECT_EQ(seen, wanted) << "pieces of " << step;
    EXPECT_TRUE(decoder.at_boundary());
  }
}

TEST(FrameDecoder, RefusesAnUnknownChannel) {
  FrameDecoder decoder;
  decoder.feed(std::string(kFrameHeaderBytes, '\x09'));
  const auto frame = decoder.next();
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().message,
            "the sandbox's runtime sent a broken output stream: unknown channel 9");
}

TEST(FrameDecoder, RefusesALengthOverTheLimitBeforeItsBytesCome) {
  FrameDecoder decoder;
  decoder.feed(encode_frame(Frame::Channel::kStdout, 0, std::string(kFramePayloadBytesMax + 1, 'x'))
                   .substr(0, kFrameHeaderBytes));
  const auto frame = decoder.next();
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().message,
            "the sandbox's runtime sent a broken output stream: a frame of 65537 bytes");
}

TEST(FrameDecoder, TellsThatAFrameIsCutShort) {
  FrameDecoder decoder;
  decoder.feed(encode_frame(Frame::Channel::kStdout, 0, "hello").substr(0, 15));
  EXPECT_TRUE(decode_all(decoder).empty());
  EXPECT_FALSE(decoder.at_boundary());
}

TEST(ProcessStatus, IsReadFromItsFrame) {
  const auto status = parse_process_status(
      R"({"exitCode":137,"signal":"KILL","reason":"oom","durationMs":12,"outputBytes":9,"truncated":true})");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->exit_code, 137);
  EXPECT_EQ(status->signal, "KILL");
  EXPECT_EQ(status->reason, "oom");
  EXPECT_EQ(status->duration_ms, 12);
  EXPECT_EQ(status->output_bytes, 9);
  EXPECT_TRUE(status->truncated);
}

TEST(ProcessStatus, OfAnotherShapeIsAnError) {
  EXPECT_FALSE(parse_process_status("[]"));
  EXPECT_FALSE(parse_process_status("{}"));
  EXPECT_FALSE(parse_process_status("{\"exitCode\""));
}

}  // namespace
}  // namespace agenttier::router
