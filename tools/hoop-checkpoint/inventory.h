/* hoop-checkpoint/inventory.h - prints a checkpoint as a table */

#ifndef HOOP_CHECKPOINT_INVENTORY_H
#define HOOP_CHECKPOINT_INVENTORY_H

#include <hoop/checkpoint.h>
#include <stdio.h>

enum inventory_detail {
    INVENTORY_TENSORS,
    INVENTORY_FILES, /* with the files */
};

void
inventory_print(const struct hoop_checkpoint_contents *contents,
                enum inventory_detail detail,
                FILE *out);

#endif
