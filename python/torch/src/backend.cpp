/* python/torch/src/backend.cpp - what a group does besides collectives */

#include "backend.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <unistd.h>

#include "error.hpp"
#include "tensors.hpp"
#include "titles.hpp"

namespace hoop_torch
{

namespace
{

/* torch's tags are ints, and the tags of monitored barriers lie above them. */
constexpr int64_t monitored_tags = int64_t(1) << 40;
/* Rank 0 may take the whole timeout to find which ranks are late, so the others
 * wait this much longer for its answer. */
constexpr std::chrono::milliseconds answer_time(1000);

/* Rank 0 sends this to each rank that has reached a monitored barrier. All
 * ranks run the same build, so the bytes of the struct can be sent. */
struct Answer {
    hoop_failure failure; /* set if a rank was lost */
    char text[512];       /* empty if all ranks have come */
};

bool
is_loss(const Error &error)
{
    return error.failure.status == HOOP_E_PEER_LOST ||
           error.failure.status == HOOP_E_RANK_FAILED;
}

int64_t
milliseconds_of(std::chrono::milliseconds timeout)
{
    return std::clamp<int64_t>(timeout.count(), 1, INT32_MAX);
}

std::string
listed(const std::vector<int> &ranks)
{
    std::ostringstream text;

    for (size_t i = 0; i < ranks.size(); i++)
        text << (i > 0 ? ", " : "") << ranks[i];
    return text.str();
}

/* Returns the error text in torch's words, or an empty one if no rank is
 * late. */
std::string
late_text(const std::vector<int> &late,
          std::chrono::milliseconds timeout,
          bool wait_all_ranks)
{
    std::ostringstream text;

    if (late.empty())
        return {};
    if (late.size() > 1 && wait_all_ranks)
        text << "[Rank 0]: Ranks " << listed(late);
    else
        text << "[Rank 0]: Rank " << late[0];
    text << " failed to pass monitoredBarrier in " << timeout.count() << " ms";
    if (late.size() > 1 && !wait_all_ranks)
        text << "; so did ranks "
             << listed(std::vector<int>(late.begin() + 1, late.end()));
    return text.str();
}

} // namespace

uint32_t
place_in(const Session &session, const std::vector<uint32_t> &ranks)
{
    const auto found = std::find(ranks.begin(), ranks.end(), session.rank());

    CHECK_ARGUMENT(found != ranks.end(), "hoop: this process, rank ",
                   session.rank(), ", is no member of the group");
    return uint32_t(found - ranks.begin());
}

size_t
next_id()
{
    static std::atomic<size_t> n_groups{0};

    return n_groups++;
}

const Titles &
titles_of(const std::string &backend)
{
    static std::mutex mutex;
    static auto *const known = new std::map<std::string, Titles>();
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known->find(backend);

    if (found != known->end())
        return found->second;
    return known->emplace(backend, Titles(backend + ":")).first->second;
}

HoopBackend::HoopBackend(std::shared_ptr<Session> session,
                         const std::vector<uint32_t> &ranks,
                         const std::string &name,
                         std::chrono::milliseconds timeout)
    : c10d::Backend(int(place_in(*session, ranks)), int(ranks.size())),
      session_(std::move(session)),
      options_(c10::make_intrusive<Options>(name, timeout)), ranks_(ranks),
      titles_(titles_of(name)), pid_(getpid()),
      state_(std::make_shared<GroupState>()),
      recorder_(FlightRecorder::get()), recorded_{next_id(),
                                                  "",
                                                  "",
                                                  {ranks.begin(), ranks.end()}}
{
    const InterruptibleScope scope;

    options_->global_ranks_in_group.assign(ranks.begin(), ranks.end());
    /* hoop_comm_create() waits as long as the world's timeout, which is at most
     * the session's. */
    hoop_comm_set_timeout(hoop_world(session_->handle()),
                          uint32_t(milliseconds_of(timeout)));
    check(hoop_comm_create(session_->handle(), ranks_.data(),
                           uint32_t(ranks_.size()), &comm_));
    use_timeout(timeout);
    init();
}

HoopBackend::~HoopBackend()
{
    close();
}

bool
HoopBackend::is_in_call_of_this_thread() const
{
    return blocking_thread_.load() == std::this_thread::get_id();
}

void
HoopBackend::close()
{
    /* In a forked child, a lock may be held by a thread that exists only in the
     * parent. */
    if (is_copy_in_child())
        return;
    /* Works that this ends may run Python callbacks, which need the GIL. */
    const GilRelease released;
    const std::scoped_lock lock(order_, freeing_);
    if (comm_)
        hoop_comm_free(comm_);
    comm_ = nullptr;
    session_.reset();
}

/* Ends a blocking call that is in progress. If this thread is in that call, and
 * runs this from a signal handler, the call closes the group when it
 * returns. */
void
HoopBackend::shutdown()
{
    is_shut_down_ = true;
    if (is_copy_in_child())
        return;
    if (blocking_thread_.load() != std::thread::id()) {
        const std::lock_guard<std::mutex> lock(freeing_);

        if (comm_)
            (void)!hoop_comm_revoke(comm_);
    }
    if (!is_in_call_of_this_thread())
        close();
}

void
HoopBackend::abort()
{
    check_process();
    for (const auto &[id, hook] : abort_hooks_)
        hook();
    const std::lock_guard<std::mutex> lock(freeing_);

    check_usable();
    check(hoop_comm_revoke(comm_));
}

hoop_status
HoopBackend::status() const
{
    return state_->status.load();
}

bool
HoopBackend::supportsSplitting() const
{
    return true;
}

bool
HoopBackend::supportsCoalescing() const
{
    /* If this were true, torch would hold back the calls that other threads
     * make on the group while one thread coalesces. */
    return false;
}

bool
HoopBackend::supportsShrinking() const
{
    return true;
}

const std::string
HoopBackend::getBackendName() const
{
    return options_->backend;
}

c10::intrusive_ptr<c10d::Backend::Options>
HoopBackend::getBackendOptions()
{
    return options_;
}

void
HoopBackend::setTimeout(std::chrono::milliseconds timeout)
{
    options_->timeout = timeout;
}

c10d::ErrorType
HoopBackend::getError()
{
    switch (int(state_->status.load())) {
    case HOOP_OK:
        return c10d::ErrorType::SUCCESS;
    case HOOP_E_TIMEOUT:
        return c10d::ErrorType::TIMEOUT;
    case HOOP_E_PEER_LOST:
    case HOOP_E_RANK_FAILED:
    case HOOP_E_ABORTED:
        return c10d::ErrorType::REMOTE_ERROR;
    default:
        return c10d::ErrorType::COMM_ERROR;
    }
}

void
HoopBackend::setSequenceNumberForGroup()
{
    /* There is nothing to set: all ranks begin with 0 and count the same
     * calls. */
}

uint64_t
HoopBackend::getSequenceNumberForGroup()
{
    return sequence_;
}

void
HoopBackend::enableCollectivesTiming()
{
    state_->is_timed = true;
}

void
HoopBackend::registerOnCompletionHook(CompletionHook &&hook)
{
    TORCH_CHECK_WITH(DistBackendError, !onCompletionHook_,
                     "hoop: the group has a completion hook already");
    state_->set_hook(std::move(hook));
    onCompletionHook_ = [state =
                             state_](std::shared_ptr<c10d::WorkInfo> ended) {
        state->call_hook(ended);
    };
}

void
HoopBackend::waitForPendingWorks()
{
    state_->wait_for_pending();
}

void
HoopBackend::setGroupUid(const std::string &uid)
{
    c10d::Backend::setGroupUid(uid);
    options_->group_name = uid;
    /* The name appears only in texts, so a name that hoop refuses is left
     * out. */
    if (comm_)
        (void)!hoop_comm_set_name(comm_, uid.substr(0, 63).c_str());
}

void
HoopBackend::use_timeout(std::chrono::milliseconds timeout)
{
    const int64_t ms =
        milliseconds_of(timeout > kNoTimeout ? timeout : options_->timeout);

    if (timeout_in_use_.exchange(ms) != ms)
        hoop_comm_set_timeout(comm_, uint32_t(ms));
}

void
HoopBackend::check_rank(int64_t rank, const char *name) const
{
    CHECK_ARGUMENT(rank >= 0 && rank < size_, "hoop: invalid ", name, " ", rank,
                   ": the group has ranks 0 to ", size_ - 1);
}

void
HoopBackend::check_usable() const
{
    TORCH_CHECK_WITH(DistBackendError, comm_ && !is_shut_down_,
                     "hoop: the group has been shut down");
    check_process();
}

bool
HoopBackend::is_copy_in_child() const
{
    return getpid() != pid_;
}

void
HoopBackend::check_process() const
{
    TORCH_CHECK_WITH(DistBackendError, !is_copy_in_child(),
                     "hoop: the group is that of the process that has forked; "
                     "call init_process_group() in the child");
}

c10::intrusive_ptr<HoopWork>
HoopBackend::new_work(c10d::OpType type,
                      const std::string &title,
                      const std::vector<at::Tensor> &inputs,
                      uint64_t sequence)
{
    check_usable();
    return c10::make_intrusive<HoopWork>(rank_, type, title.c_str(), inputs,
                                         sequence, state_);
}

const RecordedGroup &
HoopBackend::recorded()
{
    recorded_.name = pg_uid_;
    recorded_.description = pg_desc_;
    return recorded_;
}

c10::intrusive_ptr<HoopWork>
HoopBackend::submit(const c10::intrusive_ptr<HoopWork> &work)
{
    state_->add_pending();
    session_->completions().add(work);
    gather(work);
    return work;
}

void
HoopBackend::startCoalescing()
{
    const std::lock_guard<std::mutex> lock(coalesced_lock_);

    /* An exception may have left works of an earlier call. */
    coalesced_[std::this_thread::get_id()].clear();
    n_coalescing_ = coalesced_.size();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::endCoalescing()
{
    const std::lock_guard<std::mutex> lock(coalesced_lock_);
    auto own = coalesced_.extract(std::this_thread::get_id());

    n_coalescing_ = coalesced_.size();
    return c10::make_intrusive<CoalescedWork>(
        own ? std::move(own.mapped())
            : std::vector<c10::intrusive_ptr<HoopWork>>());
}

void
HoopBackend::gather(const c10::intrusive_ptr<HoopWork> &work)
{
    if (n_coalescing_ == 0)
        return;
    const std::lock_guard<std::mutex> lock(coalesced_lock_);
    const auto own = coalesced_.find(std::this_thread::get_id());
    if (own == coalesced_.end())
        return;
    auto &works = own->second;
    /* Drop works that have succeeded before more memory is needed, since
     * endCoalescing() may never be called. */
    if (works.size() == works.capacity())
        works.erase(std::remove_if(works.begin(), works.end(),
                                   [](const auto &ended) {
                                       return ended->isCompleted() &&
                                              ended->isSuccess();
                                   }),
                    works.end());
    works.push_back(work);
}

c10::intrusive_ptr<HoopBackend>
HoopBackend::subgroup(const std::vector<uint32_t> &ranks,
                      const c10::intrusive_ptr<c10d::Backend::Options> &options)
{
    check_usable();
    return c10::make_intrusive<HoopBackend>(session_, ranks, options_->backend,
                                            options ? options->timeout
                                                    : options_->timeout);
}

c10::intrusive_ptr<c10d::Backend>
HoopBackend::split(const c10::intrusive_ptr<c10d::Store> &,
                   const std::vector<int> &ranks,
                   const c10::intrusive_ptr<c10d::Backend::Options> &options)
{
    std::vector<uint32_t> members;

    for (int rank : ranks) {
        check_rank(rank, "rank of split()");
        members.push_back(ranks_[size_t(rank)]);
    }
    if (std::find(ranks.begin(), ranks.end(), rank_) == ranks.end())
        return {};
    return subgroup(members, options);
}

c10::intrusive_ptr<c10d::Backend>
HoopBackend::shrink(const std::vector<int64_t> &excluded,
                    int,
                    const c10::intrusive_ptr<c10d::Backend::Options> &options)
{
    std::vector<uint32_t> members;

    for (int64_t rank : excluded)
        check_rank(rank, "rank of shrink()");
    for (int rank = 0; rank < size_; rank++)
        if (std::find(excluded.begin(), excluded.end(), rank) == excluded.end())
            members.push_back(ranks_[size_t(rank)]);
    return subgroup(members, options);
}

std::string
HoopBackend::handle() const
{
    return session_->name() + " " + std::to_string(session_->rank());
}

uint32_t
HoopBackend::rank_of_handle(const std::string &said) const
{
    const size_t space = said.find(' ');

    CHECK_ARGUMENT(
        space != std::string::npos && said.substr(0, space) == session_->name(),
        "hoop: a rank of job ", said.substr(0, space),
        " cannot be in a group with rank ", session_->rank(), " of ",
        session_->name(), "; only ranks of one init_process_group() can");
    return uint32_t(std::stoul(said.substr(space + 1)));
}

c10::intrusive_ptr<c10d::Backend>
HoopBackend::merge(const c10::intrusive_ptr<c10d::Store> &store,
                   const c10::intrusive_ptr<c10d::Backend::Options> &options,
                   const int &rank,
                   const int &size)
{
    const std::string own = handle();
    std::vector<uint32_t> members;

    store->set("hoop/" + std::to_string(rank),
               std::vector<uint8_t>(own.begin(), own.end()));
    for (int other = 0; other < size; other++) {
        const auto bytes = store->get("hoop/" + std::to_string(other));

        members.push_back(
            rank_of_handle(std::string(bytes.begin(), bytes.end())));
    }
    return subgroup(members, options);
}

c10::intrusive_ptr<HoopWork>
HoopBackend::start_message(const c10::intrusive_ptr<HoopWork> &work,
                           hoop_status status,
                           hoop_op_t *op)
{
    check(status);
    /* A small message has been sent by now, and one that came early has been
     * received: such a work need not be submitted. */
    status = hoop_test(op);
    if (status == HOOP_E_PENDING) {
        work->ops.push_back(op);
        return submit(work);
    }
    work->note(status);
    work->complete();
    work->call_hook();
    if (work->failure)
        gather(work);
    return work;
}

c10::intrusive_ptr<HoopWork>
HoopBackend::start_send(const std::vector<at::Tensor> &tensors,
                        int64_t dest,
                        int64_t tag,
                        std::chrono::milliseconds timeout)
{
    hoop_op_t *op = nullptr;

    check_tensors(tensors, "send");
    check_rank(dest, "destination");
    auto work = new_work(c10d::OpType::SEND, titles_.send, tensors, sequence_);
    const Element element = moved_element(tensors[0]);
    use_timeout(timeout);
    const hoop_status status = hoop_send_start(
        packed_input(*work, tensors), count_of(tensors) * element.per_element,
        element.dtype, uint32_t(dest), tag, comm_, &op);
    return start_message(work, status, op);
}

c10::intrusive_ptr<HoopWork>
HoopBackend::start_receive(const std::vector<at::Tensor> &tensors,
                           uint32_t source,
                           int64_t tag,
                           std::chrono::milliseconds timeout)
{
    const bool is_from_any = source == HOOP_ANY_SOURCE;
    hoop_op_t *op = nullptr;

    check_tensors(tensors, "recv");
    auto work =
        is_from_any
            ? new_work(c10d::OpType::RECVANYSOURCE, titles_.recv_any_source,
                       tensors, sequence_)
            : new_work(c10d::OpType::RECV, titles_.recv, tensors, sequence_);
    const Element element = moved_element(tensors[0]);
    const size_t count = count_of(tensors) * element.per_element;
    HoopWork *const own = work.get();

    work->outputs = tensors;
    work->epilogues.emplace_back([own, count, element] {
        CHECK_ARGUMENT(own->received.count == count, "hoop: a message of ",
                       own->received.count / element.per_element,
                       " elements came from rank ", own->received.source,
                       ", and the tensors to receive it have ",
                       count / element.per_element);
    });
    void *const buffer = packed_output(*work, tensors);
    use_timeout(timeout);
    const hoop_status status = hoop_recv_start(
        buffer, count, element.dtype, source, tag, comm_, &work->received, &op);
    return start_message(work, status, op);
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::send(std::vector<at::Tensor> &tensors, int dest, int tag)
{
    return start_send(tensors, dest, tag);
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::recv(std::vector<at::Tensor> &tensors, int source, int tag)
{
    check_rank(source, "source");
    return start_receive(tensors, uint32_t(source), tag);
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::recvAnysource(std::vector<at::Tensor> &tensors, int tag)
{
    return start_receive(tensors, HOOP_ANY_SOURCE, tag);
}

void
HoopBackend::monitoredBarrier(const c10d::BarrierOptions &options,
                              bool wait_all_ranks)
{
    const auto timeout = options.timeout == c10d::kUnsetTimeout
                             ? options_->timeout
                             : options.timeout;
    const int64_t tag = monitored_tags + int64_t(n_monitored_++);

    try {
        if (rank_ == 0)
            collect_arrivals(tag, timeout, wait_all_ranks);
        else
            report_arrival(tag, timeout);
    } catch (const Error &) {
        /* torch also calls this in backward passes to check calls, and
         * autograd's engine preserves only Python exceptions. */
        std::rethrow_exception(as_python(std::current_exception()));
    }
}

/* On rank 0: waits for a message of every other rank, and tells those that have
 * come which ranks have not. */
void
HoopBackend::collect_arrivals(int64_t tag,
                              std::chrono::milliseconds timeout,
                              bool wait_all_ranks)
{
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + timeout;
    std::vector<c10::intrusive_ptr<HoopWork>> arrivals;
    std::vector<int> late;
    Answer answer = {};
    std::exception_ptr loss;
    std::string loss_text;

    TORCH_CHECK_WITH(DistBackendError, timeout > kNoTimeout,
                     "[Rank 0]: Rank 0 timed out in monitoredBarrier after ",
                     timeout.count(), " ms");
    for (int rank = 1; rank < size_; rank++)
        arrivals.push_back(start_receive({at::empty({1}, at::kByte)},
                                         uint32_t(rank), tag, timeout));
    for (int rank = 1; rank < size_; rank++) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
        try {
            arrivals[size_t(rank) - 1]->wait(
                std::max(left, std::chrono::milliseconds(1)));
        } catch (const Error &error) {
            late.push_back(rank);
            if (!loss && is_loss(error)) {
                loss = std::current_exception();
                answer.failure = error.failure;
                loss_text = error.text;
            }
        } catch (const c10::DistBackendError &) {
            late.push_back(rank);
        }
    }
    const std::string told =
        loss ? loss_text : late_text(late, timeout, wait_all_ranks);
    at::Tensor bytes = at::empty({sizeof(answer)}, at::kByte);
    std::copy_n(told.c_str(), std::min(told.size(), sizeof(answer.text) - 1),
                answer.text);
    std::memcpy(bytes.mutable_data_ptr(), &answer, sizeof(answer));
    for (int rank = 1; rank < size_; rank++)
        if (std::find(late.begin(), late.end(), rank) == late.end())
            start_send({bytes}, rank, tag)->wait();
    if (loss)
        std::rethrow_exception(loss);
    TORCH_CHECK_WITH(DistBackendError, late.empty(), told);
}

/* On the other ranks: sends rank 0 a message, and waits for its answer. */
void
HoopBackend::report_arrival(int64_t tag, std::chrono::milliseconds timeout)
{
    at::Tensor bytes = at::zeros({sizeof(Answer)}, at::kByte);
    Answer answer = {};
    std::string why;

    try {
        start_send({at::zeros({1}, at::kByte)}, 0, tag, timeout)->wait();
        start_receive({bytes}, 0, tag, timeout + answer_time)->wait();
        std::memcpy(&answer, bytes.const_data_ptr(), sizeof(answer));
        why = answer.text;
    } catch (const Error &error) {
        if (is_loss(error))
            throw;
        why = error.text;
    } catch (const c10::DistBackendError &error) {
        why = error.what_without_backtrace();
    }
    /* The pointer comes from another process and means nothing here. */
    answer.failure.operation = nullptr;
    if (answer.failure.status != HOOP_OK)
        throw Error(why, answer.failure);
    TORCH_CHECK_WITH(DistBackendError, why.empty(), "[Rank ", rank_, "]: Rank ",
                     rank_,
                     " successfully reached monitoredBarrier, but received "
                     "errors while waiting for send/recv from rank 0: ",
                     why);
}

} // namespace hoop_torch
