/* python/torch/src/has/reconfigure.cpp - compiles where torch's Backend is that of 2.14 or later */

#include <torch/csrc/distributed/c10d/Backend.hpp>

auto has_reconfigure = &c10d::Backend::reconfigure;
auto has_abort_hook = &c10d::Backend::registerAbortHook;
auto has_gather = &c10d::Backend::gather_single;
auto has_clone = &c10d::Backend::Options::clone;
