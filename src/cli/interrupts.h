#pragma once
// Ctrl-C as something to wait for, instead of something that ends the program.

namespace godwit {

/// While it lives, SIGINT is blocked in this thread and in threads started later, and arrives at a
/// file descriptor. Make it before other threads.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Becomes readable with an interrupt; -1 where the system has none.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Takes an interrupt that has come. Returns whether there was one.
  bool take();

 private:
  int descriptor_;
};

}  // namespace godwit
