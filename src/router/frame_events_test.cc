#include "router/frame_events.h"

#include <gtest/gtest.h>

#include <string>

namespace agenttier::router {
namespace {

Frame out_frame(std::uint64_t offset, std::string_view payload) {
  return {.channel = Frame::Channel::kStdout, .offset = offset, .payload = payload};
}

TEST(FrameEvents, SaysWhereToContinue) {
  FrameEvents events(0);
  EXPECT_EQ(
      events.events_of(out_frame(0, "hello\n")),
      "id: 6\nevent: output\ndata: {\"stream\":\"stdout\",\"offset\":0,\"data\":\"hello\\n\"}\n\n");
}

TEST(FrameEvents, KeepsACharacterCutByTheEdgeOfAFrameWhole) {
  FrameEvents events(0);
  EXPECT_EQ(events.events_of(out_frame(0, "\xe2\x82")), "");
  EXPECT_EQ(
      events.events_of(out_frame(2, "\xac!")),
      "id: 4\nevent: output\ndata: {\"stream\":\"stdout\",\"offset\":0,\"data\":\"\u20ac!\"}\n\n");
}

TEST(FrameEvents, DoesNotMixTheTwoStreamsHeldBackBytes) {
  FrameEvents events(0);
  EXPECT_EQ(events.events_of(out_frame(0, "\xe2\x82")), "");
  EXPECT_EQ(events.events_of({Frame::Channel::kStderr, 2, "x"}),
            "id: 0\nevent: output\ndata: {\"stream\":\"stderr\",\"offset\":2,\"data\":\"x\"}\n\n");
}

TEST(FrameEvents, GivesTheOffsetOfACharacterHeldBackWhileTheOtherStreamWrote) {
  FrameEvents events(0);
  EXPECT_EQ(events.events_of(out_frame(0, "\xe2\x82")), "");
  events.events_of({Frame::Channel::kStderr, 2, "xyz"});
  EXPECT_EQ(
      events.events_of(out_frame(5, "\xac")),
      "id: 6\nevent: output\ndata: {\"stream\":\"stdout\",\"offset\":0,\"data\":\"\u20ac\"}\n\n");
}

TEST(FrameEvents, SaysWhatTheLogNoLongerHad) {
  FrameEvents events(10);
  EXPECT_TRUE(
      events.events_of(out_frame(30, "x")).starts_with("event: skipped\ndata: {\"bytes\":20}\n\n"));
}

TEST(FrameEvents, EscapesWhatClientsTakeForALineEnd) {
  FrameEvents events(0);
  const std::string text = events.events_of(out_frame(0, "a\u2028b\u2029c\u0085d\x0b"));
  EXPECT_NE(text.find(R"(a\u2028b\u2029c\u0085d\u000b)"), std::string::npos);
}

TEST(FrameEvents, EndsWithTheStatusInOneLine) {
  FrameEvents events(0);
  EXPECT_EQ(events.events_of(out_frame(0, "\xe2")), "");
  EXPECT_EQ(
      events.events_of({Frame::Channel::kStatus, 0, "{\"exitCode\":\n0}"}),
      "id: 1\nevent: output\ndata: {\"stream\":\"stdout\",\"offset\":0,\"data\":\"\ufffd\"}\n\n"
      "event: exit\ndata: {\"exitCode\": 0}\n\n");
  EXPECT_TRUE(events.ended());
}

TEST(FrameEvents, TurnsKeepAlivesIntoComments) {
  FrameEvents events(0);
  EXPECT_EQ(events.events_of({Frame::Channel::kKeepAlive, 0, ""}), ": keep-alive\n\n");
}

TEST(IncompleteTail, IsTheBeginningOfASequence) {
  EXPECT_EQ(incomplete_tail("abc"), 0U);
  EXPECT_EQ(incomplete_tail("a\xc3"), 1U);
  EXPECT_EQ(incomplete_tail("a\xe2\x82"), 2U);
  EXPECT_EQ(incomplete_tail("a\xf0\x9f\x98"), 3U);
  EXPECT_EQ(incomplete_tail("\u20ac"), 0U);
  EXPECT_EQ(incomplete_tail("\x80\x80\x80\x80"), 0U);
  EXPECT_EQ(incomplete_tail("\xff"), 0U);
}

}  // namespace
}  // namespace agenttier::router
