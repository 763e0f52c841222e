#include "hub/progress.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace godwit {
namespace {

class HandClock final : public Clock {
 public:
  [[nodiscard]] Duration now() const override { return now_; }
  [[nodiscard]] std::int64_t unix_seconds() const override { return 0; }
  Duration now_{};
};

/// A stream into memory.
class Screen {
 public:
  Screen() : file_(open_memstream(&data_, &size_)) {}
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    std::fclose(file_);
    std::free(data_);
  }
  [[nodiscard]] std::FILE* file() const { return file_; }
  [[nodiscard]] std::string text() const {
    std::fflush(file_);
    return {data_, size_};
  }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

TEST(Progress, SizesAreForPeople) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_text(999'960), "1.0 MB");
  EXPECT_EQ(bytes_text(12'345'678'901), "12.3 GB");
  EXPECT_EQ(bytes_text(~std::uint64_t{0}), "18446744.1 TB");
}

TEST(Progress, ATerminalHasOneLineThatIsRedrawn) {
  const Screen screen;
  HandClock clock;
  StreamProgress progress(screen.file(), true, clock);
  progress.start("model.safetensors", 4'000'000, 1'000'000);
  clock.now_ += std::chrono::milliseconds(10);
  progress.update(1'500'000);  // Too soon to draw.
  clock.now_ += std::chrono::milliseconds(990);
  progress.update(2'000'000);
  clock.now_ += std::chrono::seconds(1);
  progress.update(4'000'000);
  progress.finish();
  const std::string text = screen.text();
  EXPECT_NE(text.find("\rmodel.safetensors [============            ] 50%  2.0 MB of 4.0 MB  1.0 "
                      "MB/s  0:02 left\x1b[K"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("1.5 MB of"), std::string::npos);
  EXPECT_TRUE(text.ends_with("100%  4.0 MB of 4.0 MB  1.5 MB/s  in 0:02\x1b[K\n")) << text;
}

TEST(Progress, AFileHasPlainLines) {
  const Screen screen;
  HandClock clock;
  StreamProgress progress(screen.file(), false, clock);
  progress.start("a.json", 0, 0);
  progress.finish();
  progress.start("model.safetensors", 2'000'000, 500'000);
  clock.now_ += std::chrono::seconds(2);
  progress.update(0);  // The server begins again.
  progress.update(2'000'000);
  progress.finish();
  EXPECT_EQ(screen.text(),
            "downloading a.json (0 B)\na.json 100%  0 B of 0 B\n"
            "downloading model.safetensors (2.0 MB), going on at 500.0 kB\n"
            "model.safetensors 100%  2.0 MB of 2.0 MB  1.0 MB/s  in 0:02\n");
}

}  // namespace
}  // namespace godwit
