/* tests/unit/worker/state_sync/state_case.c - a state of bytes, for its
 * tests */

#include "state_case.h"

#include "check.h"

enum {
    ROOM = 1 << 16
};

static const char *const names[CASE_TENSORS_MAX] = {"a", "b", "c", "d",
                                                    "e", "f", "g", "h"};
static uint8_t room[CASE_TENSORS_MAX][ROOM];
static struct hoop_named_tensor tensors[CASE_TENSORS_MAX];
static struct hoop_state the_state;

struct state_manifest *
state_case_of(const size_t *n_bytes, size_t n_tensors)
{
    struct state_manifest *tensor_manifest = NULL;

    for (size_t i = 0; i < n_tensors; i++) {
        assert_true(n_bytes[i] <= ROOM);
        tensors[i] = (struct hoop_named_tensor){
            .name = names[i],
            .tensor = {.data = room[i],
                       .dtype = HOOP_UINT8,
                       .shape = {1, {n_bytes[i]}}},
        };
    }
    the_state = (struct hoop_state){tensors, n_tensors, 1, CASE_BLOCK};
    assert_ok(state_manifest_create(&the_state, &tensor_manifest));
    return tensor_manifest;
}

uint8_t *
state_case_at(size_t number, size_t offset)
{
    return &room[number][offset];
}
