/* python/torch/src/recorder.cpp - records the last collectives as torch does */

#include "recorder.hpp"

#include <algorithm>
#include <c10/util/ApproximateClock.h>
#include <c10/util/thread_name.h>
#include <pthread.h>
#include <sstream>
#include <torch/csrc/distributed/c10d/Utils.hpp>

namespace py = pybind11;

namespace hoop_torch
{

namespace
{

/* This is the default of torch's recorder. */
constexpr int default_entries = 2000;

/* Returns whether torch's analyzer expects the tensors as the rows of one
 * tensor, with a row for each rank. */
bool
has_output_of_each_rank(c10d::OpType type)
{
    return type == c10d::OpType::ALLGATHER || type == c10d::OpType::GATHER ||
           type == c10d::OpType::ALLTOALL;
}

bool
has_input_for_each_rank(c10d::OpType type)
{
    return type == c10d::OpType::SCATTER ||
           type == c10d::OpType::REDUCE_SCATTER ||
           type == c10d::OpType::ALLTOALL;
}

std::string
listed(const std::vector<uint64_t> &ranks)
{
    std::ostringstream text;

    text << "[";
    for (size_t i = 0; i < ranks.size(); i++)
        text << (i > 0 ? ", " : "") << ranks[i];
    text << "]";
    return text.str();
}

py::list
names_of(const std::vector<at::ScalarType> &dtypes)
{
    py::list names;

    for (const at::ScalarType dtype : dtypes)
        names.append(c10::toString(dtype));
    return names;
}

py::list
as_lists(const std::vector<std::vector<int64_t>> &sizes)
{
    py::list lists;

    for (const auto &each : sizes) {
        py::list list;

        for (const int64_t size : each)
            list.append(size);
        lists.append(list);
    }
    return lists;
}

/* The name is read once per thread, since reading it is a system call. */
const std::string &
name_of_this_thread()
{
    static thread_local const std::string name = c10::getThreadName();

    return name;
}

py::object
time_or_none(int64_t ns)
{
    return ns > 0 ? py::object(py::int_(ns)) : py::none();
}

} // namespace

void
FlightRecorder::Tensors::assign(const std::vector<at::Tensor> &tensors,
                                bool is_list)
{
    const bool is_even = std::all_of(
        tensors.begin(), tensors.end(), [&](const at::Tensor &tensor) {
            return tensor.sizes() == tensors[0].sizes();
        });

    if (is_list && !tensors.empty()) {
        dtypes.assign({tensors[0].scalar_type()});
        sizes.resize(1);
        sizes[0].assign({int64_t(tensors.size())});
        if (is_even) {
            const auto each = tensors[0].sizes();
            sizes[0].insert(sizes[0].end(), each.begin(), each.end());
            return;
        }
        sizes[0][0] = 0;
        for (const at::Tensor &tensor : tensors)
            sizes[0][0] += tensor.numel();
        return;
    }
    dtypes.clear();
    sizes.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); i++) {
        dtypes.push_back(tensors[i].scalar_type());
        sizes[i].assign(tensors[i].sizes().begin(), tensors[i].sizes().end());
    }
}

FlightRecorder::FlightRecorder(size_t n_entries)
    : has_cpp_stacks_(c10d::getCvarBool(
          {"TORCH_FR_CPP_STACK", "TORCH_NCCL_TRACE_CPP_STACK"},
          false)),
      entries_(n_entries)
{
}

FlightRecorder *
FlightRecorder::create()
{
    const int n_entries = c10d::getCvarInt(
        {"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"},
        default_entries);

    return n_entries > 0 ? new FlightRecorder(size_t(n_entries)) : nullptr;
}

FlightRecorder *&
FlightRecorder::instance()
{
    /* It is never freed, as torch's is not, since it holds Python objects. */
    static FlightRecorder *recorder = [] {
        /* Another thread may have held the recorder's lock during the fork. */
        pthread_atfork(nullptr, nullptr, [] { instance() = create(); });
        return create();
    }();

    return recorder;
}

FlightRecorder *
FlightRecorder::get()
{
    return instance();
}

FlightRecorder::Stack
FlightRecorder::stack() const
{
    /* TorchScript's stack is left out: gathering it takes as long as all
     * else. */
    return torch::CapturedTraceback::gather(true, false, has_cpp_stacks_);
}

