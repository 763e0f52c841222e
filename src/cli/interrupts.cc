#include "cli/interrupts.h"

#include <csignal>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace godwit {
namespace {

sigset_t interrupt_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Interrupts::Interrupts() {
  const sigset_t set = interrupt_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

Interrupts::~Interrupts() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  const sigset_t set = interrupt_set();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool Interrupts::take() {
  signalfd_siginfo info{};
  return ::read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
}

}  // namespace godwit
