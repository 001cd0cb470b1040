/* python/torch/src/error.cpp - turns hoop's failures into exceptions */

#include "error.hpp"

#include <memory>
#include <torch/csrc/Exceptions.h>
#include <unistd.h>

namespace py = pybind11;

namespace hoop_torch
{

namespace
{

/* The exception that a signal handler raised while this thread waited. */
thread_local std::unique_ptr<python_error> raised;

/* Python runs signal handlers only in its main thread. */
bool
is_main_thread()
{
    static thread_local const bool is_main = gettid() == getpid();
    return is_main;
}

/* While Python finalizes, no other thread can take the GIL any more. */
bool
is_finalizing()
{
#if PY_VERSION_HEX >= 0x030d0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

bool
run_signal_handlers(void *)
{
    if (!raised && Py_IsInitialized()) {
        const PyGILState_STATE gil = PyGILState_Ensure();

        if (PyErr_CheckSignals() != 0) {
            raised = std::make_unique<python_error>();
            raised->persist();
        }
        PyGILState_Release(gil);
    }
    return raised != nullptr;
}

bool
has(const std::string &text, const char *part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

InterruptibleScope::InterruptibleScope() : is_main_(is_main_thread())
{
    if (is_main_)
        before_ = hoop_set_interrupt(run_signal_handlers, nullptr);
}

InterruptibleScope::~InterruptibleScope()
{
    if (is_main_)
        hoop_set_interrupt(before_.check, before_.context);
}

std::exception_ptr
failure_of(hoop_status status)
{
    std::string text = hoop_error_text();

    if (raised) {
        const std::unique_ptr<python_error> error = std::move(raised);
        return std::make_exception_ptr(std::move(*error));
    }
    /* Programs search for these words, which Gloo writes. */
    if (status == HOOP_E_TIMEOUT)
        text = "hoop: Timed out waiting " +
               std::to_string(hoop_error_failure()->allowed_ms) + "ms: " + text;
    if (status == HOOP_E_MISMATCH && has(text, "called alltoall ") &&
        has(text, "called alltoallv "))
        text += "; all_to_all_single() needs split sizes on all ranks, or on "
                "none";
    if (status == HOOP_E_INVALID)
        return std::make_exception_ptr(ArgumentError(text));
    return std::make_exception_ptr(Error(text, *hoop_error_failure()));
}

void
check(hoop_status status)
{
    if (status != HOOP_OK)
        std::rethrow_exception(failure_of(status));
}

py::object
status_name(hoop_status status)
{
    /* hoop_status_name() returns gRPC's names, not those of hoop.Status. */
    return py::module_::import("hoop").attr("Status")(int(status)).attr("name");
}

void
raise_in_python(const Error &error)
{
    /* The reference is never released, since Python may be gone at exit. */
    static const py::handle type =
        py::object(py::module_::import("hoop_torch._error").attr("Error"))
            .release();
    const hoop_failure &failure = error.failure;
    const bool is_known = failure.rank != HOOP_NO_RANK;
    const py::object raised =
        type(error.text, status_name(failure.status),
             is_known ? py::object(py::int_(failure.rank)) : py::none(),
             std::string(failure.host), std::string(failure.communicator));

    PyErr_SetObject(type.ptr(), raised.ptr());
}

void
raise_in_python(const ArgumentError &error)
{
    PyErr_SetString(
        py::module_::import("hoop_torch._error").attr("ArgumentError").ptr(),
        error.text.c_str());
}

std::exception_ptr
as_python(std::exception_ptr failure)
{
    try {
        std::rethrow_exception(failure);
    } catch (const Error &error) {
        if (!Py_IsInitialized() || is_finalizing())
            return failure;
        const py::gil_scoped_acquire gil;
        python_error thrown;

        raise_in_python(error);
        thrown.persist();
        return std::make_exception_ptr(std::move(thrown));
    } catch (...) {
        return failure;
    }
}

GilRelease::GilRelease()
{
    if (Py_IsInitialized() && PyGILState_Check())
        released_.emplace();
}

} // namespace hoop_torch
