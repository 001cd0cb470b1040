/* python/torch/src/session.cpp - the membership of a job, shared by groups */

#include "session.hpp"

#include <unistd.h>

#include "error.hpp"

namespace hoop_torch
{

namespace
{

/* In a forked child the queue is never freed, since its threads do not exist
 * there and cannot be joined. */
void
leak(std::shared_ptr<CompletionQueue> queue)
{
    new std::shared_ptr<CompletionQueue>(std::move(queue));
}

/* The GIL guards it. */
std::weak_ptr<Session> &
default_session()
{
    static std::weak_ptr<Session> session;
    return session;
}

} // namespace

Session::Session(const std::string &name,
                 const std::vector<std::string> &settings)
    : name_(name), completions_(std::make_shared<CompletionQueue>()),
      pid_(getpid())
{
    std::vector<const char *> items;
    hoop_join_options options = {};
    const InterruptibleScope scope;

    for (const std::string &setting : settings)
        items.push_back(setting.c_str());
    items.push_back(nullptr);
    options.settings = items.data();
    check(hoop_join(&options, &session_));
}

Session::~Session()
{
    if (!is_of_this_process()) {
        leak(std::move(completions_));
        return;
    }
    /* Works that this ends may run Python callbacks, which need the GIL. */
    const GilRelease released;

    completions_->stop();
    hoop_leave(session_);
}

std::shared_ptr<Session>
Session::world()
{
    auto session = default_session().lock();

    return session && session->is_of_this_process() ? session : nullptr;
}

void
Session::set_world(const std::shared_ptr<Session> &session)
{
    default_session() = session;
}

uint32_t
Session::rank() const
{
    return hoop_comm_rank(hoop_world(session_));
}

uint32_t
Session::size() const
{
    return hoop_comm_size(hoop_world(session_));
}

void
Session::abort(const std::string &reason)
{
    if (is_of_this_process())
        hoop_abort(session_, reason.c_str());
}

bool
Session::is_of_this_process() const
{
    return getpid() == pid_;
}

} // namespace hoop_torch
