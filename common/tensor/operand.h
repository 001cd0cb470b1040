/* tensor/operand.h - a tensor that a call was given */

#ifndef TENSOR_OPERAND_H
#define TENSOR_OPERAND_H

#include <stddef.h>

#include "hoop/tensor.h"

/*
 * Whether tensor can be read, or written: its dtype, its sizes, that it has
 * data, that it is dense. name is what the texts call it.
 * Handle: HOOP_E_INVALID.
 */
enum hoop_status
operand_check(const struct hoop_tensor *tensor, const char *name);
/* ... but its strides may be any. */
enum hoop_status
operand_check_strided(const struct hoop_tensor *tensor, const char *name);

/* Elements, and bytes without gaps, of a tensor that has been checked. */
size_t
operand_count(const struct hoop_tensor *tensor);
size_t
operand_bytes(const struct hoop_tensor *tensor);

#endif
