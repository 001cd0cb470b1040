/* python/torch/src/work.cpp - what torch waits for, and the threads that end it */

#include "work.hpp"

#include <ATen/core/jit_type.h>
#include <c10/util/thread_name.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "error.hpp"
#include "recorder.hpp"

namespace hoop_torch
{

namespace
{

/* Returns nothing if no profiler has registered a callback. */
std::optional<std::vector<at::Tensor>>
profiled(const std::vector<at::Tensor> &inputs)
{
    if (!at::hasCallbacks())
        return std::nullopt;
    return inputs;
}

std::vector<std::vector<at::Tensor>>
divided(const std::vector<at::Tensor> &tensors, size_t n_lists)
{
    const auto n = std::ptrdiff_t(tensors.size() / n_lists);
    std::vector<std::vector<at::Tensor>> lists;

    for (auto at = tensors.begin(); lists.size() < n_lists; at += n)
        lists.emplace_back(at, at + n);
    return lists;
}

/* Counts the threads of all queues that are ending works. It is never freed. */
struct Retirement {
    std::mutex mutex;
    std::condition_variable changed;
    size_t n_ending = 0;
    bool has_begun = false;
};

Retirement &
retirement()
{
    static auto *const all = new Retirement();
    return *all;
}

constexpr std::chrono::seconds retirement_time(1);

bool
is_retired()
{
    Retirement &all = retirement();
    const std::lock_guard<std::mutex> lock(all.mutex);

    return all.has_begun;
}

/* Returns whether this thread may end works, until it calls end_ending(). */
bool
begin_ending()
{
    Retirement &all = retirement();
    const std::lock_guard<std::mutex> lock(all.mutex);

    if (!all.has_begun)
        all.n_ending++;
    return !all.has_begun;
}

void
end_ending()
{
    Retirement &all = retirement();
    const std::lock_guard<std::mutex> lock(all.mutex);

    all.n_ending--;
    all.changed.notify_all();
}

} // namespace

void
GroupState::set_hook(CompletionHook hook)
{
    hook_ = std::move(hook);
    has_hook_ = true;
    is_timed = true;
}

void
GroupState::call_hook(const std::shared_ptr<c10d::WorkInfo> &ended) const
{
    if (!has_hook_)
        return;
    try {
        hook_(ended);
    } catch (const std::exception &error) {
        /* This thread has no caller that could handle the exception. */
        TORCH_WARN("hoop: the completion hook failed: ", error.what());
    }
}

void
GroupState::add_pending()
{
    const std::lock_guard<std::mutex> lock(mutex_);

    n_pending_++;
}

void
GroupState::remove_pending()
{
    const std::lock_guard<std::mutex> lock(mutex_);

    if (--n_pending_ == 0)
        none_pending_.notify_all();
}

void
GroupState::wait_for_pending()
{
    std::unique_lock<std::mutex> lock(mutex_);

    none_pending_.wait(lock, [this] { return n_pending_ == 0; });
}

HoopWork::HoopWork(int rank,
                   c10d::OpType type,
                   const char *title,
                   const std::vector<at::Tensor> &inputs,
                   uint64_t sequence,
                   std::shared_ptr<GroupState> group)
    : c10d::Work(rank,
                 type,
                 at::hasCallbacks() ? title : nullptr,
                 profiled(inputs)),
      sequence_(sequence), group_(std::move(group)), is_timed_(group_->is_timed)
{
    if (is_timed_)
        started_ = Clock::now();
}

bool
HoopWork::wait(std::chrono::milliseconds timeout)
{
    const bool is_limited = timeout > kNoTimeout;

    if (queue_ && queue_->claim(*this)) {
        const InterruptibleScope scope;

        if (!finish_operations(is_limited ? timeout.count()
                                          : int64_t(HOOP_FOREVER)))
            queue_->add(c10::intrusive_ptr<HoopWork>::reclaim_copy(this));
    }

    std::unique_lock<std::mutex> lock(mutex_);
    if (!is_limited) {
        cv_.wait(lock, [this] { return completed_; });
    } else if (!cv_.wait_for(lock, timeout, [this] { return completed_; })) {
        TORCH_CHECK_WITH(DistBackendError, false, "Operation timed out after ",
                         timeout.count(), " ms; it goes on: wait for it again");
    }
    if (exception_)
        std::rethrow_exception(exception_);
    return true;
}

c10::intrusive_ptr<c10::ivalue::Future>
HoopWork::future_of(c10::intrusive_ptr<c10::ivalue::Future> &kept_future,
                    c10::TypePtr type,
                    void (HoopWork::*settle_it)(c10::ivalue::Future &))
{
    bool is_settled;
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        if (kept_future)
            return kept_future;
        kept_future = c10::make_intrusive<c10::ivalue::Future>(std::move(type));
        is_settled = is_settled_;
    }
    if (is_settled)
        (this->*settle_it)(*kept_future);
    else if (is_retired())
        end_here();
    return kept_future;
}

