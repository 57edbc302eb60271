#include "runtime/output_log.h"

#include <gtest/gtest.h>

#include "runtime/limits.h"

namespace agenttier::runtime {
namespace {

TEST(OutputLog, GivesBytesBackByOffsetAndChannel) {
  OutputLog log(1024);
  log.append(Channel::kStdout, "out");
  log.append(Channel::kStdout, "put");
  log.append(Channel::kStderr, "error");

  const auto first = log.read(0, 100);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->channel, Channel::kStdout);
  EXPECT_EQ(first->bytes, "output");
  const auto middle = log.read(4, 1);
  ASSERT_TRUE(middle);
  EXPECT_EQ(middle->bytes, "u");
  const auto second = log.read(6, 100);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->channel, Channel::kStderr);
  EXPECT_EQ(second->offset, 6U);
  EXPECT_EQ(second->bytes, "error");
  EXPECT_FALSE(log.read(11, 100));
}

TEST(OutputLog, DropsTheOldestAndShowsTheGap) {
  OutputLog log(10);
  log.append(Channel::kStdout, "0123456789");
  log.append(Channel::kStderr, "abcd");

  EXPECT_EQ(log.begin(), 4U);
  EXPECT_EQ(log.end(), 14U);
  const auto piece = log.read(0, 100);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->offset, 4U);
  EXPECT_EQ(piece->bytes, "456789");
}

TEST(OutputLog, CountsWhatOneWriteBeyondTheLimitDropped) {
  OutputLog log(4);
  log.append(Channel::kStdout, "ab");
  log.append(Channel::kStderr, "0123456789");
  EXPECT_EQ(log.end(), 12U);
  const auto piece = log.read(0, 100);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->channel, Channel::kStderr);
  EXPECT_EQ(piece->offset, 8U);
  EXPECT_EQ(piece->bytes, "6789");
}

TEST(OutputLog, MemoryStaysBoundedHoweverMuchIsWritten) {
  OutputLog log(100'000);
  const std::string block(50'000, 'x');
  for (int i = 0; i < 1000; ++i) {
    log.append(i % 2 == 0 ? Channel::kStdout : Channel::kStderr, block);
    ASSERT_LE(log.memory_bytes(), 100'000U + 3 * 16'384U);
  }
  EXPECT_EQ(log.end(), 50'000'000U);
  EXPECT_EQ(log.end() - log.begin(), 100'000U);
}

TEST(OutputLog, OneByteWritesOnAlternatingChannelsStayBounded) {
  OutputLog log(4UL << 20);
  for (std::size_t i = 0; i < 4 * kOutputSegmentsMax; ++i) {
    log.append(i % 2 == 0 ? Channel::kStdout : Channel::kStderr, "x");
  }
  EXPECT_LE(log.memory_bytes(), (4UL << 20));
  EXPECT_EQ(log.end(), 4 * kOutputSegmentsMax);
}

// Every way to cut the same stream into reads gives the same bytes.
TEST(OutputLog, ReadsOfAnySizeJoinToTheWhole) {
  OutputLog log(1UL << 20);
  std::string whole;
  for (int i = 0; i < 3000; ++i) {
    const std::string part(static_cast<std::size_t>(i % 97), static_cast<char>('a' + i % 26));
    log.append(i % 3 == 0 ? Channel::kStderr : Channel::kStdout, part);
    whole += part;
  }
  for (std::size_t step : {1UL, 7UL, 16'384UL, 65'536UL}) {
    std::string joined;
    while (auto piece = log.read(joined.size(), step)) {
      ASSERT_EQ(piece->offset, joined.size());
      joined += piece->bytes;
    }
    EXPECT_EQ(joined, whole);
  }
}

}  // namespace
}  // namespace agenttier::runtime
