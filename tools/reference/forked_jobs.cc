// SPDX-License-Identifier: MIT
#include "tools/reference/forked_jobs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"

namespace camshaft::reference {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr size_t kErrorTailBytes = 2048;

// Which job is next, shared by all processes.
class NextJob {
 public:
  NextJob() {
    void* memory = ::mmap(nullptr, sizeof(std::atomic<size_t>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CAMSHAFT_CHECK(memory != MAP_FAILED);
    next_ = new (memory) std::atomic<size_t>(0);
  }
  ~NextJob() { ::munmap(next_, sizeof(std::atomic<size_t>)); }
  size_t take() { return next_->fetch_add(1); }
  size_t peek() const { return next_->load(); }

 private:
  std::atomic<size_t>* next_;
};

// A message from a child: a job starts (without text), or is done.
struct Header {
  uint64_t index;
  uint64_t text_bytes;
  bool done;
};

void write_all(int fd, const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);  // the parent is gone
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

[[noreturn]] void serve(size_t count, NextJob& next, int pipe_fd,
                        const std::function<std::string(size_t)>& job) {
  for (size_t i = next.take(); i < count; i = next.take()) {
    Header header{i, 0, false};
    write_all(pipe_fd, &header, sizeof header);
    const std::string text = job(i);
    header = {i, text.size(), true};
    write_all(pipe_fd, &header, sizeof header);
    write_all(pipe_fd, text.data(), text.size());
  }
  ::_exit(0);  // nothing of the parent's to flush or to destroy
}

// One child, as the parent sees it.
class Child {
 public:
  Child(size_t count, NextJob& next, const std::function<std::string(size_t)>& job) {
    int ends[2];
    CAMSHAFT_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    error_fd_ = ::memfd_create("stderr", MFD_CLOEXEC);
    CAMSHAFT_CHECK(error_fd_ >= 0);
    std::fflush(nullptr);
    pid_ = ::fork();
    CAMSHAFT_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::setpgid(0, 0);  // so that what it starts can be ended with it
      ::dup2(error_fd_, STDERR_FILENO);
      ::dup2(error_fd_, STDOUT_FILENO);  // drivers print there, among the results
      ::close(ends[0]);
      serve(count, next, ends[1], job);
    }
    ::setpgid(pid_, pid_);
    ::close(ends[1]);
    fd_ = ends[0];
  }
  Child(const Child&) = delete;
  ~Child() {
    ::close(fd_);
    ::close(error_fd_);
  }

  int fd() const { return fd_; }
  // The job that it is at.
  bool is_busy() const { return busy_; }
  size_t job() const { return job_; }
  int64_t started_ns() const { return started_ns_; }

  // Reads what has come; false at the end.
  bool receive() {
    char buffer[4096];
    const ssize_t got = ::read(fd_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    received_.append(buffer, static_cast<size_t>(got));
    return true;
  }
  // Takes the next result out of what has been received.
  bool take_result(size_t* index, std::string* text) {
    Header header;
    while (received_.size() >= sizeof header) {
      std::memcpy(&header, received_.data(), sizeof header);
      if (received_.size() < sizeof header + header.text_bytes) return false;
      *text = received_.substr(sizeof header, header.text_bytes);
      received_.erase(0, sizeof header + header.text_bytes);
      busy_ = !header.done;
      job_ = header.index;
      started_ns_ = base::mono_time_ns();
      *index = header.index;
      if (header.done) return true;
    }
    return false;
  }
  void kill() { ::kill(-pid_, SIGKILL); }
  // Waits for its end and says how it ended.
  std::string wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    std::string text;
    if (WIFSIGNALED(status)) {
      text = std::string("crashed: ") + ::strsignal(WTERMSIG(status));
    } else {
      text = "ended with exit code " + std::to_string(WEXITSTATUS(status));
    }
    const std::string line = last_error_line();
    return line.empty() ? text : text + ": " + line;
  }

 private:
  std::string last_error_line() const {
    const off_t size = ::lseek(error_fd_, 0, SEEK_END);
    const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(kErrorTailBytes));
    std::string tail(static_cast<size_t>(size - begin), '\0');
    if (::pread(error_fd_, tail.data(), tail.size(), begin) < 0) return "";
    while (!tail.empty() && tail.back() == '\n') tail.pop_back();
    return tail.substr(tail.rfind('\n') + 1);
  }

