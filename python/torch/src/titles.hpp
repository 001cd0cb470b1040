/* python/torch/src/titles.hpp - how torch's profiler names what a backend does */

#ifndef HOOP_TORCH_TITLES_HPP
#define HOOP_TORCH_TITLES_HPP

#include <string>

namespace hoop_torch
{

/* Titles begin with the backend's name, like those of torch's own backends. */
struct Titles {
    explicit Titles(const std::string &prefix)
        : broadcast(prefix + "broadcast"), all_reduce(prefix + "all_reduce"),
          sparse_all_reduce(prefix + "sparse_all_reduce"),
          reduce(prefix + "reduce"), all_gather(prefix + "all_gather"),
          gather(prefix + "gather"), scatter(prefix + "scatter"),
          reduce_scatter(prefix + "reduce_scatter"),
          all_to_all(prefix + "all_to_all"), barrier(prefix + "barrier"),
          send(prefix + "send"), recv(prefix + "recv"),
          recv_any_source(prefix + "recvAnySource")
    {
    }

    const std::string broadcast, all_reduce, sparse_all_reduce, reduce,
        all_gather, gather, scatter, reduce_scatter, all_to_all, barrier, send,
        recv, recv_any_source;
};

/* Returns an object that lives as long as the process. Thread: any. */
const Titles &
titles_of(const std::string &backend);

} // namespace hoop_torch

#endif
