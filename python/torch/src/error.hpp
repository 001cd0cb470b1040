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

/* Becomes hoop_torch.Error in Python, a torch.distributed.DistBackendError. */
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

/* Becomes hoop_torch.ArgumentError in Python: what NCCL raises and what Gloo does. */
class ArgumentError : public c10::ValueError
{
  public:
    explicit ArgumentError(const std::string &what)
        : c10::ValueError(what, nullptr), text(what)
    {
    }

    const std::string text;
};

/* Throws ArgumentError with the text that the rest makes unless is_right. */
#define CHECK_ARGUMENT(is_right, ...)                                          \
    do {                                                                       \
        if (C10_UNLIKELY(!(is_right)))                                         \
            throw ::hoop_torch::ArgumentError(::c10::str(__VA_ARGS__));        \
    } while (false)

/*
 * The exception for the last failure of this thread: that of a signal handler
 * that interrupted the call, ArgumentError for a wrong one, else an Error.
 */
std::exception_ptr
failure_of(hoop_status status);

/* Throws failure_of() unless status is HOOP_OK. */
void
check(hoop_status status);

/* As in hoop.Status: "TIMEOUT". The caller has the GIL. */
pybind11::object
status_name(hoop_status status);

/* Sets Python's error indicator to hoop_torch.Error. The caller has the GIL. */
void
raise_in_python(const Error &error);

void
raise_in_python(const ArgumentError &error);

/* The same failure as an exception of Python's: autograd's engine passes on which
 * class that is, and of DistBackendError only that it is one. */
std::exception_ptr
as_python(std::exception_ptr failure);

/* While it lives, handlers of signals run in the main thread's calls of hoop,
 * and end them if they raise. What they call of hoop has a scope of its own. */
class InterruptibleScope
{
  public:
    InterruptibleScope();
    ~InterruptibleScope();
    InterruptibleScope(const InterruptibleScope &) = delete;
    InterruptibleScope &operator=(const InterruptibleScope &) = delete;

  private:
    const bool is_main_;
    hoop_interrupt before_ = {}; /* that of the package hoop, too */
};

/* While it lives this thread does not hold the GIL. */
class GilRelease
{
  public:
    GilRelease();

  private:
    std::optional<pybind11::gil_scoped_release> released_;
};

} // namespace hoop_torch

#endif