  pid_t pid_ = -1;
  int fd_ = -1;
  int error_fd_ = -1;
  std::string received_;
  bool busy_ = false;
  size_t job_ = 0;
  int64_t started_ns_ = 0;
};

class Pool {
 public:
  using Job = std::function<std::string(size_t)>;
  using Report = std::function<void(size_t, JobEnd, const std::string&)>;

  Pool(size_t count, const JobOptions& options, const Job& job, const Report& report)
      : count_(count), options_(options), job_(job), report_(report), is_reported_(count, false) {}

  void run() {
    for (int i = 0; i < options_.processes; ++i) start();
    while (!children_.empty()) {
      wait_for_news();
      for (size_t i = children_.size(); i-- > 0;) {
        if (!attend(*children_[i])) continue;
        children_.erase(children_.begin() + static_cast<ptrdiff_t>(i));
        if (next_.peek() < count_) start();
      }
    }
    for (size_t i = 0; i < count_; ++i) {
      if (!is_reported_[i]) report_(i, JobEnd::kCrashed, "its process ended before it began");
    }
  }

 private:
  void start() { children_.push_back(std::make_unique<Child>(count_, next_, job_)); }

  void wait_for_news() {
    constexpr int kTickMs = 100;  // how often the time limit is looked at
    polled_.clear();
    for (const std::unique_ptr<Child>& child : children_) {
      polled_.push_back({child->fd(), POLLIN, 0});
    }
    while (::poll(polled_.data(), polled_.size(), kTickMs) < 0 && errno == EINTR) continue;
    readable_.clear();
    for (const pollfd& each : polled_) {
      if (each.revents != 0) readable_.push_back(each.fd);
    }
  }

  // True if the child has ended.
  bool attend(Child& child) {
    const bool has_news =
        std::find(readable_.begin(), readable_.end(), child.fd()) != readable_.end();
    bool at_end = has_news && !child.receive();
    const bool is_late =
        !at_end && child.is_busy() && base::mono_time_ns() - child.started_ns() > limit_ns();
    if (is_late) {
      child.kill();
      while (child.receive()) continue;
      at_end = true;
    }
    size_t index = 0;
    std::string text;
    while (child.take_result(&index, &text)) report(index, JobEnd::kDone, text);
    if (!at_end) return false;
    text = child.wait();
    if (child.is_busy() && is_late) {
      text = "took more than " + std::to_string(limit_ns() / kNsPerMs) + " ms";
    }
    if (child.is_busy()) report(child.job(), is_late ? JobEnd::kTimedOut : JobEnd::kCrashed, text);
    return true;
  }

  void report(size_t index, JobEnd end, const std::string& text) {
    is_reported_[index] = true;
    report_(index, end, text);
  }

  int64_t limit_ns() const { return static_cast<int64_t>(options_.limit_s * 1e9); }

  size_t count_;
  JobOptions options_;
  const Job& job_;
  const Report& report_;
  NextJob next_;
  std::vector<bool> is_reported_;
  std::vector<std::unique_ptr<Child>> children_;
  std::vector<pollfd> polled_;
  std::vector<int> readable_;
};

}  // namespace

void run_forked(size_t count, const JobOptions& options,
                const std::function<std::string(size_t index)>& job,
                const std::function<void(size_t, JobEnd, const std::string&)>& report) {
  Pool(count, options, job, report).run();
}

}  // namespace camshaft::reference
