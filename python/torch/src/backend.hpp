/* python/torch/src/backend.hpp - a group's collectives and messages, over hoop */

#ifndef HOOP_TORCH_BACKEND_HPP
#define HOOP_TORCH_BACKEND_HPP

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "hoop/hoop.h"

#include "recorder.hpp"
#include "session.hpp"
#include "work.hpp"

namespace hoop_torch
{

/* The names of a backend's events in torch's profiler; they are never freed. */
struct Titles;

/* Return the rank of this process among ranks of the session. Throws ValueError
 * if it is not one of them. */
uint32_t
place_in(const Session &session, const std::vector<uint32_t> &ranks);

/* Return the number of the next group in this process. */
size_t
next_id();

/*
 * A communicator of hoop as torch's Backend. Collectives are started in the
 * order in which they are called; messages do not take part in that order. The
 * calling thread alone executes a call with asyncOp=false, which has ended when
 * it returns.
 */
class HoopBackend : public c10d::Backend
{
  public:
    /* DDP's logger takes any backend named gloo for a ProcessGroupGloo and
     * reads its number of threads, so this class has the same members in the
     * same place. */
    struct Options : c10d::Backend::Options {
        using c10d::Backend::Options::Options;

        const std::vector<std::shared_ptr<void>> devices;
        const int threads = 2;
#ifdef HOOP_TORCH_RECONFIGURE
        c10::intrusive_ptr<c10d::Backend::Options> clone() const override;
#endif
    };

    /* Forms the group of these ranks of the session, in that order; all of them
     * call it. name is the name by which torch calls the backend. Throws
     * Error. */
    HoopBackend(std::shared_ptr<Session> session,
                const std::vector<uint32_t> &ranks,
                const std::string &name,
                std::chrono::milliseconds timeout);
    ~HoopBackend() override;

    /* Returns the error of the last call that failed, other than by wrong
     * arguments. */
    hoop_status status() const;

    bool supportsSplitting() const override;
    bool supportsCoalescing() const override;
    bool supportsShrinking() const override;
    void setTimeout(std::chrono::milliseconds timeout) override;
    const std::string getBackendName() const override;
    c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override;
    c10d::ErrorType getError() override;
    void setSequenceNumberForGroup() override;
    uint64_t getSequenceNumberForGroup() override;
    void enableCollectivesTiming() override;
    /* The thread that sees the end of a work calls the hook: one that waits for
     * the work, or the thread of the session. */
    void registerOnCompletionHook(CompletionHook &&hook) override;
    void waitForPendingWorks() override;
    void setGroupUid(const std::string &uid) override;
    void abort() override;
    void shutdown() override;

    /* Calls between the two have their usual effect. endCoalescing() returns
     * one work for all works of this thread that have not succeeded yet. */
    void startCoalescing() override;
    c10::intrusive_ptr<c10d::Work> endCoalescing() override;
    c10::intrusive_ptr<c10d::Backend> split(
        const c10::intrusive_ptr<c10d::Store> &store,
        const std::vector<int> &ranks,
        const c10::intrusive_ptr<c10d::Backend::Options> &options) override;
    c10::intrusive_ptr<c10d::Backend> merge(
        const c10::intrusive_ptr<c10d::Store> &store,
        const c10::intrusive_ptr<c10d::Backend::Options> &options,
        const int &rank,
        const int &size) override;
    c10::intrusive_ptr<c10d::Backend> shrink(
        const std::vector<int64_t> &excluded,
        int flags,
        const c10::intrusive_ptr<c10d::Backend::Options> &options) override;

#ifdef HOOP_TORCH_RECONFIGURE
    /* Handles name members of the session. The former group is freed when the
     * new one has been formed. */
    bool supportsReconfigure() const override;
    c10d::ReconfigureHandle get_reconfigure_handle() const override;
    c10::intrusive_ptr<c10d::Work> reconfigure(
        const c10d::ReconfigureOptions &options) override;
    /* The hooks run before abort(), in the order of their ids. */
    void registerAbortHook(int64_t id, c10d::AbortHook hook) override;
    void unregisterAbortHook(int64_t id) override;
    c10::intrusive_ptr<c10d::Work> gather_single(
        at::Tensor &output,
        at::Tensor &input,
        const c10d::GatherOptions &options) override;
#endif

