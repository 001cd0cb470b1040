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

/* How hoop moves an element: some dtypes that it does not know as bytes. */
struct Element {
    hoop_dtype dtype;
    size_t per_element; /* of torch's */
};

/* What is only moved can be of any dtype. */
Element
moved_element(const at::Tensor &tensor);

/* Throws ValueError where hoop cannot combine the dtype. */
Element
combined_element(const at::Tensor &tensor);

/* Of PREMUL_SUM, whose factor scaled() applies: the sum. */
hoop_reduce_op
operator_of(const c10d::ReduceOp &op);

/* The tensor, times the factor of PREMUL_SUM. */
at::Tensor
scaled(const at::Tensor &tensor, const c10d::ReduceOp &op);

/* Throws ValueError unless there is at least one tensor, all of them are dense
 * on a CPU and have one dtype. name: of the argument. */
void
check_tensors(const std::vector<at::Tensor> &tensors, const char *name);

/* Throws ValueError unless all have the first one's sizes, too. */
void
check_alike(const std::vector<at::Tensor> &tensors, const char *name);

/* Memory that an input must not lie in; none: any. */
struct Region {
    const void *begin = nullptr;
    size_t n_bytes = 0;
};

/* The elements of all tensors, one after the other, in memory of theirs if they
 * lie so apart from the region, else in a copy. work keeps it. */
const void *
packed_input(HoopWork &work,
             const std::vector<at::Tensor> &tensors,
             Region apart = {});

/* Memory for the elements of all tensors: theirs if they lie so, else what the
 * work's epilogue unpacks. With its input, memory of theirs holds that, too. */
void *
packed_output(HoopWork &work, const std::vector<at::Tensor> &tensors);
void *
packed_in_place(HoopWork &work, const std::vector<at::Tensor> &tensors);

/* to = from, also in threads that torch knows nothing of. */
void
copy_elements(const at::Tensor &to, const at::Tensor &from);

size_t
count_of(const std::vector<at::Tensor> &tensors);

} // namespace hoop_torch

#endif
