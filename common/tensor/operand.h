/* tensor/operand.h - checks a tensor passed to a call */

#ifndef TENSOR_OPERAND_H
#define TENSOR_OPERAND_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/tensor.h"

/*
 * Check that tensor can be read or written: its dtype, its sizes, that it has
 * data, and that it is dense. Error texts call it name. Handle: HOOP_E_INVALID.
 */
enum hoop_status
operand_check(const struct hoop_tensor *tensor, const char *name);
/* The same, but any strides are allowed. */
enum hoop_status
operand_check_strided(const struct hoop_tensor *tensor, const char *name);

/* Elements, and bytes without gaps, of a checked tensor. */
size_t
operand_count(const struct hoop_tensor *tensor);
size_t
operand_bytes(const struct hoop_tensor *tensor);

/* Return whether two checked, dense tensors have a byte in common. */
bool
operands_overlap(const struct hoop_tensor *one,
                 const struct hoop_tensor *other);

#endif
