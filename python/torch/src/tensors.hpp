/* python/torch/src/tensors.hpp - torch's tensors as the memory that hoop takes */

#ifndef HOOP_TORCH_TENSORS_HPP
#define HOOP_TORCH_TENSORS_HPP

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "hoop/hoop.h"

#include "work.hpp"

namespace hoop_torch
{

/* How hoop moves an element. Some dtypes that hoop does not know are moved as
 * bytes. */
struct Element {
    hoop_dtype dtype;
    size_t per_element; /* hoop elements per element of torch */
};

/* Elements that are only moved can have any dtype. */
Element
moved_element(const at::Tensor &tensor);

/* Throws ValueError if hoop cannot combine the dtype. */
Element
combined_element(const at::Tensor &tensor);

/* Returns the operator. For PREMUL_SUM it is the sum; scaled() applies its
 * factor. */
hoop_reduce_op
operator_of(const c10d::ReduceOp &op);

/* Returns the tensor times the factor of PREMUL_SUM. */
at::Tensor
scaled(const at::Tensor &tensor, const c10d::ReduceOp &op);

/* Throws ValueError unless there is at least one tensor and all are dense, on a
 * CPU and of one dtype. name is that of the argument. */
void
check_tensors(const std::vector<at::Tensor> &tensors, const char *name);

/* As above, and throws ValueError unless all tensors have the sizes of the
 * first. */
void
check_alike(const std::vector<at::Tensor> &tensors, const char *name);

/* Memory in which an input must not lie. An empty region forbids none. */
struct Region {
    const void *begin = nullptr;
    size_t n_bytes = 0;
};

/* Returns the elements of all tensors in sequence. It is their own memory if
 * they already lie so outside the region, or else a copy. work keeps it
 * alive. */
const void *
packed_input(HoopWork &work,
             const std::vector<at::Tensor> &tensors,
             Region apart = {});

/* Returns memory for the elements of all tensors in sequence: their own if they
 * already lie so, or else a buffer that the work's epilogue unpacks. If it also
 * serves as the input, it holds the elements. */
void *
packed_output(HoopWork &work, const std::vector<at::Tensor> &tensors);
void *
packed_in_place(HoopWork &work, const std::vector<at::Tensor> &tensors);

/* Copies from to to. It also works in threads that torch has not made. */
void
copy_elements(const at::Tensor &to, const at::Tensor &from);

size_t
count_of(const std::vector<at::Tensor> &tensors);

} // namespace hoop_torch

#endif
