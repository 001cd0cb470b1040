/* python/torch/src/recorder.hpp - the last collectives, as torch's flight recorder has them
 *
 * torch keeps its recorder to itself: no other library can write to it. So this
 * is one of hoop's own, with entries of the same form, which hoop_torch._recorder
 * adds to what torch dumps. The variables that rule torch's rule this one.
 */

#ifndef HOOP_TORCH_RECORDER_HPP
#define HOOP_TORCH_RECORDER_HPP

#include <map>
#include <mutex>
#include <pybind11/pybind11.h>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/profiler/combined_traceback.h>
#include <vector>

namespace hoop_torch
{

/* The description of a group, which is known once it has its name. */
struct RecordedGroup {
    size_t id; /* number of the group in this process */
    std::string name, description;
    std::vector<uint64_t> ranks;
};

struct RecordedCall {
    const RecordedGroup &group;
    c10d::OpType type;
    const std::string &title; /* the string is never freed */
    uint64_t sequence;
    std::chrono::milliseconds timeout;
    const std::vector<at::Tensor> &inputs;
    const std::vector<at::Tensor> &outputs;
};

/* Thread: any. */
class FlightRecorder
{
  public:
    using Stack = std::shared_ptr<torch::CapturedTraceback>;

    /* Returns null if TORCH_FR_BUFFER_SIZE is 0. A forked child begins with an
     * empty recorder. */
    static FlightRecorder *get();

    /* Returns the stack of this thread. It takes the GIL, so the caller holds
     * no lock. */
    Stack stack() const;

    /* Records the beginning of a call. It returns a number for end(), which is
     * never 0. */
    uint64_t begin(const RecordedCall &call, Stack stack);
    void end(uint64_t number, bool is_success);

    /* Returns the entries, the groups and their progress in the form of torch's
     * dumps. The caller holds the GIL. */
    pybind11::dict dump(bool with_stacks);

  private:
    struct Tensors {
        std::vector<std::vector<int64_t>> sizes;
        std::vector<at::ScalarType> dtypes;

        void assign(const std::vector<at::Tensor> &tensors, bool is_list);
    };
    struct Entry {
        uint64_t number = 0;
        size_t group_id = 0;
        std::string group_name, group_description;
        const std::string *title = nullptr;
        uint64_t sequence = 0;
        std::chrono::milliseconds timeout{0};
        Tensors inputs, outputs;
        Stack stack;
        std::thread::id thread;
        std::string thread_name;
        int64_t created_ns = 0, ended_ns = 0; /* when it succeeded */
        bool is_retired = false;
    };
    struct Progress {
        int64_t enqueued = -1, completed = -1;
    };

    explicit FlightRecorder(size_t n_entries);
    static FlightRecorder *create();
    static FlightRecorder *&instance();
    static pybind11::dict described(const Entry &entry);
    std::vector<Entry> entries_in_order();

    const bool has_cpp_stacks_;
    std::mutex mutex_;
    std::vector<Entry> entries_; /* entry n is at n modulo the size */
    uint64_t last_number_ = 0;
    std::map<std::string, RecordedGroup> groups_; /* by name */
    std::map<size_t, Progress> progress_;         /* by id */
};

} // namespace hoop_torch

#endif
