// The processors of this machine: kernels run at once, on a team of threads.

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "base/thread_pool.h"
#include "device/device.h"
#include "kernels/cpu/cpu_kernels.h"

namespace godwit {
namespace {

class CpuStream final : public Stream {
 public:
  CpuStream(Device& device, ThreadPool& threads) : Stream(device), threads_(threads) {}

  Status copy_in(void* destination, std::span<const std::byte> source) override {
    return copy(destination, source.data(), source.size());
  }
  Status copy_out(std::span<std::byte> destination, const void* source) override {
    return copy(destination.data(), source, destination.size());
  }
  Status copy(void* destination, const void* source, std::size_t bytes) override {
    if (bytes > 0) {
      std::memcpy(destination, source, bytes);
    }
    return {};
  }
  Status synchronize() override { return {}; }
  [[nodiscard]] void* native() override { return &threads_; }

 private:
  ThreadPool& threads_;
};

/// Cores that this process may run on.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
    return CPU_COUNT(&set);
  }
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return cores > 0 ? cores : 1;
}

/// One line of /proc/meminfo, in bytes.
std::size_t meminfo(const char* key) {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    unsigned long kib = 0;
    if (line.rfind(key, 0) == 0 &&
        std::sscanf(line.c_str() + std::strlen(key), ": %lu kB", &kib) == 1) {
      return std::size_t{kib} * 1024;
    }
  }
  return 0;
}

/// The value of one key of /proc/cpuinfo.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.rfind(key, 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

/// The processor's name and those of its features that kernels can use.
std::string processor() {
  constexpr std::array<const char*, 9> kFeatures = {"avx2",        "fma",      "f16c",
                                                    "avx_vnni",    "avx512f",  "avx512_vnni",
                                                    "avx512_bf16", "amx_int8", "amx_bf16"};
  const std::string flags = ' ' + cpuinfo("flags") + ' ';
  std::string text = cpuinfo("model name") + ", " + std::to_string(usable_cores()) + " cores;";
  for (const char* feature : kFeatures) {
    if (flags.find(std::string(" ") + feature + " ") != std::string::npos) {
      text += std::string(" ") + feature;
    }
  }
  return text;
}

class CpuDevice final : public Device {
 public:
  CpuDevice(const KernelTable& kernels, int threads)
      : kernels_(kernels), threads_(threads, threads <= usable_cores()) {}

  [[nodiscard]] std::string description() const override {
    return std::string("cpu (") + kernels_.name + ", " + std::to_string(threads_.size()) +
           (threads_.size() == 1 ? " thread)" : " threads)");
  }
  [[nodiscard]] std::string hardware() const override { return processor(); }
  [[nodiscard]] const KernelTable& kernels() const override { return kernels_; }
  [[nodiscard]] DeviceMemory memory() const override {
    return {.total = meminfo("MemTotal"), .available = meminfo("MemAvailable")};
  }
  [[nodiscard]] bool reads_host_memory() const override { return true; }

  Result<Buffer> allocate(std::size_t bytes, MemoryPurpose /*purpose*/) override {
    if (bytes == 0) {
      return Buffer();
    }
    // Pages of a fresh mapping are zero and cost nothing until they are touched.
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      return resource_exhausted("cannot allocate " + std::to_string(bytes) + " bytes of memory");
    }
    return Buffer(*this, data, bytes);
  }
  Result<std::unique_ptr<Stream>> create_stream() override {
    return std::unique_ptr<Stream>(std::make_unique<CpuStream>(*this, threads_));
  }

 protected:
  void release(void* data, std::size_t size) noexcept override { ::munmap(data, size); }

 private:
  const KernelTable& kernels_;
  ThreadPool threads_;
};

}  // namespace

Result<std::unique_ptr<Device>> create_cpu_device(const DeviceOptions& options) {
  if (options.threads < 0 || options.threads > 1024) {
    return invalid_argument("threads is " + std::to_string(options.threads),
                            "give 1 to 1024, or 0 for one a core");
  }
  const KernelTable* kernels = TRY(find_cpu_kernels(options.isa));
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(*kernels, threads));
}

}  // namespace godwit