uint64_t
FlightRecorder::begin(const RecordedCall &call, Stack stack)
{
    const RecordedGroup &group = call.group;
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t number = ++last_number_;
    Entry &entry = entries_[number % entries_.size()];

    if (progress_.find(group.id) == progress_.end())
        groups_[group.name] = group;
    progress_[group.id].enqueued = int64_t(call.sequence);
    entry.number = number;
    entry.group_id = group.id;
    entry.group_name = group.name;
    entry.group_description = group.description;
    entry.title = &call.title;
    entry.sequence = call.sequence;
    entry.timeout = call.timeout;
    entry.inputs.assign(call.inputs, has_input_for_each_rank(call.type));
    entry.outputs.assign(call.outputs, has_output_of_each_rank(call.type));
    entry.stack = std::move(stack);
    entry.thread = std::this_thread::get_id();
    entry.thread_name = name_of_this_thread();
    entry.created_ns = c10::getTime();
    entry.ended_ns = 0;
    entry.is_retired = false;
    return number;
}

void
FlightRecorder::end(uint64_t number, bool is_success)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry &entry = entries_[number % entries_.size()];

    if (entry.number != number)
        return;
    entry.is_retired = true;
    if (!is_success)
        return;
    entry.ended_ns = c10::getTime();
    int64_t &completed = progress_[entry.group_id].completed;
    completed = std::max(completed, int64_t(entry.sequence));
}

std::vector<FlightRecorder::Entry>
FlightRecorder::entries_in_order()
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t n = std::min<size_t>(last_number_, entries_.size());
    std::vector<Entry> entries;

    for (uint64_t number = last_number_ - n + 1; number <= last_number_;
         number++)
        entries.push_back(entries_[number % entries_.size()]);
    return entries;
}

py::dict
FlightRecorder::described(const Entry &entry)
{
    std::ostringstream thread;
    py::dict all;

    thread << entry.thread;
    all["record_id"] = entry.number - 1;
    all["pg_id"] = entry.group_id;
    all["process_group"] =
        py::make_tuple(entry.group_name, entry.group_description);
    all["thread_name"] = entry.thread_name;
    all["thread_id"] = thread.str();
    all["collective_seq_id"] = entry.sequence;
    all["p2p_seq_id"] = 0;
    all["op_id"] = entry.sequence;
    all["profiling_name"] = *entry.title;
    all["time_created_ns"] = entry.created_ns;
    if (entry.ended_ns > 0)
        all["duration_ms"] = double(entry.ended_ns - entry.created_ns) / 1e6;
    all["input_sizes"] = as_lists(entry.inputs.sizes);
    all["input_dtypes"] = names_of(entry.inputs.dtypes);
    all["output_sizes"] = as_lists(entry.outputs.sizes);
    all["output_dtypes"] = names_of(entry.outputs.dtypes);
    all["state"] = entry.ended_ns > 0 ? "completed" : "started";
    all["time_discovered_started_ns"] = entry.created_ns;
    all["time_discovered_completed_ns"] = time_or_none(entry.ended_ns);
    all["retired"] = entry.is_retired;
    all["timeout_ms"] = entry.timeout.count();
    all["is_p2p"] = false;
    return all;
}

py::dict
FlightRecorder::dump(bool with_stacks)
{
    const std::vector<Entry> recorded = entries_in_order();
    std::vector<torch::CapturedTraceback *> stacks;
    py::list entries, frames;
    py::dict groups, progress, all;

    for (const Entry &entry : recorded)
        stacks.push_back(entry.stack.get());
    if (!with_stacks)
        stacks.clear();
    const torch::SymbolizedTracebacks known = torch::symbolize(stacks);
    for (const auto &frame : known.all_frames) {
        py::dict place;

        place["name"] = frame.funcname;
        place["filename"] = frame.filename;
        place["line"] = frame.lineno;
        frames.append(place);
    }
    for (size_t i = 0; i < recorded.size(); i++) {
        py::dict entry = described(recorded[i]);

        if (with_stacks) {
            py::list of_entry;
            for (const uint64_t frame : known.tracebacks[i])
                of_entry.append(frames[frame]);
            entry["frames"] = of_entry;
        }
        entries.append(entry);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto &[name, group] : groups_)
        groups[py::str(name)] = py::dict(
            py::arg("name") = name, py::arg("desc") = group.description,
            py::arg("ranks") = listed(group.ranks));
    for (const auto &[id, each] : progress_)
        progress[py::str(std::to_string(id))] =
            py::dict(py::arg("last_enqueued_collective") = each.enqueued,
                     py::arg("last_started_collective") = each.enqueued,
                     py::arg("last_completed_collective") = each.completed);
    all["entries"] = entries;
    all["pg_config"] = groups;
    all["pg_status"] = progress;
    return all;
}

} // namespace hoop_torch
