/* python/torch/src/collectives.cpp - torch's collectives, made of hoop's */

#include <ATen/core/LegacyTypeDispatch.h>
#include <algorithm>

#include "backend.hpp"
#include "error.hpp"
#include "tensors.hpp"
#include "titles.hpp"

namespace hoop_torch
{

using Tensors = std::vector<at::Tensor>;

/* While an object of this class exists, no other collective of the group
 * begins. */
class HoopBackend::Turn
{
  public:
    Turn(HoopBackend &backend, bool is_blocking) : backend_(backend)
    {
        backend.check_process();
        TORCH_CHECK_WITH(
            DistBackendError, !backend.is_in_call_of_this_thread(),
            "hoop: a signal handler has called a collective of the group in "
            "whose call it runs, which goes on when the handler has returned");
        backend.order_.lock();
        if (is_blocking)
            backend.blocking_thread_ = std::this_thread::get_id();
    }

    ~Turn()
    {
        backend_.blocking_thread_ = std::thread::id();
        backend_.order_.unlock();
        if (backend_.is_shut_down_)
            backend_.close();
    }

    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

  private:
    HoopBackend &backend_;
};

class HoopBackend::Collective
{
  public:
    Collective(HoopBackend &backend,
               c10d::OpType type,
               const std::string &title,
               const Tensors &inputs,
               const Tensors &outputs,
               std::chrono::milliseconds timeout,
               bool is_async)
        : backend_(backend),
          stack_(backend.recorder_ ? backend.recorder_->stack() : nullptr),
          is_blocking_(!is_async), turn_(backend, is_blocking_),
          work_(backend.new_work(type, title, inputs, ++backend.sequence_))
    {
        work_->outputs = outputs;
        backend_.use_timeout(timeout);
        if (backend_.recorder_)
            work_->record = backend_.recorder_->begin(
                {backend_.recorded(), type, title, backend_.sequence_,
                 std::chrono::milliseconds(backend_.timeout_in_use_), inputs,
                 outputs},
                std::move(stack_));
    }

    /* If an exception came between two calls of hoop, the operations that were
     * started still have to end. */
    ~Collective()
    {
        if (!is_ended_ && !work_->ops.empty())
            backend_.submit(work_);
        else if (!is_ended_ && work_->record != 0)
            backend_.recorder_->end(work_->record, false);
    }

    HoopWork &work()
    {
        return *work_;
    }

    /* Calls the blocking or the starting form of a function of hoop. A work may
     * consist of several calls; after one that failed the others are not
     * made. */
    template <auto Run, auto Start, class... Arguments>
    void call(Arguments... arguments)
    {
        hoop_op_t *op = nullptr;

        if (work_->failure)
            return;
        if (is_blocking_) {
            const InterruptibleScope scope;
            work_->note(Run(arguments..., backend_.comm_));
            return;
        }
        work_->note(Start(arguments..., backend_.comm_, &op));
        if (op)
            work_->ops.push_back(op);
    }

    c10::intrusive_ptr<c10d::Work> end()
    {
        is_ended_ = true;
        if (!work_->ops.empty())
            return backend_.submit(work_);
        work_->complete();
        hook_call_.work = work_;
        if (work_->failure)
            std::rethrow_exception(work_->failure);
        return work_;
    }

  private:
    /* Calls the hook of an ended work after the lock is released, since the
     * hook may call the group. */
    struct HookCall {
        c10::intrusive_ptr<HoopWork> work;

        ~HookCall()
        {
            if (work)
                work->call_hook();
        }
    };

