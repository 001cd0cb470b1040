/* python/torch/src/tensors.cpp - torch's tensors as memory for hoop */

#include "tensors.hpp"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <algorithm>

#include "error.hpp"

namespace hoop_torch
{

namespace
{

/* Returns false if hoop has no such dtype. */
bool
find_dtype(at::ScalarType type, hoop_dtype *out_dtype)
{
    static const struct {
        at::ScalarType torch;
        hoop_dtype hoop;
    } rows[] = {
        {at::kFloat, HOOP_FLOAT32},
        {at::kDouble, HOOP_FLOAT64},
        {at::kHalf, HOOP_FLOAT16},
        {at::kBFloat16, HOOP_BFLOAT16},
        {at::kLong, HOOP_INT64},
        {at::kInt, HOOP_INT32},
        {at::kShort, HOOP_INT16},
        {at::kChar, HOOP_INT8},
        {at::kByte, HOOP_UINT8},
        {at::kUInt16, HOOP_UINT16},
        {at::kUInt32, HOOP_UINT32},
        {at::kUInt64, HOOP_UINT64},
        {at::kComplexFloat, HOOP_COMPLEX64},
        {at::kComplexDouble, HOOP_COMPLEX128},
        {at::kBool, HOOP_BOOL},
    };

    for (const auto &row : rows) {
        if (row.torch == type) {
            *out_dtype = row.hoop;
            return true;
        }
    }
    return false;
}

/* Returns whether the elements lie in order at data_ptr(). */
bool
is_plain(const at::Tensor &tensor)
{
    return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

/* Returns whether each tensor begins where the one before it ends. */
bool
are_adjacent(const std::vector<at::Tensor> &tensors)
{
    const char *next = static_cast<const char *>(tensors[0].const_data_ptr());

    for (const at::Tensor &tensor : tensors) {
        if (!is_plain(tensor) ||
            (tensor.numel() > 0 && tensor.const_data_ptr() != next))
            return false;
        next += tensor.nbytes();
    }
    return true;
}

bool
does_overlap(const std::vector<at::Tensor> &tensors, Region region)
{
    const char *const begin = static_cast<const char *>(region.begin);

    return std::any_of(
        tensors.begin(), tensors.end(), [&](const at::Tensor &tensor) {
            const auto *own =
                static_cast<const char *>(tensor.const_data_ptr());
            return own < begin + region.n_bytes &&
                   begin < own + tensor.nbytes();
        });
}

at::Tensor
packed_copy(const std::vector<at::Tensor> &tensors)
{
    at::Tensor packed = at::empty({int64_t(count_of(tensors))},
                                  tensors[0].options().requires_grad(false));
    int64_t offset = 0;

    for (const at::Tensor &tensor : tensors) {
        copy_elements(
            packed.narrow(0, offset, tensor.numel()).view(tensor.sizes()),
            tensor);
        offset += tensor.numel();
    }
    return packed;
}

void
unpack_at_end(HoopWork &work,
              const std::vector<at::Tensor> &tensors,
              const at::Tensor &packed)
{
    for (const at::Tensor &tensor : tensors)
        at::assert_no_internal_overlap(tensor);
    work.epilogues.emplace_back([tensors, packed] {
        int64_t offset = 0;

        for (const at::Tensor &tensor : tensors) {
            copy_elements(
                tensor,
                packed.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
            offset += tensor.numel();
        }
    });
}

} // namespace

Element
moved_element(const at::Tensor &tensor)
{
    hoop_dtype dtype;

    if (find_dtype(tensor.scalar_type(), &dtype))
        return {dtype, 1};
    return {HOOP_UINT8, size_t(tensor.element_size())};
}

Element
combined_element(const at::Tensor &tensor)
{
    hoop_dtype dtype;

    CHECK_ARGUMENT(find_dtype(tensor.scalar_type(), &dtype),
                   "hoop cannot reduce ", tensor.scalar_type(),
                   " tensors; convert them, e.g. to torch.bfloat16");
    return {dtype, 1};
}

hoop_reduce_op
operator_of(const c10d::ReduceOp &op)
{
    switch (op.op_) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::PREMUL_SUM:
        return HOOP_SUM;
    case c10d::ReduceOp::AVG:
        return HOOP_AVG;
    case c10d::ReduceOp::PRODUCT:
        return HOOP_PRODUCT;
    case c10d::ReduceOp::MIN:
        return HOOP_MIN;
    case c10d::ReduceOp::MAX:
        return HOOP_MAX;
    case c10d::ReduceOp::BAND:
        return HOOP_BAND;
    case c10d::ReduceOp::BOR:
        return HOOP_BOR;
    case c10d::ReduceOp::BXOR:
        return HOOP_BXOR;
    case c10d::ReduceOp::UNUSED:
        break;
    }
    CHECK_ARGUMENT(false, "hoop: ReduceOp ", int(op.op_), " is none");
}

at::Tensor
scaled(const at::Tensor &tensor, const c10d::ReduceOp &op)
{
    if (op.op_ != c10d::ReduceOp::PREMUL_SUM)
        return tensor;
    const auto *supplement =
        dynamic_cast<c10d::PreMulSumSupplement *>(op.supplement_.get());
    CHECK_ARGUMENT(supplement, "hoop: PREMUL_SUM has no factor");
    const at::AutoDispatchBelowADInplaceOrView guard;
    if (supplement->tensor_factor.defined())
        return tensor.mul(supplement->tensor_factor).to(tensor.scalar_type());
    return tensor.mul(supplement->double_factor).to(tensor.scalar_type());
}

void
check_tensors(const std::vector<at::Tensor> &tensors, const char *name)
{
    CHECK_ARGUMENT(!tensors.empty(), "hoop: ", name,
                   " requires non-empty tensor list");
    for (size_t i = 0; i < tensors.size(); i++) {
        CHECK_ARGUMENT(tensors[i].defined() && tensors[i].is_cpu() &&
                           tensors[i].layout() == at::kStrided,
                       "hoop: invalid tensor layout at index ", i, " of ", name,
                       ", an unsupported layout or device: it has to be dense, "
                       "on a CPU");
        CHECK_ARGUMENT(tensors[i].scalar_type() == tensors[0].scalar_type(),
                       "hoop: invalid tensor type at index ", i, " of ", name,
                       ": ", tensors[i].scalar_type(), ", and the first is ",
                       tensors[0].scalar_type(),
                       "; tensors must all have the same type");
    }
}

void
check_alike(const std::vector<at::Tensor> &tensors, const char *name)
{
    check_tensors(tensors, name);
    for (size_t i = 0; i < tensors.size(); i++)
        CHECK_ARGUMENT(tensors[i].sizes() == tensors[0].sizes(),
                       "hoop: invalid tensor size at index ", i, " of ", name,
                       ": ", tensors[i].sizes(), ", and the first is ",
                       tensors[0].sizes());
}

const void *
packed_input(HoopWork &work,
             const std::vector<at::Tensor> &tensors,
             Region apart)
{
    if (are_adjacent(tensors) && !does_overlap(tensors, apart)) {
        work.kept.insert(work.kept.end(), tensors.begin(), tensors.end());
        return tensors[0].const_data_ptr();
    }
    work.kept.push_back(packed_copy(tensors));
    return work.kept.back().const_data_ptr();
}

void *
packed_output(HoopWork &work, const std::vector<at::Tensor> &tensors)
{
    if (are_adjacent(tensors)) {
        work.kept.insert(work.kept.end(), tensors.begin(), tensors.end());
        return tensors[0].mutable_data_ptr();
    }
    work.kept.push_back(at::empty({int64_t(count_of(tensors))},
                                  tensors[0].options().requires_grad(false)));
    unpack_at_end(work, tensors, work.kept.back());
    return work.kept.back().mutable_data_ptr();
}

void *
packed_in_place(HoopWork &work, const std::vector<at::Tensor> &tensors)
{
    if (are_adjacent(tensors)) {
        work.kept.insert(work.kept.end(), tensors.begin(), tensors.end());
        return tensors[0].mutable_data_ptr();
    }
    work.kept.push_back(packed_copy(tensors));
    unpack_at_end(work, tensors, work.kept.back());
    return work.kept.back().mutable_data_ptr();
}

void
copy_elements(const at::Tensor &to, const at::Tensor &from)
{
    const at::AutoDispatchBelowADInplaceOrView guard;

    to.copy_(from);
}

size_t
count_of(const std::vector<at::Tensor> &tensors)
{
    size_t count = 0;

    for (const at::Tensor &tensor : tensors)
        count += size_t(tensor.numel());
    return count;
}

} // namespace hoop_torch
