/* python/torch/src/session.hpp - membership of a job, shared by the groups made in it */

#ifndef HOOP_TORCH_SESSION_HPP
#define HOOP_TORCH_SESSION_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hoop/hoop.h"

#include "work.hpp"

namespace hoop_torch
{

class Session
{
  public:
    /* Joins a job. settings are "name=value" as for hoop_join(). No other
     * session has the same name. Throws Error. */
    Session(const std::string &name, const std::vector<std::string> &settings);
    /* Leaves the job, unless this is a forked child. All communicators have
     * been freed. */
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    /* Returns the session of the default group as long as one of its groups
     * lives, or else null. */
    static std::shared_ptr<Session> world();
    static void set_world(const std::shared_ptr<Session> &session);

    uint32_t rank() const;
    uint32_t size() const;
    /* Tells the other ranks that this rank gives up, and why. */
    void abort(const std::string &reason);

    const std::string &name() const
    {
        return name_;
    }
    hoop_session_t *handle() const
    {
        return session_;
    }
    CompletionQueue &completions() const
    {
        return *completions_;
    }
    /* A forked child has a copy that it must not use. */
    bool is_of_this_process() const;

  private:
    const std::string name_;
    hoop_session_t *session_ = nullptr;
    std::shared_ptr<CompletionQueue> completions_;
    const int pid_;
};

} // namespace hoop_torch

#endif
