/* python/torch/src/reconfigure.cpp - what torch's Backend can do since 2.14
 *
 * This file is compiled only if torch's headers declare these methods.
 */

#include <algorithm>

#include "backend.hpp"
#include "error.hpp"

namespace hoop_torch
{

c10::intrusive_ptr<c10d::Backend::Options>
HoopBackend::Options::clone() const
{
    return c10::make_intrusive<Options>(*this);
}

bool
HoopBackend::supportsReconfigure() const
{
    return true;
}

c10d::ReconfigureHandle
HoopBackend::get_reconfigure_handle() const
{
    check_usable();
    return handle();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::reconfigure(const c10d::ReconfigureOptions &options)
{
    const auto *const ordered =
        std::get_if<std::vector<c10d::ReconfigureHandle>>(&options.handles);
    std::vector<uint32_t> members;
    hoop_comm_t *formed = nullptr;

    check_usable();
    if (ordered) {
        for (const auto &each : *ordered)
            members.push_back(rank_of_handle(each));
    } else {
        for (const auto &each :
             std::get<std::unordered_set<c10d::ReconfigureHandle>>(
                 options.handles))
            members.push_back(rank_of_handle(each));
        std::sort(members.begin(), members.end());
    }
    const size_t place = place_in(*session_, members);
    /* No lock is held while the group forms, since a signal handler may end the
     * group meanwhile. */
    const auto session = session_;
    {
        const InterruptibleScope scope;

        check(hoop_comm_create(session->handle(), members.data(),
                               uint32_t(members.size()), &formed));
    }
    const std::scoped_lock lock(order_, freeing_);
    if (is_shut_down_) {
        hoop_comm_free(formed);
        check_usable();
    }
    std::swap(comm_, formed);
    hoop_comm_free(formed);
    ranks_ = members;
    rank_ = int(place);
    size_ = int(members.size());
    options_->global_ranks_in_group.assign(members.begin(), members.end());
    recorded_ = {next_id(), "", "", options_->global_ranks_in_group};
    state_->status = HOOP_OK;
    sequence_ = 0;
    n_monitored_ = 0;
    timeout_in_use_ = -1;
    use_timeout(options.timeout.value_or(kNoTimeout));
    (void)!hoop_comm_set_name(comm_, pg_uid_.substr(0, 63).c_str());
    auto work =
        c10::make_intrusive<HoopWork>(rank_, c10d::OpType::UNKNOWN, nullptr,
                                      std::vector<at::Tensor>(), 0, state_);
    work->complete();
    return work;
}

void
HoopBackend::registerAbortHook(int64_t id, c10d::AbortHook hook)
{
    abort_hooks_[id] = std::move(hook);
}

void
HoopBackend::unregisterAbortHook(int64_t id)
{
    abort_hooks_.erase(id);
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::gather_single(at::Tensor &output,
                           at::Tensor &input,
                           const c10d::GatherOptions &options)
{
    std::vector<std::vector<at::Tensor>> outputs;
    std::vector<at::Tensor> inputs = {input};

    if (rank_ == options.rootRank) {
        std::vector<int64_t> shape = input.sizes().vec();

        CHECK_ARGUMENT(output.is_contiguous() &&
                           output.numel() == size_ * input.numel(),
                       "hoop: the output of gather has ", output.numel(),
                       " elements, and ", size_ * input.numel(),
                       " without gaps are needed");
        shape.insert(shape.begin(), size_);
        outputs.push_back(output.view(shape).unbind(0));
    }
    return gather(outputs, inputs, options);
}

} // namespace hoop_torch
