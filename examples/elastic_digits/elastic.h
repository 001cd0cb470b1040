/* elastic_digits/elastic.h - a worker that goes on when others die */

#ifndef ELASTIC_DIGITS_ELASTIC_H
#define ELASTIC_DIGITS_ELASTIC_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ELASTIC_EPOCHS = 12,
    ELASTIC_BATCHES = 23, /* of an epoch: 64 images each, of the 1,438 */
    ELASTIC_STEPS = ELASTIC_EPOCHS * ELASTIC_BATCHES,
};

/* Shared by all processes. */
struct board {
    volatile uint64_t step;   /* that has been made */
    volatile uint32_t n_left; /* that go on, after the last loss */
    volatile bool has_ended;  /* the training, or one worker's part, badly */
};

/* Train with world_size workers, or in place of one. Returns an exit code. */
int
elastic_train(struct board *board, uint32_t world_size);

#endif
