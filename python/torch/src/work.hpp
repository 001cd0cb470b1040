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

/* The state that a group shares with its works, which may outlive the group. */
class GroupState
{
  public:
    std::atomic<hoop_status> status{HOOP_OK}; /* of the last work that failed */
    std::atomic<bool> is_timed{false};

    /* Call it once. */
    void set_hook(CompletionHook hook);
    /* Calls the hook, if there is one. Its exceptions become warnings. */
    void call_hook(const std::shared_ptr<c10d::WorkInfo> &ended) const;

    void add_pending();
    void remove_pending();
    /* Waits until all pending works have ended, and those that were started
     * meanwhile. */
    void wait_for_pending();

  private:
    CompletionHook hook_; /* set once, before has_hook_ */
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
    /* Returns the milliseconds from the call until its end was seen. */
    float getDuration() const override;

    /* The maker of a work fills these in before any other thread sees it. */
    std::vector<hoop_op_t *> ops;
    std::vector<at::Tensor> outputs; /* the value of the Future */
    size_t n_lists = 1; /* number of lists into which outputs are divided */
    std::vector<at::Tensor> kept;                 /* memory that hoop borrows */
    std::vector<std::function<void()>> epilogues; /* after success, in order */
    std::exception_ptr failure; /* of the first failed operation */
    uint64_t record = 0;        /* its number in the flight recorder */
    hoop_received received = {HOOP_NO_RANK, 0};

    /* Waits for the operations, which this thread must have claimed, ends the
     * work and calls the group's hook. Returns false if timeout_ms have passed
     * before. */
    bool finish_operations(int64_t timeout_ms);

    /* Keeps the failure of an operation if it is the first one. */
    void note(hoop_status status);

    /* Ends the work, with its failure if there is one. Its operations have
     * ended. */
    void complete();

    /* Calls the group's hook for the end of the work. The caller holds no
     * lock. */
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
    Clock::time_point started_, ended_; /* set only if the work is timed */
};

/* The works that were started between startCoalescing() and endCoalescing(). As
 * with NCCL, its value has no tensors. */
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
 * The works of a session whose operations have not ended. One thread, which the
 * first work starts, sleeps until hoop reports the end of an operation. A
 * callback on that thread may start works and wait for their Futures; then
 * another thread takes its place.
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

    /* Returns whether the caller has claimed the operations; if not, another
     * thread has. */
    bool claim(HoopWork &work);

    /* Ends all works and the threads. The communicators of the works have been
     * freed. */
    void stop();

    /* Call this when Python ends, without the GIL. From now on no thread of a
     * queue ends works, since their callbacks may be Python's. Returns when
     * running callbacks have returned, or after a second. */
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
