/* elastic_digits/elastic.h - a worker that continues when others die */

#ifndef ELASTIC_DIGITS_ELASTIC_H
#define ELASTIC_DIGITS_ELASTIC_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ELASTIC_EPOCHS = 12,
    ELASTIC_BATCHES = 23, /* batches of 64 images per epoch, of 1,438 images */
    ELASTIC_STEPS = ELASTIC_EPOCHS * ELASTIC_BATCHES,
};

/* All processes share it. */
struct board {
    volatile uint64_t step;   /* steps taken so far */
    volatile uint32_t n_left; /* workers left after the last loss */
    volatile bool has_ended;  /* the training has ended, or a worker failed */
};

/* Joins a job of world_size workers, or replaces one of them, and trains.
 * Returns an exit code. */
int
elastic_train(struct board *board, uint32_t world_size);

#endif
