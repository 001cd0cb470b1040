/* python/torch/src/error.hpp - failures of hoop as exceptions that torch translates */

#ifndef HOOP_TORCH_ERROR_HPP
#define HOOP_TORCH_ERROR_HPP

#include <c10/util/Exception.h>
#include <exception>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>

#include "hoop/hoop.h"

namespace hoop_torch
{

/* In Python this becomes hoop_torch.Error, a
 * torch.distributed.DistBackendError. */
class Error : public c10::DistBackendError
{
  public:
    Error(const std::string &what, const hoop_failure &why)
        : c10::DistBackendError(what, nullptr), text(what), failure(why)
    {
    }

    const std::string text;
    const hoop_failure failure;
};

/* In Python this becomes hoop_torch.ArgumentError, which has the bases of
 * NCCL's and of Gloo's errors. */
class ArgumentError : public c10::ValueError
{
  public:
    explicit ArgumentError(const std::string &what)
        : c10::ValueError(what, nullptr), text(what)
    {
    }

    const std::string text;
};

/* Throws ArgumentError unless is_right. The other arguments make its text. */
#define CHECK_ARGUMENT(is_right, ...)                                          \
    do {                                                                       \
        if (C10_UNLIKELY(!(is_right)))                                         \
            throw ::hoop_torch::ArgumentError(::c10::str(__VA_ARGS__));        \
    } while (false)

/* Returns the exception for the last failure of this thread: that of the signal
 * handler that interrupted the call, an ArgumentError if an argument was wrong,
 * or else an Error. */
std::exception_ptr
failure_of(hoop_status status);

/* Throws failure_of() unless status is HOOP_OK. */
void
check(hoop_status status);

/* Returns the name in hoop.Status, for example "TIMEOUT". The caller holds the
 * GIL. */
pybind11::object
status_name(hoop_status status);

/* Sets Python's error indicator to hoop_torch.Error. The caller has the GIL. */
void
raise_in_python(const Error &error);

void
raise_in_python(const ArgumentError &error);

/* Returns the same failure as a Python exception. autograd's engine preserves
 * the class of such an exception, but not that of a C++ exception. */
std::exception_ptr
as_python(std::exception_ptr failure);

/* While an object lives, signal handlers run during hoop calls of the main
 * thread, and end a call if they raise. A hoop call in a handler has a scope of
 * its own. */
class InterruptibleScope
{
  public:
    InterruptibleScope();
    ~InterruptibleScope();
    InterruptibleScope(const InterruptibleScope &) = delete;
    InterruptibleScope &operator=(const InterruptibleScope &) = delete;

  private:
    const bool is_main_;
    hoop_interrupt before_ = {}; /* the former, perhaps of the package hoop */
};

/* While an object lives, this thread does not hold the GIL. */
class GilRelease
{
  public:
    GilRelease();

  private:
    std::optional<pybind11::gil_scoped_release> released_;
};

} // namespace hoop_torch

#endif
