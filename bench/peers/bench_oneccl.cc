// bench/peers/bench_oneccl.cc - runs oneCCL in the measuring loop
//
// Usage: bench_oneccl PEER TRANSPORT OPS SCHEDULE, with STORE (a folder that all
// ranks see) in the environment, and the rank and the number of ranks as
// launch.sh gives them (RANK, SIZE) or Intel's mpirun (PMI_RANK, PMI_SIZE).
// CCL_ATL_TRANSPORT=ofi is for sockets, and mpi for memory. It has no pingpong:
// a send without a GPU's stream fails.

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include <oneapi/ccl.hpp>

#include "driver.h"

namespace {

std::unique_ptr<ccl::communicator> world;

void
oneccl_run(struct driver *driver, const char *name, size_t count)
{
    const std::string op = name;
    const size_t part = count / (size_t)driver->size;
    float *buffer = driver->buffer;
    float *other = driver->other;

    if (op == "allreduce")
        ccl::allreduce(buffer, buffer, count, ccl::reduction::sum, *world)
            .wait();
    else if (op == "allgather")
        ccl::allgather(other, buffer, part, *world).wait();
    else if (op == "alltoall")
        ccl::alltoall(other, buffer, part, *world).wait();
    else if (op == "reduce")
        ccl::reduce(other, buffer, count, ccl::reduction::sum, 0, *world)
            .wait();
    else if (op == "reduce_scatter")
        ccl::reduce_scatter(buffer, other, part, ccl::reduction::sum, *world)
            .wait();
    else if (op == "broadcast")
        ccl::broadcast(buffer, count, 0, *world).wait();
    else
        ccl::barrier(*world).wait();
}

void
oneccl_barrier(struct driver *)
{
    ccl::barrier(*world).wait();
}

void
oneccl_maximize(struct driver *, double *numbers, int n)
{
    ccl::allreduce(numbers, numbers, (size_t)n, ccl::reduction::max, *world)
        .wait();
}

// Rank 0 writes its address to a file that appears as a whole.
std::shared_ptr<ccl::kvs>
rendezvous(int rank)
{
    const std::string path = std::string(getenv("STORE")) + "/oneccl";
    if (rank == 0) {
        auto kvs = ccl::create_main_kvs();
        const auto address = kvs->get_address();
        std::ofstream(path + ".part", std::ios::binary)
            .write(address.data(), (std::streamsize)address.size());
        rename((path + ".part").c_str(), path.c_str());
        return kvs;
    }
    std::ifstream file(path, std::ios::binary);
    for (int tries = 0; !file && tries < 3000; tries++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        file.open(path, std::ios::binary);
    }
    ccl::kvs::address_type address{};
    file.read(address.data(), (std::streamsize)address.size());
    return ccl::create_kvs(address);
}

int
number(const char *name, const char *other)
{
    const char *text = getenv(name);
    if (!text)
        text = getenv(other);
    return text ? atoi(text) : -1;
}

} // namespace

int
main(int argc, char **argv)
{
    struct driver driver = {};

    driver.rank = number("PMI_RANK", "RANK");
    driver.size = number("PMI_SIZE", "SIZE");
    if (argc != 5 || driver.rank < 0 || driver.size < 1 || !getenv("STORE"))
        return 64;
    ccl::init();
    world = std::make_unique<ccl::communicator>(ccl::create_communicator(
        driver.size, driver.rank, rendezvous(driver.rank)));
    driver.run = oneccl_run;
    driver.barrier = oneccl_barrier;
    driver.maximize = oneccl_maximize;
    driver_run(&driver, argv + 1);
    world.reset();
    return 0;
}
