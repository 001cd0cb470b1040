/* python/torch/src/work.hpp - what torch waits for, and the thread that ends it
 *
 * A Work is made of operations of hoop. Whoever waits for it takes them and
 * moves their data; those that nobody waits for are moved by hoop's own thread
 * and ended by the completion queue's, which then runs the callbacks of the
 * Future. Nothing of hoop's and no lock is held while those run.
 */

#ifndef HOOP_TORCH_WORK_HPP
#define HOOP_TORCH_WORK_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "hoop/hoop.h"

namespace hoop_torch
{

class CompletionQueue;

using CompletionHook = std::function<void(std::shared_ptr<c10d::WorkInfo>)>;

/* What a group's works tell it, and it them. They outlive it. */
class GroupState
{
  public:
    std::atomic<hoop_status> status{HOOP_OK}; /* of the last work that failed */
    std::atomic<bool> is_timed{false};

    /* Once. */
    void set_hook(CompletionHook hook);
    /* Nothing where there is no hook; its exceptions are told as warnings. */
    void call_hook(const std::shared_ptr<c10d::WorkInfo> &ended) const;

    void add_pending();
    void remove_pending();
    /* Until none is left of those that were pending, and of later ones. */
    void wait_for_pending();

  private:
    CompletionHook hook_; /* set before has_hook_, and never again */
    std::atomic<bool> has_hook_{false};
    std::mutex mutex_;
    std::condition_variable none_pending_;
    size_t n_pending_ = 0;
};

class HoopWork : public c10d::Work
{
  public:
    HoopWork(int rank,
             c10d::OpType type,
             const char *title,
             const std::vector<at::Tensor> &inputs,
             uint64_t sequence,
             std::shared_ptr<GroupState> group);

    bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
    std::vector<at::Tensor> result() override;
    int sourceRank() const override;
    uint64_t getSequencenumber() const override;
    /* In milliseconds, from when it was called until its end was seen. */
    float getDuration() const override;

    /* For who makes it, before anybody else sees it. */
    std::vector<hoop_op_t *> ops;
    std::vector<at::Tensor> outputs; /* the Future's value */
    size_t n_lists = 1; /* into which that is divided, if there are several */
    std::vector<at::Tensor> kept;                 /* memory that hoop borrows */
    std::vector<std::function<void()>> epilogues; /* after success, in turn */
    std::exception_ptr failure; /* of the first operation to fail */
    uint64_t record = 0;        /* its number in the flight recorder */
    hoop_received received = {HOOP_NO_RANK, 0};

    /* Waits for its operations, which this thread has to have claimed, ends it
     * and calls the group's hook. False: timeout_ms have passed before. */
    bool finish_operations(int64_t timeout_ms);

    /* Remembers the failure of an operation, if it is the first. */
    void note(hoop_status status);

    /* Ends it, with its failure if there is one. Its operations have ended. */
    void complete();

    /* Tells the group's hook of its end. The caller holds no lock. */
    void call_hook() const;

  private:
    friend class CompletionQueue;

    using Clock = std::chrono::steady_clock;

    void settle(c10::ivalue::Future &future);
    void end_here();
    void settle_result(c10::ivalue::Future &future);
    c10::intrusive_ptr<c10::ivalue::Future> future_of(
        c10::intrusive_ptr<c10::ivalue::Future> &kept_future,
        c10::TypePtr type,
        void (HoopWork::*settle_it)(c10::ivalue::Future &));

    /* Guarded by the queue's lock. */
    enum class Place {
        NONE,
        PENDING,
        ENDED
    };
    Place place_ = Place::NONE;
    std::list<c10::intrusive_ptr<HoopWork>>::iterator position_;
    std::shared_ptr<CompletionQueue> queue_;

    /* Guarded by mutex_. */
    c10::intrusive_ptr<c10::ivalue::Future> future_;
    c10::intrusive_ptr<c10::ivalue::Future> result_future_;
    bool is_settled_ = false;

    const uint64_t sequence_;
    const std::shared_ptr<GroupState> group_;
    const bool is_timed_;
    Clock::time_point started_, ended_; /* only if it is timed */
};

/* Works that were started between startCoalescing() and endCoalescing(); its
 * value is no tensors, as NCCL's. */
class CoalescedWork : public c10d::Work
{
  public:
    explicit CoalescedWork(std::vector<c10::intrusive_ptr<HoopWork>> works);

    bool isCompleted() override;
    bool isSuccess() const override;
    std::exception_ptr exception() const override;
    bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
    std::vector<at::Tensor> result() override;

  private:
    const std::vector<c10::intrusive_ptr<HoopWork>> works_;
};

/*
 * The works of a session that have operations under way. One thread, begun with
 * the first work, sleeps until hoop tells of an end. A callback that it runs may
 * start works and wait for their Futures; then another thread takes its place.
 */
class CompletionQueue : public std::enable_shared_from_this<CompletionQueue>
{
  public:
    CompletionQueue();
    ~CompletionQueue();
    CompletionQueue(const CompletionQueue &) = delete;
    CompletionQueue &operator=(const CompletionQueue &) = delete;

    /* Takes a work whose operations have been started. */
    void add(const c10::intrusive_ptr<HoopWork> &work);

    /* Whether the caller now has the operations; else somebody else has. */
    bool claim(HoopWork &work);

    /* Ends all works, whose communicators are freed, and the threads. */
    void stop();

    /* Python ends: from now on no thread of any queue ends works, since their
     * callbacks may be Python's. Returns when those that run have returned, or
     * after a second. Called without the GIL. */
    static void retire_all();

  private:
    void insert(const c10::intrusive_ptr<HoopWork> &work);
    void lead_from_new_thread();
    void run();
    void wait_for_end();
    void collect_ended();
    c10::intrusive_ptr<HoopWork> take_ended();

    const int event_fd_;
    std::mutex mutex_;
    std::condition_variable leader_needed_;
    std::list<c10::intrusive_ptr<HoopWork>> pending_;
    std::list<c10::intrusive_ptr<HoopWork>> ended_;
    std::vector<std::thread> threads_;
    std::thread::id leader_;
    size_t n_parked_ = 0;
    bool is_stopped_ = false;
};

} // namespace hoop_torch

#endif
