#pragma once
// Reads lines from a person at a terminal, with editing and a history that is kept in a file.

#include <memory>
#include <string>

#include "base/status.h"
#include "cli/interrupts.h"

namespace godwit {

enum class LineEvent { kLine, kInterrupt, kEnd };

struct EditedLine {
  LineEvent event = LineEvent::kEnd;
  std::string text;  ///< With kLine the line; with kInterrupt what had been typed.
};

class LineEditor {
 public:
  /// Uses standard input and output, which must be a terminal. `history` is a file's path, or empty
  /// for none; a file that cannot be read or written is passed over. `interrupts` must outlive
  /// this.
  static Result<LineEditor> create(Interrupts& interrupts, std::string history);
  LineEditor(LineEditor&&) noexcept;
  LineEditor& operator=(LineEditor&&) noexcept;
  /// Writes the history.
  ~LineEditor();

  EditedLine read();

 private:
  struct Impl;
  explicit LineEditor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The file for the history of `godwit run`: below XDG_STATE_HOME or ~/.local/state; makes the
/// folders. Empty when there is no place.
std::string history_path();

}  // namespace godwit