    c10::intrusive_ptr<c10d::Work> broadcast(
        std::vector<at::Tensor> &tensors,
        const c10d::BroadcastOptions &options) override;
    c10::intrusive_ptr<c10d::Work> allreduce(
        std::vector<at::Tensor> &tensors,
        const c10d::AllreduceOptions &options) override;
    c10::intrusive_ptr<c10d::Work> allreduce_sparse(
        std::vector<at::Tensor> &tensors,
        const c10d::AllreduceOptions &options) override;
    c10::intrusive_ptr<c10d::Work> allreduce_coalesced(
        std::vector<at::Tensor> &tensors,
        const c10d::AllreduceCoalescedOptions &options) override;
    c10::intrusive_ptr<c10d::Work> reduce(
        std::vector<at::Tensor> &tensors,
        const c10d::ReduceOptions &options) override;
    c10::intrusive_ptr<c10d::Work> allgather(
        std::vector<std::vector<at::Tensor>> &outputs,
        std::vector<at::Tensor> &inputs,
        const c10d::AllgatherOptions &options) override;
    c10::intrusive_ptr<c10d::Work> _allgather_base(
        at::Tensor &output,
        at::Tensor &input,
        const c10d::AllgatherOptions &options) override;
    c10::intrusive_ptr<c10d::Work> allgather_coalesced(
        std::vector<std::vector<at::Tensor>> &outputs,
        std::vector<at::Tensor> &inputs,
        const c10d::AllgatherOptions &options) override;
    c10::intrusive_ptr<c10d::Work> allgather_into_tensor_coalesced(
        std::vector<at::Tensor> &outputs,
        std::vector<at::Tensor> &inputs,
        const c10d::AllgatherOptions &options) override;
    c10::intrusive_ptr<c10d::Work> gather(
        std::vector<std::vector<at::Tensor>> &outputs,
        std::vector<at::Tensor> &inputs,
        const c10d::GatherOptions &options) override;
    c10::intrusive_ptr<c10d::Work> scatter(
        std::vector<at::Tensor> &outputs,
        std::vector<std::vector<at::Tensor>> &inputs,
        const c10d::ScatterOptions &options) override;
    c10::intrusive_ptr<c10d::Work> reduce_scatter(
        std::vector<at::Tensor> &outputs,
        std::vector<std::vector<at::Tensor>> &inputs,
        const c10d::ReduceScatterOptions &options) override;
    c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(
        at::Tensor &output,
        at::Tensor &input,
        const c10d::ReduceScatterOptions &options) override;
    c10::intrusive_ptr<c10d::Work> reduce_scatter_tensor_coalesced(
        std::vector<at::Tensor> &outputs,
        std::vector<at::Tensor> &inputs,
        const c10d::ReduceScatterOptions &options) override;
    c10::intrusive_ptr<c10d::Work> alltoall_base(
        at::Tensor &output,
        at::Tensor &input,
        std::vector<int64_t> &output_splits,
        std::vector<int64_t> &input_splits,
        const c10d::AllToAllOptions &options) override;
    c10::intrusive_ptr<c10d::Work> alltoall(
        std::vector<at::Tensor> &outputs,
        std::vector<at::Tensor> &inputs,
        const c10d::AllToAllOptions &options) override;
    c10::intrusive_ptr<c10d::Work> barrier(
        const c10d::BarrierOptions &options) override;
    void monitoredBarrier(const c10d::BarrierOptions &options,
                          bool wait_all_ranks) override;

    c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor> &tensors,
                                        int dest,
                                        int tag) override;
    c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor> &tensors,
                                        int source,
                                        int tag) override;
    c10::intrusive_ptr<c10d::Work> recvAnysource(
        std::vector<at::Tensor> &tensors,
        int tag) override;

  private:
    class Turn;
    /* One collective, from its start until it has ended or is handed out as a
     * Work. */
    class Collective;

    /* The timeout of the next operation; kNoTimeout means that of the group. */
    void use_timeout(std::chrono::milliseconds timeout);
    void check_rank(int64_t rank, const char *name) const;
    bool is_copy_in_child() const;
    void check_process() const;
    void check_usable() const;
    c10::intrusive_ptr<HoopWork> new_work(c10d::OpType type,
                                          const std::string &title,
                                          const std::vector<at::Tensor> &inputs,
                                          uint64_t sequence);
    /* Describe the group with the names that torch has given it so far. */
    const RecordedGroup &recorded();
    c10::intrusive_ptr<HoopWork> submit(
        const c10::intrusive_ptr<HoopWork> &work);
    void gather(const c10::intrusive_ptr<HoopWork> &work);
    c10::intrusive_ptr<HoopWork> start_message(
        const c10::intrusive_ptr<HoopWork> &work,
        hoop_status status,
        hoop_op_t *op);
    c10::intrusive_ptr<HoopWork> start_send(
        const std::vector<at::Tensor> &tensors,
        int64_t dest,
        int64_t tag,
        std::chrono::milliseconds timeout = kNoTimeout);
    c10::intrusive_ptr<HoopWork> start_receive(
        const std::vector<at::Tensor> &tensors,
        uint32_t source,
        int64_t tag,
        std::chrono::milliseconds timeout = kNoTimeout);
    c10::intrusive_ptr<HoopBackend> subgroup(
        const std::vector<uint32_t> &ranks,
        const c10::intrusive_ptr<c10d::Backend::Options> &options);
    /* The handle by which other ranks name this rank, and its rank in the
     * session. */
    std::string handle() const;
    uint32_t rank_of_handle(const std::string &said) const;
    void collect_arrivals(int64_t tag,
                          std::chrono::milliseconds timeout,
                          bool wait_all_ranks);
    void report_arrival(int64_t tag, std::chrono::milliseconds timeout);
    bool is_in_call_of_this_thread() const;
    void close();

    /* These two members have the places of the store and the options of a
     * ProcessGroupGloo. */
    std::shared_ptr<Session> session_;
    const c10::intrusive_ptr<Options> options_;
    std::vector<uint32_t> ranks_; /* ranks of the session */
    const Titles &titles_;
    const int pid_; /* the process that has made the group */
    hoop_comm_t *comm_ = nullptr;
    std::mutex freeing_; /* held to free or revoke comm_ */
    std::mutex order_;   /* held while a collective is started */
    /* The thread that makes a blocking collective; its signal handlers may call
     * this object again. */
    std::atomic<std::thread::id> blocking_thread_{};
    std::atomic<bool> is_shut_down_{false};
    std::atomic<int64_t> timeout_in_use_{-1};
    std::atomic<uint64_t> sequence_{0};
    std::atomic<uint64_t> n_monitored_{0};
    const std::shared_ptr<GroupState> state_;
    FlightRecorder *const recorder_; /* null if nothing is recorded */
    RecordedGroup recorded_;         /* guarded by order_ */
    std::map<int64_t, std::function<void()>> abort_hooks_;
    /* The works since startCoalescing(), by thread, and the number of such
     * threads. */
    std::mutex coalesced_lock_;
    std::map<std::thread::id, std::vector<c10::intrusive_ptr<HoopWork>>>
        coalesced_;
    std::atomic<size_t> n_coalescing_{0};
};

} // namespace hoop_torch

#endif