    HoopBackend &backend_;
    HookCall hook_call_;
    FlightRecorder::Stack stack_;
    const bool is_blocking_;
    const Turn turn_;
    const c10::intrusive_ptr<HoopWork> work_;
    bool is_ended_ = false;
};

namespace
{

Tensors
concatenated(const std::vector<Tensors> &lists)
{
    Tensors all;

    for (const Tensors &list : lists)
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

/* Returns the number of elements of each tensor, as hoop counts them. */
std::vector<size_t>
counts_of(const Tensors &tensors, const Element &element)
{
    std::vector<size_t> counts;

    for (const at::Tensor &tensor : tensors)
        counts.push_back(size_t(tensor.numel()) * element.per_element);
    return counts;
}

size_t
bytes_of(const Tensors &tensors)
{
    return count_of(tensors) * tensors[0].element_size();
}

bool
are_equal(const std::vector<size_t> &counts)
{
    return std::all_of(counts.begin(), counts.end(),
                       [&](size_t count) { return count == counts[0]; });
}

void
check_same_dtype(const at::Tensor &a, const at::Tensor &b)
{
    CHECK_ARGUMENT(a.scalar_type() == b.scalar_type(), "hoop: the input is of ",
                   a.scalar_type(), ", and the output of ", b.scalar_type());
}

/* Returns the number of elements for each rank. Splits are in rows; without
 * splits all ranks get equally many. */
std::vector<size_t>
counts_of_splits(const at::Tensor &tensor,
                 const std::vector<int64_t> &splits,
                 size_t n_ranks,
                 const Element &element)
{
    const size_t n = size_t(tensor.numel()) * element.per_element;
    std::vector<size_t> counts;
    int64_t n_rows = 0;

    if (splits.empty()) {
        CHECK_ARGUMENT(tensor.dim() > 0 &&
                           size_t(tensor.size(0)) % n_ranks == 0,
                       "hoop: ", tensor.dim() == 0 ? 0 : tensor.size(0),
                       " rows of alltoall cannot be divided among ", n_ranks,
                       " ranks: give splits");
        return std::vector<size_t>(n_ranks, n / n_ranks);
    }
    CHECK_ARGUMENT(splits.size() == n_ranks && tensor.dim() > 0,
                   "hoop: ", splits.size(), " splits of alltoall, and ",
                   n_ranks, " ranks");
    for (int64_t rows : splits) {
        CHECK_ARGUMENT(rows >= 0, "hoop: a split of alltoall is ", rows);
        n_rows += rows;
        counts.push_back(tensor.size(0) == 0
                             ? 0
                             : size_t(rows) * (n / size_t(tensor.size(0))));
    }
    CHECK_ARGUMENT(n_rows == tensor.size(0),
                   "hoop: the splits of alltoall are of ", n_rows,
                   " rows, and the tensor has ", tensor.size(0));
    return counts;
}

void
check_count(size_t n, size_t expected, const char *what)
{
    CHECK_ARGUMENT(n == expected, "hoop: there are ", n, " ", what, ", and ",
                   expected, " are needed");
}

void
check_root_tensor(int64_t index, size_t n_tensors)
{
    CHECK_ARGUMENT(index >= 0 && size_t(index) < n_tensors,
                   "hoop: invalid root tensor ", index, " of ", n_tensors);
}

/* Checks the lists of tensors of a call with a root. Only the root gives a
 * list, of one tensor for each rank. side is "input" or "output". */
void
check_root_lists(const std::vector<Tensors> &lists,
                 bool is_root,
                 size_t n_ranks,
                 const char *call,
                 const char *side)
{
    if (!is_root) {
        CHECK_ARGUMENT(lists.empty(), "hoop: ", call, " requires empty ", side,
                       " on non-root");
        return;
    }
    CHECK_ARGUMENT(lists.size() == 1, "hoop: ", call,
                   " requires a single-element ", side, " list on the root");
    CHECK_ARGUMENT(lists[0].size() == n_ranks, "hoop: ", call, ": Incorrect ",
                   side, " list size ", lists[0].size(), ". ",
                   side[0] == 'i' ? "Input" : "Output", " list size should be ",
                   n_ranks);
}

void
check_single(const Tensors &tensors, const char *call, const char *what)
{
    CHECK_ARGUMENT(tensors.size() == 1, "hoop: ", call,
                   " requires a single-element ", what, ", and it has ",
                   tensors.size());
}

void
check_sparse(const Tensors &tensors)
{
    for (const at::Tensor &tensor : tensors) {
        CHECK_ARGUMENT(tensor.is_sparse() && tensor.is_cpu(),
                       "hoop: invalid tensor layout: a sparse allreduce needs "
                       "sparse COO tensors on a CPU");
        CHECK_ARGUMENT(tensor.scalar_type() == tensors[0].scalar_type(),
                       "hoop: invalid tensor type of a sparse allreduce: ",
                       tensor.scalar_type(), ", and the first is ",
                       tensors[0].scalar_type());
        CHECK_ARGUMENT(
            tensor.sizes() == tensors[0].sizes(),
            "hoop: invalid tensor size of a sparse allreduce: ", tensor.sizes(),
            ", and the first is ", tensors[0].sizes());
    }
}

/* Reduces the tensors of this rank to the one that it contributes. */
at::Tensor
combined(const Tensors &tensors, const c10d::ReduceOp &op)
{
    const at::AutoDispatchBelowADInplaceOrView guard;
    at::Tensor sum = scaled(tensors[0], op);

    for (size_t i = 1; i < tensors.size(); i++) {
        const at::Tensor next = scaled(tensors[i], op);

        switch (op.op_) {
        case c10d::ReduceOp::PRODUCT:
            sum = sum.mul(next);
            break;
        case c10d::ReduceOp::MIN:
            sum = at::minimum(sum, next);
            break;
        case c10d::ReduceOp::MAX:
            sum = at::maximum(sum, next);
            break;
        case c10d::ReduceOp::BAND:
            sum = sum.bitwise_and(next);
            break;
        case c10d::ReduceOp::BOR:
            sum = sum.bitwise_or(next);
            break;
        case c10d::ReduceOp::BXOR:
            sum = sum.bitwise_xor(next);
            break;
        default:
            sum = sum.add(next);
        }
    }
    return sum;
}

/* hoop has divided by the number of ranks; this divides by the number of
 * tensors per rank, too. */
void
average_at_end(HoopWork &work,
               const at::Tensor &tensor,
               const c10d::ReduceOp &op,
               size_t n_tensors)
{
    if (op.op_ != c10d::ReduceOp::AVG || n_tensors == 1)
        return;
    work.epilogues.emplace_back([tensor, n_tensors] {
        const at::AutoDispatchBelowADInplaceOrView guard;
        const bool is_integral = at::isIntegralType(tensor.scalar_type(), true);

        copy_elements(tensor, is_integral
                                  ? tensor.div(int64_t(n_tensors), "trunc")
                                  : tensor.div(int64_t(n_tensors)));
    });
}

/* Copies the result from the first tensor to the others. */
void
copy_first_at_end(HoopWork &work, const Tensors &tensors, size_t first)
{
    work.epilogues.emplace_back([tensors, first] {
        for (size_t i = 0; i < tensors.size(); i++)
            if (i != first)
                copy_elements(tensors[i], tensors[first]);
    });
}

bool
needs_no_copy(const Tensors &tensors, const c10d::ReduceOp &op)
{
    return tensors.size() == 1 && op.op_ != c10d::ReduceOp::PREMUL_SUM;
}

} // namespace

c10::intrusive_ptr<c10d::Work>
HoopBackend::broadcast(Tensors &tensors, const c10d::BroadcastOptions &options)
{
    check_rank(options.rootRank, "root rank");
    check_root_tensor(options.rootTensor, tensors.size());
    check_alike(tensors, "broadcast");
    const size_t first = size_t(options.rootTensor);
    const Element element = moved_element(tensors[first]);
    Collective collective(*this, c10d::OpType::BROADCAST, titles_.broadcast,
                          tensors, tensors, options.timeout, options.asyncOp);
    HoopWork &work = collective.work();

    collective.call<hoop_broadcast, hoop_broadcast_start>(
        static_cast<const void *>(HOOP_IN_PLACE),
        packed_in_place(work, {tensors[first]}),
        size_t(tensors[first].numel()) * element.per_element, element.dtype,
        uint32_t(options.rootRank));
    if (tensors.size() > 1)
        copy_first_at_end(work, tensors, first);
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::allreduce(Tensors &tensors, const c10d::AllreduceOptions &options)
{
    if (!tensors.empty() && tensors[0].is_sparse())
        return allreduce_sparse(tensors, options);
    check_alike(tensors, "allreduce");
    const Element element = combined_element(tensors[0]);
    const hoop_reduce_op op = operator_of(options.reduceOp);
    const size_t count = size_t(tensors[0].numel());
    Collective collective(*this, c10d::OpType::ALLREDUCE, titles_.all_reduce,
                          tensors, tensors, options.timeout, options.asyncOp);
    HoopWork &work = collective.work();

    if (needs_no_copy(tensors, options.reduceOp)) {
        collective.call<hoop_allreduce, hoop_allreduce_start>(
            static_cast<const void *>(HOOP_IN_PLACE),
            packed_in_place(work, tensors), count, element.dtype, op);
        return collective.end();
    }
    const at::Tensor input = combined(tensors, options.reduceOp);
    collective.call<hoop_allreduce, hoop_allreduce_start>(
        packed_input(work, {input}), packed_output(work, {tensors[0]}), count,
        element.dtype, op);
    average_at_end(work, tensors[0], options.reduceOp, tensors.size());
    copy_first_at_end(work, tensors, 0);
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::allreduce_coalesced(Tensors &tensors,
                                 const c10d::AllreduceCoalescedOptions &options)
{
    check_tensors(tensors, "allreduce_coalesced");
    const hoop_dtype dtype = combined_element(tensors[0]).dtype;
    const hoop_reduce_op op = operator_of(options.reduceOp);
    Collective collective(*this, c10d::OpType::ALLREDUCE_COALESCED,
                          titles_.all_reduce, tensors, tensors, options.timeout,
                          options.asyncOp);
    HoopWork &work = collective.work();
    Tensors inputs;

    if (options.reduceOp.op_ != c10d::ReduceOp::PREMUL_SUM) {
        collective.call<hoop_allreduce, hoop_allreduce_start>(
            static_cast<const void *>(HOOP_IN_PLACE),
            packed_in_place(work, tensors), count_of(tensors), dtype, op);
        return collective.end();
    }
    for (const at::Tensor &tensor : tensors)
        inputs.push_back(scaled(tensor, options.reduceOp));
    collective.call<hoop_allreduce, hoop_allreduce_start>(
        packed_input(work, inputs), packed_output(work, tensors),
        count_of(tensors), dtype, op);
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::reduce(Tensors &tensors, const c10d::ReduceOptions &options)
{
    check_rank(options.rootRank, "root rank");
    check_root_tensor(options.rootTensor, tensors.size());
    check_single(tensors, "reduce", "tensor list");
    check_tensors(tensors, "reduce");
    const at::Tensor &tensor = tensors[0];
    const Element element = combined_element(tensor);
    Collective collective(*this, c10d::OpType::REDUCE, titles_.reduce, tensors,
                          tensors, options.timeout, options.asyncOp);
    HoopWork &work = collective.work();
    const at::Tensor input = scaled(tensor, options.reduceOp);
    void *const recv =
        options.rootRank == rank_ ? packed_output(work, tensors) : nullptr;

    collective.call<hoop_reduce, hoop_reduce_start>(
        packed_input(work, {input}), recv, size_t(tensor.numel()),
        element.dtype, operator_of(options.reduceOp),
        uint32_t(options.rootRank));
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::allgather(std::vector<Tensors> &outputs,
                       Tensors &inputs,
                       const c10d::AllgatherOptions &options)
{
    CHECK_ARGUMENT(!inputs.empty(),
                   "hoop: allgather requires non-empty input tensor list");
    check_tensors(inputs, "the input of allgather");
    CHECK_ARGUMENT(outputs.size() == inputs.size(),
                   "hoop: allgather requires input/output tensor lists to have "
                   "the same length");
    const size_t n = size_t(size_) * inputs.size();
    for (const Tensors &list : outputs) {
        CHECK_ARGUMENT(list.size() == n,
                       "hoop: invalid output tensor list of allgather: it has ",
                       list.size(), " tensors, and ", n, " are needed");
        check_tensors(list, "the output of allgather");
        check_same_dtype(inputs[0], list[0]);
    }
    const Element element = moved_element(inputs[0]);
    std::vector<size_t> counts(size_t(size_), 0);
    for (size_t i = 0; i < n; i++)
        counts[i / inputs.size()] +=
            size_t(outputs[0][i].numel()) * element.per_element;
    check_count(
        count_of(inputs) * element.per_element, counts[size_t(rank_)],
        "elements (or bytes) to send by allgather: invalid tensor size");
    Collective collective(*this, c10d::OpType::ALLGATHER, titles_.all_gather,
                          inputs, outputs[0], options.timeout, options.asyncOp);
    HoopWork &work = collective.work();
    void *const recv = packed_output(work, outputs[0]);
    const void *const send =
        packed_input(work, inputs, {recv, bytes_of(outputs[0])});

    work.outputs = concatenated(outputs);
    work.n_lists = outputs.size();
    if (are_equal(counts))
        collective.call<hoop_allgather, hoop_allgather_start>(
            send, recv, counts[0], element.dtype);
    else
        collective.call<hoop_allgatherv, hoop_allgatherv_start>(
            send, recv, counts.data(), element.dtype);
    for (size_t i = 1; i < outputs.size(); i++)
        work.epilogues.emplace_back([from = outputs[0], to = outputs[i]] {
            for (size_t j = 0; j < from.size(); j++)
                copy_elements(to[j], from[j]);
        });
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::_allgather_base(at::Tensor &output,
                             at::Tensor &input,
                             const c10d::AllgatherOptions &options)
{
    Tensors outputs = {output}, inputs = {input};

    return allgather_into_tensor_coalesced(outputs, inputs, options);
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::allgather_into_tensor_coalesced(
    Tensors &outputs,
    Tensors &inputs,
    const c10d::AllgatherOptions &options)
{
    check_count(outputs.size(), inputs.size(), "outputs of allgather");
    for (size_t i = 0; i < inputs.size(); i++) {
        check_tensors({inputs[i]}, "the input of allgather");
        check_tensors({outputs[i]}, "the output of allgather");
        check_same_dtype(inputs[i], outputs[i]);
        check_count(size_t(outputs[i].numel()),
                    size_t(inputs[i].numel()) * size_t(size_),
                    "elements in the output of allgather");
    }
    Collective collective(*this, c10d::OpType::_ALLGATHER_BASE,
                          titles_.all_gather, inputs, outputs, options.timeout,
                          options.asyncOp);
    HoopWork &work = collective.work();

    for (size_t i = 0; i < inputs.size(); i++) {
        const Element element = moved_element(inputs[i]);
        const size_t n_bytes = inputs[i].nbytes();
        void *const recv = packed_output(work, {outputs[i]});
        const bool is_in_place =
            inputs[i].is_contiguous() &&
            inputs[i].const_data_ptr() ==
                static_cast<char *>(recv) + size_t(rank_) * n_bytes;

        collective.call<hoop_allgather, hoop_allgather_start>(
            is_in_place ? static_cast<const void *>(HOOP_IN_PLACE)
                        : packed_input(work, {inputs[i]},
                                       {recv, n_bytes * size_t(size_)}),
            recv, size_t(inputs[i].numel()) * element.per_element,
            element.dtype);
    }
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::allgather_coalesced(std::vector<Tensors> &outputs,
                                 Tensors &inputs,
                                 const c10d::AllgatherOptions &options)
{
    CHECK_ARGUMENT(
        outputs.size() == size_t(size_),
        "hoop: output lists should be equal to world size: there are ",
        outputs.size(), ", and ", size_, " ranks");
    for (const Tensors &list : outputs)
        check_count(list.size(), inputs.size(), "outputs for a rank");
    for (size_t i = 0; i < inputs.size(); i++)
        for (const Tensors &list : outputs) {
            CHECK_ARGUMENT(list[i].sizes() == inputs[i].sizes(),
                           "hoop: invalid size of output tensor at index ", i,
                           " of allgather_coalesced: ", list[i].sizes(),
                           ", and the input is ", inputs[i].sizes());
            CHECK_ARGUMENT(list[i].scalar_type() == inputs[i].scalar_type(),
                           "hoop: invalid tensor type at index ", i,
                           " of allgather_coalesced: ", list[i].scalar_type(),
                           ", and the input is ", inputs[i].scalar_type());
            check_tensors({inputs[i], list[i]}, "allgather_coalesced");
        }
    const Tensors all = concatenated(outputs);
    Collective collective(*this, c10d::OpType::ALLGATHER_COALESCED,
                          titles_.all_gather, inputs, all, options.timeout,
                          options.asyncOp);
    HoopWork &work = collective.work();

    work.n_lists = outputs.size();
    for (size_t i = 0; i < inputs.size(); i++) {
        const Element element = moved_element(inputs[i]);
        Tensors of_ranks;

        for (const Tensors &list : outputs)
            of_ranks.push_back(list[i]);
        void *const recv = packed_output(work, of_ranks);
        collective.call<hoop_allgather, hoop_allgather_start>(
            packed_input(work, {inputs[i]}, {recv, bytes_of(of_ranks)}), recv,
            size_t(inputs[i].numel()) * element.per_element, element.dtype);
    }
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::gather(std::vector<Tensors> &outputs,
                    Tensors &inputs,
                    const c10d::GatherOptions &options)
{
    const bool is_root = options.rootRank == rank_;

    check_rank(options.rootRank, "root rank");
    check_single(inputs, "gather", "input tensor list");
    check_root_lists(outputs, is_root, size_t(size_), "gather", "output");
    check_tensors(inputs, "the input of gather");
    if (is_root) {
        check_alike(outputs[0], "the output of gather");
        check_alike({inputs[0], outputs[0][0]}, "gather");
    }
    const Element element = moved_element(inputs[0]);
    Collective collective(*this, c10d::OpType::GATHER, titles_.gather, inputs,
                          is_root ? outputs[0] : Tensors(), options.timeout,
                          options.asyncOp);
    HoopWork &work = collective.work();
    void *recv = nullptr;
    Region apart;

    if (is_root) {
        recv = packed_output(work, outputs[0]);
        apart = {recv, bytes_of(outputs[0])};
    }
    collective.call<hoop_gather, hoop_gather_start>(
        packed_input(work, inputs, apart), recv,
        size_t(inputs[0].numel()) * element.per_element, element.dtype,
        uint32_t(options.rootRank));
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::scatter(Tensors &outputs,
                     std::vector<Tensors> &inputs,
                     const c10d::ScatterOptions &options)
{
    const bool is_root = options.rootRank == rank_;

    check_rank(options.rootRank, "root rank");
    check_single(outputs, "scatter", "output tensor list");
    check_root_lists(inputs, is_root, size_t(size_), "scatter", "input");
    check_tensors(outputs, "the output of scatter");
    if (is_root) {
        check_alike(inputs[0], "the input of scatter");
        check_alike({outputs[0], inputs[0][0]}, "scatter");
    }
    const Element element = moved_element(outputs[0]);
    Collective collective(*this, c10d::OpType::SCATTER, titles_.scatter,
                          is_root ? inputs[0] : Tensors(), outputs,
                          options.timeout, options.asyncOp);
    HoopWork &work = collective.work();
    void *const recv = packed_output(work, outputs);
    const void *const send =
        is_root ? packed_input(work, inputs[0], {recv, outputs[0].nbytes()})
                : nullptr;

    collective.call<hoop_scatter, hoop_scatter_start>(
        send, recv, size_t(outputs[0].numel()) * element.per_element,
        element.dtype, uint32_t(options.rootRank));
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::reduce_scatter(Tensors &outputs,
                            std::vector<Tensors> &inputs,
                            const c10d::ReduceScatterOptions &options)
{
    check_tensors(outputs, "the output of reduce_scatter");
    check_count(outputs.size(), 1, "outputs of reduce_scatter");
    check_count(inputs.size(), 1, "input lists of reduce_scatter");
    check_count(inputs[0].size(), size_t(size_), "inputs of reduce_scatter");
    check_tensors(inputs[0], "the input of reduce_scatter");
    check_same_dtype(inputs[0][0], outputs[0]);
    check_count(size_t(outputs[0].numel()),
                size_t(inputs[0][size_t(rank_)].numel()),
                "elements in the output of reduce_scatter");
    const Element element = combined_element(outputs[0]);
    const hoop_reduce_op op = operator_of(options.reduceOp);
    const std::vector<size_t> counts = counts_of(inputs[0], element);
    Collective collective(*this, c10d::OpType::REDUCE_SCATTER,
                          titles_.reduce_scatter, inputs[0], outputs,
                          options.timeout, options.asyncOp);
    HoopWork &work = collective.work();
    Tensors factors;
    for (const at::Tensor &tensor : inputs[0])
        factors.push_back(scaled(tensor, options.reduceOp));
    void *const recv = packed_output(work, outputs);
    const void *const send =
        packed_input(work, factors, {recv, outputs[0].nbytes()});

    if (are_equal(counts))
        collective.call<hoop_reduce_scatter, hoop_reduce_scatter_start>(
            send, recv, counts[0], element.dtype, op);
    else
        collective.call<hoop_reduce_scatterv, hoop_reduce_scatterv_start>(
            send, recv, counts.data(), element.dtype, op);
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::_reduce_scatter_base(at::Tensor &output,
                                  at::Tensor &input,
                                  const c10d::ReduceScatterOptions &options)
{
    Tensors outputs = {output}, inputs = {input};

    return reduce_scatter_tensor_coalesced(outputs, inputs, options);
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::reduce_scatter_tensor_coalesced(
    Tensors &outputs,
    Tensors &inputs,
    const c10d::ReduceScatterOptions &options)
{
    check_count(outputs.size(), inputs.size(), "outputs of reduce_scatter");
    for (size_t i = 0; i < inputs.size(); i++) {
        check_tensors({inputs[i]}, "the input of reduce_scatter");
        check_tensors({outputs[i]}, "the output of reduce_scatter");
        check_same_dtype(inputs[i], outputs[i]);
        check_count(size_t(inputs[i].numel()),
                    size_t(outputs[i].numel()) * size_t(size_),
                    "elements in the input of reduce_scatter");
        combined_element(inputs[i]);
    }
    const hoop_reduce_op op = operator_of(options.reduceOp);
    Collective collective(*this, c10d::OpType::_REDUCE_SCATTER_BASE,
                          titles_.reduce_scatter, inputs, outputs,
                          options.timeout, options.asyncOp);
    HoopWork &work = collective.work();

    for (size_t i = 0; i < inputs.size(); i++) {
        void *const recv = packed_output(work, {outputs[i]});

        collective.call<hoop_reduce_scatter, hoop_reduce_scatter_start>(
            packed_input(work, {scaled(inputs[i], options.reduceOp)},
                         {recv, outputs[i].nbytes()}),
            recv, size_t(outputs[i].numel()), combined_element(inputs[i]).dtype,
            op);
    }
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::alltoall_base(at::Tensor &output,
                           at::Tensor &input,
                           std::vector<int64_t> &output_splits,
                           std::vector<int64_t> &input_splits,
                           const c10d::AllToAllOptions &options)
{
    check_tensors({input}, "the input of alltoall");
    check_tensors({output}, "the output of alltoall");
    check_same_dtype(input, output);
    if (input_splits.empty() && output_splits.empty())
        check_count(size_t(output.numel()), size_t(input.numel()),
                    "elements in the output of alltoall");
    const Element element = moved_element(input);
    const auto send_counts =
        counts_of_splits(input, input_splits, size_t(size_), element);
    const auto recv_counts =
        counts_of_splits(output, output_splits, size_t(size_), element);
    Collective collective(*this, c10d::OpType::ALLTOALL_BASE,
                          titles_.all_to_all, {input}, {output},
                          options.timeout, options.asyncOp);
    HoopWork &work = collective.work();
    void *const recv = packed_output(work, {output});
    const void *const send =
        packed_input(work, {input}, {recv, output.nbytes()});

    if (input_splits.empty() && output_splits.empty())
        collective.call<hoop_alltoall, hoop_alltoall_start>(
            send, recv, send_counts[0], element.dtype);
    else
        collective.call<hoop_alltoallv, hoop_alltoallv_start>(
            send, send_counts.data(), recv, recv_counts.data(), element.dtype);
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::alltoall(Tensors &outputs,
                      Tensors &inputs,
                      const c10d::AllToAllOptions &options)
{
    check_count(inputs.size(), size_t(size_), "inputs of alltoall");
    check_count(outputs.size(), size_t(size_), "outputs of alltoall");
    check_tensors(inputs, "the input of alltoall");
    check_tensors(outputs, "the output of alltoall");
    check_same_dtype(inputs[0], outputs[0]);
    const Element element = moved_element(inputs[0]);
    const auto send_counts = counts_of(inputs, element);
    const auto recv_counts = counts_of(outputs, element);
    Collective collective(*this, c10d::OpType::ALLTOALL, titles_.all_to_all,
                          inputs, outputs, options.timeout, options.asyncOp);
    HoopWork &work = collective.work();
    void *const recv = packed_output(work, outputs);
    const void *const send =
        packed_input(work, inputs, {recv, bytes_of(outputs)});

    collective.call<hoop_alltoallv, hoop_alltoallv_start>(
        send, send_counts.data(), recv, recv_counts.data(), element.dtype);
    return collective.end();
}

c10::intrusive_ptr<c10d::Work>
HoopBackend::barrier(const c10d::BarrierOptions &options)
{
    Collective collective(*this, c10d::OpType::BARRIER, titles_.barrier, {}, {},
                          options.timeout, options.asyncOp);

    collective.call<hoop_barrier, hoop_barrier_start>();
    return collective.end();
}

/*
 * The entries of all ranks are gathered and added. A blocking call gathers
 * their numbers first, since the size of the memory depends on them.
 */
c10::intrusive_ptr<c10d::Work>
HoopBackend::allreduce_sparse(Tensors &tensors,
                              const c10d::AllreduceOptions &options)
{
    check_sparse(tensors);
    CHECK_ARGUMENT(options.reduceOp.op_ == c10d::ReduceOp::SUM,
                   "hoop: unsupported reduction operation: a sparse allreduce "
                   "can only sum");
    const at::AutoDispatchBelowADInplaceOrView guard;
    const at::Tensor own = combined(tensors, options.reduceOp).coalesce();
    const at::Tensor indices = own._indices().t().contiguous();
    const at::Tensor values = own._values().contiguous();
    at::Tensor counts = at::empty({size_}, at::kLong);
    at::Tensor count = at::full({1}, own._nnz(), at::kLong);
    c10d::AllgatherOptions asked;

    asked.timeout = options.timeout;
    asked.asyncOp = false;
    _allgather_base(counts, count, asked);

    const Element element = moved_element(values);
    Collective collective(*this, c10d::OpType::_ALLREDUCE_SPARSE,
                          titles_.sparse_all_reduce, tensors, tensors,
                          options.timeout, options.asyncOp);
    HoopWork &work = collective.work();
    std::vector<size_t> index_counts, value_counts;
    int64_t total = 0;
    int64_t row = 1;
    for (int64_t i = 1; i < values.dim(); i++)
        row *= values.size(i);
    for (int rank = 0; rank < size_; rank++) {
        const int64_t n = counts.const_data_ptr<int64_t>()[rank];

        total += n;
        index_counts.push_back(size_t(n * indices.size(1)));
        value_counts.push_back(size_t(n * row) * element.per_element);
    }
    std::vector<int64_t> shape = values.sizes().vec();
    shape[0] = total;
    const at::Tensor got_indices =
        at::empty({total, indices.size(1)}, indices.options());
    const at::Tensor got_values = at::empty(shape, values.options());

    collective.call<hoop_allgatherv, hoop_allgatherv_start>(
        packed_input(work, {indices}), packed_output(work, {got_indices}),
        index_counts.data(), HOOP_INT64);
    collective.call<hoop_allgatherv, hoop_allgatherv_start>(
        packed_input(work, {values}), packed_output(work, {got_values}),
        value_counts.data(), element.dtype);
    work.epilogues.emplace_back([tensors, got_indices, got_values] {
        const at::AutoDispatchBelowADInplaceOrView below;
        const at::Tensor sum =
            at::sparse_coo_tensor(got_indices.t(), got_values,
                                  tensors[0].sizes(), tensors[0].options())
                .coalesce();

        for (const at::Tensor &tensor : tensors)
            copy_elements(tensor, sum);
    });
    return collective.end();
}

} // namespace hoop_torch
