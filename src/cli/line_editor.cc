#include "cli/line_editor.h"

#include <array>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <histedit.h>
#include <sys/poll.h>
#include <unistd.h>
#include <utility>

namespace godwit {
namespace {

constexpr int kHistoryLines = 1000;
constexpr char kControlD = 4;

const char* prompt_text(EditLine* /*editor*/) {
  return ">>> ";
}

/// libedit decodes what is typed by the locale; a "C" locale would refuse all but ASCII.
void set_character_locale() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
}

}  // namespace

struct LineEditor::Impl {
  Impl(Interrupts& where, std::string path) : interrupts(&where), history_file(std::move(path)) {}
  ~Impl() {
    HistEvent event;
    if (history != nullptr && !history_file.empty()) {
      ::history(history, &event, H_SAVE, history_file.c_str());
    }
    if (editor != nullptr) {
      el_end(editor);
    }
    if (history != nullptr) {
      history_end(history);
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status open() {
    editor = el_init("godwit", stdin, stdout, stderr);
    history = history_init();
    if (editor == nullptr || history == nullptr) {
      return internal_error("cannot set up the terminal for editing");
    }
    HistEvent event;
    ::history(history, &event, H_SETSIZE, kHistoryLines);
    ::history(history, &event, H_SETUNIQUE, 1);
    if (!history_file.empty()) {
      ::history(history, &event, H_LOAD, history_file.c_str());
    }
    el_set(editor, EL_CLIENTDATA, this);
    el_set(editor, EL_GETCFN, &Impl::read_character);
    el_set(editor, EL_PROMPT, &prompt_text);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_HIST, &::history, history);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    return {};
  }

  /// libedit's source of characters: waits for the terminal and for interrupts at once.
  static int read_character(EditLine* line, wchar_t* character) {
    void* data = nullptr;
    el_get(line, EL_CLIENTDATA, &data);
    Impl& self = *static_cast<Impl*>(data);
    while (true) {
      std::array<pollfd, 2> waits{
          {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
           {.fd = self.interrupts->descriptor(), .events = POLLIN, .revents = 0}}};
      if (::poll(waits.data(), waits.size(), -1) < 0) {
        continue;
      }
      if (waits[1].revents != 0 && self.interrupts->take()) {
        self.interrupted = true;
        return -1;
      }
      char byte = 0;
      const LineInfo* typed = el_line(line);
      if (::read(STDIN_FILENO, &byte, 1) != 1 ||
          (byte == kControlD && typed->buffer == typed->lastchar)) {
        self.ended = true;  // libedit would beep at a Ctrl-D, and read again after a 0 from here.
        return -1;
      }
      const std::size_t length = std::mbrtowc(character, &byte, 1, &self.decoding);
      if (length == static_cast<std::size_t>(-1)) {
        self.decoding = {};  // Not the locale's encoding: the byte is dropped.
      } else if (length != static_cast<std::size_t>(-2)) {
        return 1;
      }
    }
  }

  Interrupts* interrupts;
  std::string history_file;
  EditLine* editor = nullptr;
  History* history = nullptr;
  bool interrupted = false;
  bool ended = false;
  std::mbstate_t decoding{};
};

LineEditor::LineEditor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LineEditor::LineEditor(LineEditor&&) noexcept = default;
LineEditor& LineEditor::operator=(LineEditor&&) noexcept = default;
LineEditor::~LineEditor() = default;

Result<LineEditor> LineEditor::create(Interrupts& interrupts, std::string history) {
  set_character_locale();
  auto impl = std::make_unique<Impl>(interrupts, std::move(history));
  TRY(impl->open());
  return LineEditor(std::move(impl));
}

EditedLine LineEditor::read() {
  impl_->interrupted = false;
  int count = 0;
  const char* text = el_gets(impl_->editor, &count);
  if (impl_->interrupted) {
    const LineInfo* info = el_line(impl_->editor);
    EditedLine line{LineEvent::kInterrupt, std::string(info->buffer, info->lastchar)};
    el_reset(impl_->editor);
    std::fputs("^C\n", stdout);
    std::fflush(stdout);
    return line;
  }
  if (impl_->ended || text == nullptr || count <= 0) {
    std::fputc('\n', stdout);
    return {};
  }
  HistEvent event;
  EditedLine line{LineEvent::kLine, std::string(text, static_cast<std::size_t>(count))};
  if (line.text.ends_with('\n')) {
    line.text.pop_back();
  }
  if (!line.text.empty()) {
    ::history(impl_->history, &event, H_ENTER, line.text.c_str());
  }
  return line;
}

std::string history_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state != nullptr && state[0] == '/') {
    folder = state;
  } else if (home != nullptr && home[0] == '/') {
    folder = std::filesystem::path(home) / ".local" / "state";
  } else {
    return {};
  }
  folder /= "godwit";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? std::string() : (folder / "history").string();
}

}  // namespace godwit
