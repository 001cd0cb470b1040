// bench/peers/bench_gloo.cc - runs Gloo over TCP in the measuring loop
//
// Usage: bench_gloo PEER TRANSPORT OPS SCHEDULE, with RANK, SIZE and STORE (a
// folder that all ranks see) in the environment. TRANSPORT says which algorithm
// an allreduce uses and how the sockets are driven:
//   tcp-ring, tcp-bcube   gloo::allreduce(), which torch.distributed calls
//   tcp-hd                the older classes, by halving and doubling: allreduce
//                         and reduce_scatter, which exists only there
//   tcp-hd-busy           the same, with the calling thread polling the sockets
// ADDRESS in the environment is the address to listen on (default 127.0.0.1).

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "driver.h"

namespace {

using Reduction = void (*)(void *, const void *, const void *, size_t);

std::shared_ptr<gloo::rendezvous::Context> context;
std::string transport;
std::function<void()> prepared;
std::function<void()> barrier;

// The older classes and the newer functions set different sizes for the
// sockets' send buffers. A run uses only one family, since the numbers of the
// second would depend on the first.
bool
is_older()
{
    return transport.rfind("tcp-hd", 0) == 0;
}

template <typename T>
std::function<void()>
older_allreduce(T *numbers, size_t count, const gloo::ReductionFunction<T> *how)
{
    auto algorithm = std::make_shared<gloo::AllreduceHalvingDoubling<T>>(
        context, std::vector<T *>{numbers}, (int)count, how);
    return [algorithm] { algorithm->run(); };
}

std::function<void()>
allreduce(float *numbers, size_t count)
{
    if (is_older())
        return older_allreduce(numbers, count,
                               gloo::ReductionFunction<float>::sum);
    auto options = std::make_shared<gloo::AllreduceOptions>(context);
    options->setOutput(numbers, count);
    options->setReduceFunction(static_cast<Reduction>(&gloo::sum<float>));
    options->setAlgorithm(transport == "tcp-ring"
                              ? gloo::AllreduceOptions::Algorithm::RING
                              : gloo::AllreduceOptions::Algorithm::BCUBE);
    return [options] { gloo::allreduce(*options); };
}

std::function<void()>
allgather(const struct driver *driver, size_t part)
{
    auto options = std::make_shared<gloo::AllgatherOptions>(context);
    options->setInput(driver->other, part);
    options->setOutput(driver->buffer, part * driver->size);
    return [options] { gloo::allgather(*options); };
}

std::function<void()>
reduce_scatter(const struct driver *driver, size_t part)
{
    auto algorithm =
        std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
            context, std::vector<float *>{driver->buffer},
            (int)part * driver->size,
            std::vector<int>(driver->size, (int)part));
    return [algorithm] { algorithm->run(); };
}

std::function<void()>
broadcast(float *numbers, size_t count)
{
    auto options = std::make_shared<gloo::BroadcastOptions>(context);
    options->setOutput(numbers, count);
    options->setRoot(0);
    return [options] { gloo::broadcast(*options); };
}

std::function<void()>
alltoall(const struct driver *driver, size_t part)
{
    auto options = std::make_shared<gloo::AlltoallOptions>(context);
    options->setInput(driver->other, part * driver->size);
    options->setOutput(driver->buffer, part * driver->size);
    return [options] { gloo::alltoall(*options); };
}

// Gloo requires an output buffer from every rank and overwrites it, so ranks
// other than 0 give one that is not checked.
std::function<void()>
reduce(const struct driver *driver, size_t count)
{
    static std::vector<float> unused;
    float *output = driver->buffer;
    if (driver->rank != 0) {
        unused.resize(count);
        output = unused.data();
    }
    auto options = std::make_shared<gloo::ReduceOptions>(context);
    options->setInput(driver->other, count);
    options->setOutput(output, count);
    options->setRoot(0);
    options->setReduceFunction(static_cast<Reduction>(&gloo::sum<float>));
    return [options] { gloo::reduce(*options); };
}

// Rank 0 sends first. Ranks other than 0 and 1 do nothing.
std::function<void()>
pingpong(const struct driver *driver, size_t count)
{
    const int rank = driver->rank;
    std::shared_ptr<gloo::transport::UnboundBuffer> message =
        context->createUnboundBuffer(driver->buffer, count * sizeof(float));
    return [rank, message] {
        for (int turn = 0; turn < 2 && rank < 2; turn++) {
            if (turn == rank) {
                message->send(1 - rank, 7);
                message->waitSend();
            } else {
                message->recv(1 - rank, 7);
                message->waitRecv();
            }
        }
    };
}

void
gloo_prepare(struct driver *driver, const char *op, size_t count)
{
    const size_t part = count / driver->size;

    if (std::string(op) == "allreduce")
        prepared = allreduce(driver->buffer, count);
    else if (std::string(op) == "allgather")
        prepared = allgather(driver, part);
    else if (std::string(op) == "alltoall")
        prepared = alltoall(driver, part);
    else if (std::string(op) == "reduce")
        prepared = reduce(driver, count);
    else if (std::string(op) == "pingpong")
        prepared = pingpong(driver, count);
    else if (std::string(op) == "reduce_scatter")
        prepared = reduce_scatter(driver, part);
    else if (std::string(op) == "broadcast")
        prepared = broadcast(driver->buffer, count);
    else
        prepared = barrier;
}

void
gloo_run(struct driver *, const char *, size_t)
{
    prepared();
}

void
gloo_barrier(struct driver *)
{
    barrier();
}

void
gloo_maximize(struct driver *, double *numbers, int n)
{
    if (is_older()) {
        older_allreduce(numbers, n, gloo::ReductionFunction<double>::max)();
        return;
    }
    gloo::AllreduceOptions options(context);
    options.setOutput(numbers, n);
    options.setReduceFunction(static_cast<Reduction>(&gloo::max<double>));
    gloo::allreduce(options);
}

void
connect(int rank, int size)
{
    const char *address = getenv("ADDRESS");
    auto device = gloo::transport::tcp::CreateDevice(
        gloo::transport::tcp::attr(address ? address : "127.0.0.1"));
    gloo::rendezvous::FileStore store(getenv("STORE"));

    context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->connectFullMesh(store, device);
    if (transport == "tcp-hd-busy")
        for (int peer = 0; peer < size; peer++)
            if (peer != rank)
                context->getPair(peer)->setSync(true, true);
}

} // namespace

int
main(int argc, char **argv)
{
    static float token;
    struct driver driver = {};

    if (argc != 5 || !getenv("RANK") || !getenv("SIZE") || !getenv("STORE"))
        return 64;
    driver.rank = atoi(getenv("RANK"));
    driver.size = atoi(getenv("SIZE"));
    driver.prepare = gloo_prepare;
    driver.run = gloo_run;
    driver.barrier = gloo_barrier;
    driver.maximize = gloo_maximize;
    driver.scatters_in_place = 1;
    transport = argv[2];
    connect(driver.rank, driver.size);
    if (is_older())
        barrier =
            older_allreduce(&token, 1, gloo::ReductionFunction<float>::sum);
    else
        barrier = [] {
            gloo::BarrierOptions options(context);
            gloo::barrier(options);
        };
    driver_run(&driver, argv + 1);
    barrier();
    return 0;
}
