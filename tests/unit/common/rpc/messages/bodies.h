/*
 * tests/unit/common/rpc/messages/bodies.h - every kind of body
 *
 * For the tests of each family, and for the fuzz target.
 */

#ifndef TESTS_BODIES_H
#define TESTS_BODIES_H

#include <stddef.h>

#include "hoop/status.h"

#include "rpc/messages/message.h"
#include "wire/pack.h"

struct body {
    const char *name;
    message_descriptor_fn *descriptor;
};

extern const struct body bodies[];
extern const size_t n_bodies;

/* Returns NULL if there is none. */
const struct body *
body_find(const char *name);

/* Decodes a body and encodes the result again. */
enum hoop_status
body_again(const struct body *body, struct message_span in, struct pack *pack);

/*
 * Checks that pack holds such a body. Decoded and encoded again it is the same.
 * It is refused if it is cut anywhere. One more field at its end is ignored.
 */
void
body_check(const char *name, struct pack *pack);

#endif
