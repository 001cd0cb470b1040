/* python/torch/src/module.cpp - the Python module hoop_torch._backend */

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "backend.hpp"
#include "error.hpp"

namespace py = pybind11;

namespace hoop_torch
{

namespace
{

void
translate(std::exception_ptr thrown)
{
    try {
        if (thrown)
            std::rethrow_exception(thrown);
    } catch (const Error &error) {
        raise_in_python(error);
    } catch (const ArgumentError &error) {
        raise_in_python(error);
    }
}

} // namespace

} // namespace hoop_torch

using hoop_torch::HoopBackend;
using hoop_torch::Session;

PYBIND11_MODULE(_backend, module)
{
    py::register_exception_translator(hoop_torch::translate);

    py::class_<Session, std::shared_ptr<Session>>(module, "Session")
        .def(py::init<const std::string &, const std::vector<std::string> &>(),
             py::arg("name"), py::arg("settings"),
             py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("name", &Session::name)
        .def_property_readonly("rank", &Session::rank)
        .def_property_readonly("size", &Session::size)
        .def("abort", &Session::abort, py::arg("reason"),
             py::call_guard<py::gil_scoped_release>());
    py::class_<HoopBackend, c10::intrusive_ptr<HoopBackend>, c10d::Backend>(
        module, "Backend")
        .def(py::init<const std::shared_ptr<Session> &,
                      const std::vector<uint32_t> &, const std::string &,
                      std::chrono::milliseconds>(),
             py::arg("session"), py::arg("ranks"), py::arg("name"),
             py::arg("timeout"), py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("options", &HoopBackend::getBackendOptions)
        /* torch calls it by this name on backends that it takes for its own. */
        .def("_set_default_timeout", &HoopBackend::setTimeout,
             py::arg("timeout"))
        .def_property_readonly("status", [](const HoopBackend &backend) {
            return hoop_torch::status_name(backend.status());
        });
    module.def(
        "recorded",
        [](bool with_stacks) -> py::object {
            hoop_torch::FlightRecorder *const recorder =
                hoop_torch::FlightRecorder::get();
            return recorder ? py::object(recorder->dump(with_stacks))
                            : py::none();
        },
        py::arg("with_stacks"));
    module.def("set_world", &Session::set_world, py::arg("session"));
    module.def("world", &Session::world);
    module.def("retire", &hoop_torch::CompletionQueue::retire_all,
               py::call_guard<py::gil_scoped_release>());
}