c10::intrusive_ptr<c10::ivalue::Future>
HoopWork::getFuture()
{
    c10::TypePtr type = c10::ListType::create(c10::TensorType::get());

    if (n_lists > 1)
        type = c10::ListType::create(std::move(type));
    return future_of(future_, std::move(type), &HoopWork::settle);
}

c10::intrusive_ptr<c10::ivalue::Future>
HoopWork::getFutureResult()
{
    return future_of(result_future_, c10::IntType::get(),
                     &HoopWork::settle_result);
}

float
HoopWork::getDuration() const
{
    const std::lock_guard<std::mutex> lock(mutex_);

    TORCH_CHECK(is_timed_, "hoop: the work is not timed: call "
                           "_enable_collectives_timing() of its group before");
    TORCH_CHECK(completed_, "hoop: the work has not ended");
    return std::chrono::duration<float, std::milli>(ended_ - started_).count();
}

/* Ends a work for which no thread has called wait(). Callers that wait for the
 * Future get its exception. */
void
HoopWork::end_here()
{
    try {
        wait();
    } catch (const std::exception &) {
    }
}

std::vector<at::Tensor>
HoopWork::result()
{
    return outputs;
}

int
HoopWork::sourceRank() const
{
    return received.source == HOOP_NO_RANK ? -1 : int(received.source);
}

uint64_t
HoopWork::getSequencenumber() const
{
    return sequence_;
}

bool
HoopWork::finish_operations(int64_t timeout_ms)
{
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::milliseconds(timeout_ms);

    for (hoop_op_t *&op : ops) {
        int64_t left = timeout_ms;

        if (!op)
            continue;
        if (timeout_ms > 0)
            left = std::max<int64_t>(
                0,
                std::chrono::ceil<std::chrono::milliseconds>(end - clock::now())
                    .count());
        const hoop_status status = hoop_wait(op, left);

        if (status == HOOP_E_PENDING)
            return false;
        op = nullptr;
        note(status);
    }
    complete();
    call_hook();
    group_->remove_pending();
    return true;
}

void
HoopWork::note(hoop_status status)
{
    if (status == HOOP_OK)
        return;
    if (status != HOOP_E_INVALID && status != HOOP_E_CANCELLED)
        group_->status.store(status);
    if (!failure)
        failure = failure_of(status);
}

void
HoopWork::complete()
{
    c10::intrusive_ptr<c10::ivalue::Future> future, result_future;

    try {
        for (size_t i = 0; i < epilogues.size() && !failure; i++)
            epilogues[i]();
    } catch (...) {
        failure = std::current_exception();
    }
    epilogues.clear();
    kept.clear();
    if (is_timed_)
        ended_ = Clock::now();
    if (record != 0)
        FlightRecorder::get()->end(record, !failure);
    /* This comes first, since a thread that the Future wakes may stop the
     * profiler. */
    if (recordFunctionEndCallback_) {
        recordFunctionEndCallback_();
        recordFunctionEndCallback_ = nullptr;
    }
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        is_settled_ = true;
        future = future_;
        result_future = result_future_;
    }
    if (future)
        settle(*future);
    if (result_future)
        settle_result(*result_future);
    finish(failure);
}

void
HoopWork::call_hook() const
{
    if (is_timed_)
        group_->call_hook(std::make_shared<c10d::WorkInfo>(
            opType_, sequence_, started_, ended_, ended_ - started_));
}

void
HoopWork::settle(c10::ivalue::Future &future)
{
    if (failure)
        future.setError(as_python(failure));
    else if (n_lists == 1)
        future.markCompleted(at::IValue(outputs));
    else
        future.markCompleted(at::IValue(divided(outputs, n_lists)));
}

void
HoopWork::settle_result(c10::ivalue::Future &future)
{
    c10d::WorkResult result = c10d::WorkResult::SUCCESS;

    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (const Error &error) {
        result = error.failure.status == HOOP_E_TIMEOUT
                     ? c10d::WorkResult::TIMEOUT
                     : c10d::WorkResult::COMM_ERROR;
    } catch (...) {
        result = c10d::WorkResult::UNKNOWN;
    }
    future.markCompleted(at::IValue(int64_t(result)));
}

CoalescedWork::CoalescedWork(std::vector<c10::intrusive_ptr<HoopWork>> works)
    : c10d::Work(-1, c10d::OpType::COALESCED), works_(std::move(works))
{
}

bool
CoalescedWork::isCompleted()
{
    return std::all_of(works_.begin(), works_.end(),
                       [](const auto &work) { return work->isCompleted(); });
}

bool
CoalescedWork::isSuccess() const
{
    return std::all_of(works_.begin(), works_.end(),
                       [](const auto &work) { return work->isSuccess(); });
}

std::exception_ptr
CoalescedWork::exception() const
{
    for (const auto &work : works_)
        if (auto found = work->exception())
            return found;
    return nullptr;
}

bool
CoalescedWork::wait(std::chrono::milliseconds timeout)
{
    for (const auto &work : works_)
        work->wait(timeout);
    return true;
}

c10::intrusive_ptr<c10::ivalue::Future>
CoalescedWork::getFuture()
{
    const auto type = c10::ListType::create(c10::TensorType::get());
    c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
        c10::FutureType::create(type));

    for (const auto &work : works_)
        futures.push_back(work->getFuture());
    return c10::collectAll(futures)->then(
        [](c10::ivalue::Future &all) {
            for (const at::IValue &each : all.value().toListRef())
                each.toFuture()->value();
            return at::IValue(std::vector<at::Tensor>());
        },
        type);
}

std::vector<at::Tensor>
CoalescedWork::result()
{
    return {};
}

CompletionQueue::CompletionQueue()
    : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
    TORCH_CHECK(event_fd_ >= 0, "hoop: no descriptor is left for an eventfd");
}

CompletionQueue::~CompletionQueue()
{
    close(event_fd_);
}

void
CompletionQueue::add(const c10::intrusive_ptr<HoopWork> &work)
{
    const std::lock_guard<std::mutex> lock(mutex_);

    work->queue_ = shared_from_this();
    pending_.push_back(work);
    work->position_ = std::prev(pending_.end());
    work->place_ = HoopWork::Place::PENDING;
    for (hoop_op_t *op : work->ops)
        if (op && hoop_op_notify(op, event_fd_) != HOOP_OK)
            eventfd_write(event_fd_, 1);
    if (work->ops.empty())
        eventfd_write(event_fd_, 1);
    /* If a callback on the leading thread adds this work, it may wait for it,
     * so another thread must lead. */
    if (leader_ == std::thread::id() || leader_ == std::this_thread::get_id())
        lead_from_new_thread();
}

void
CompletionQueue::lead_from_new_thread()
{
    leader_ = std::thread::id();
    if (n_parked_ > 0)
        leader_needed_.notify_one();
    else
        threads_.emplace_back([self = shared_from_this()] { self->run(); });
}

bool
CompletionQueue::claim(HoopWork &work)
{
    const std::lock_guard<std::mutex> lock(mutex_);

    if (work.place_ == HoopWork::Place::NONE)
        return false;
    (work.place_ == HoopWork::Place::PENDING ? pending_ : ended_)
        .erase(work.position_);
    work.place_ = HoopWork::Place::NONE;
    return true;
}

void
CompletionQueue::collect_ended()
{
    for (auto next = pending_.begin(); next != pending_.end();) {
        const auto work = next++;
        const auto &ops = (*work)->ops;

        if (std::all_of(ops.begin(), ops.end(), [](hoop_op_t *op) {
                return !op || hoop_op_has_ended(op);
            })) {
            (*work)->place_ = HoopWork::Place::ENDED;
            ended_.splice(ended_.end(), pending_, work);
        }
    }
}

c10::intrusive_ptr<HoopWork>
CompletionQueue::take_ended()
{
    if (ended_.empty())
        collect_ended();
    if (ended_.empty())
        return {};
    auto work = std::move(ended_.front());
    ended_.pop_front();
    work->place_ = HoopWork::Place::NONE;
    return work;
}

void
CompletionQueue::wait_for_end()
{
    pollfd waited = {event_fd_, POLLIN, 0};
    eventfd_t count;

    poll(&waited, 1, -1);
    eventfd_read(event_fd_, &count);
}

void
CompletionQueue::run()
{
    const auto self = std::this_thread::get_id();

    c10::setThreadName("hoop_torch");
    std::unique_lock<std::mutex> lock(mutex_);
    while (!is_stopped_) {
        if (leader_ == std::thread::id())
            leader_ = self;
        if (leader_ != self) {
            n_parked_++;
            leader_needed_.wait(lock, [this] {
                return is_stopped_ || leader_ == std::thread::id();
            });
            n_parked_--;
            continue;
        }
        if (!begin_ending())
            return;
        auto work = take_ended();
        lock.unlock();
        const bool is_none = !work;
        if (work)
            work->finish_operations(HOOP_FOREVER);
        work.reset();
        end_ending();
        if (is_none)
            wait_for_end();
        lock.lock();
    }
}

void
CompletionQueue::stop()
{
    {
        const std::lock_guard<std::mutex> lock(mutex_);

        is_stopped_ = true;
        leader_needed_.notify_all();
        eventfd_write(event_fd_, 1);
    }
    for (std::thread &thread : threads_) {
        if (thread.get_id() == std::this_thread::get_id())
            thread.detach();
        else
            thread.join();
    }
    threads_.clear();
    ended_.splice(ended_.end(), pending_);
    const bool may_end = begin_ending();
    while (!ended_.empty()) {
        auto work = std::move(ended_.front());
        ended_.pop_front();
        work->place_ = HoopWork::Place::NONE;
        if (may_end)
            work->finish_operations(HOOP_FOREVER);
        else /* leak it, and what its callbacks hold */
            new c10::intrusive_ptr<HoopWork>(std::move(work));
    }
    if (may_end)
        end_ending();
}

void
CompletionQueue::retire_all()
{
    Retirement &all = retirement();
    std::unique_lock<std::mutex> lock(all.mutex);

    all.has_begun = true;
    all.changed.wait_for(lock, retirement_time,
                         [&] { return all.n_ending == 0; });
}

} // namespace hoop_torch
