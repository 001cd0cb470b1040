/*
 * plan/simulation_mail.c - messages under way, and who waits for one
 *
 * A hash table of chains. An address either has letters that were posted or
 * steps that wait, never both.
 */

#include "plan/simulation_mail.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

enum {
    MAIL_CAPACITY_MIN = 256
};

static const uint32_t MAIL_END = UINT32_MAX; /* of a chain */

struct simulation_letter {
    struct simulation_address address;
    struct simulation_arrival arrival;
    uint32_t step; /* SIMULATION_NOBODY: it was posted */
    uint32_t next;
};

void
simulation_mail_deinit(struct simulation_mail *mail)
{
    free(mail->letters);
    free(mail->buckets);
    *mail = (struct simulation_mail){0};
}

static bool
is_same(const struct simulation_address *one,
        const struct simulation_address *other)
{
    return one->from == other->from && one->to == other->to &&
           one->message == other->message && one->crosses == other->crosses;
}

static uint32_t *
bucket_of(const struct simulation_mail *mail,
          const struct simulation_address *address)
{
    uint64_t hash = ((uint64_t)address->from << 32 | address->to) +
                    address->message * UINT64_C(0x9e3779b97f4a7c15) +
                    (uint64_t)address->crosses * UINT64_C(0xc2b2ae3d27d4eb4f);

    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return &mail->buckets[(hash >> 32) & (mail->n_buckets - 1)];
}

static void
chain_append(struct simulation_mail *mail, uint32_t letter)
{
    uint32_t *at = bucket_of(mail, &mail->letters[letter].address);

    while (*at != MAIL_END)
        at = &mail->letters[*at].next;
    mail->letters[letter].next = MAIL_END;
    *at = letter;
}

/* Chains keep their order. */
static enum hoop_status
mail_grow(struct simulation_mail *mail)
{
    const uint32_t n_old = mail->n_buckets;
    const uint32_t capacity =
        mail->capacity ? 2 * mail->capacity : MAIL_CAPACITY_MIN;
    uint32_t *const old = mail->buckets;
    uint32_t *buckets = calloc(capacity, sizeof(*buckets));
    struct simulation_letter *letters =
        reallocarray(mail->letters, capacity, sizeof(*letters));

    if (letters)
        mail->letters = letters;
    if (!letters || !buckets) {
        free(buckets);
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to simulate %u messages at once",
                           capacity);
    }
    mail->capacity = capacity;
    mail->buckets = buckets;
    mail->n_buckets = capacity;
    for (uint32_t i = 0; i < capacity; i++)
        buckets[i] = MAIL_END;
    for (uint32_t i = 0; i < n_old; i++) {
        uint32_t next;

        for (uint32_t letter = old[i]; letter != MAIL_END; letter = next) {
            next = mail->letters[letter].next;
            chain_append(mail, letter);
        }
    }
    free(old);
    return HOOP_OK;
}

static enum hoop_status
letter_add(struct simulation_mail *mail, const struct simulation_letter *letter)
{
    if (mail->n_letters == mail->n_used && mail->n_used == mail->capacity) {
        const enum hoop_status status = mail_grow(mail);
        if (status != HOOP_OK)
            return error_pass(status);
    }

    uint32_t place = mail->n_used;

    if (mail->n_letters < mail->n_used) {
        place = mail->spare;
        mail->spare = mail->letters[place].next;
    } else {
        mail->n_used++;
    }
    mail->n_letters++;
    mail->letters[place] = *letter;
    chain_append(mail, place);
    return HOOP_OK;
}

/* at is where its chain names it. */
static struct simulation_letter
letter_take(struct simulation_mail *mail, uint32_t *at)
{
    const uint32_t place = *at;
    const struct simulation_letter letter = mail->letters[place];

    *at = letter.next;
    mail->letters[place].next = mail->spare;
    mail->spare = place;
    mail->n_letters--;
    return letter;
}

/* The first letter of an address; NULL: there is none. */
static uint32_t *
letter_find(struct simulation_mail *mail,
            const struct simulation_address *address)
{
    if (mail->n_letters == 0)
        return NULL;
    for (uint32_t *at = bucket_of(mail, address); *at != MAIL_END;
         at = &mail->letters[*at].next)
        if (is_same(&mail->letters[*at].address, address))
            return at;
    return NULL;
}

enum hoop_status
simulation_mail_post(struct simulation_mail *mail,
                     const struct simulation_address *address,
                     const struct simulation_arrival *arrival,
                     uint32_t *out_step)
{
    uint32_t *at = letter_find(mail, address);

    if (at && mail->letters[*at].step != SIMULATION_NOBODY) {
        *out_step = letter_take(mail, at).step;
        return HOOP_OK;
    }

    const enum hoop_status status =
        letter_add(mail, &(struct simulation_letter){
                             .address = *address,
                             .arrival = *arrival,
                             .step = SIMULATION_NOBODY,
                         });
    if (status != HOOP_OK)
        return error_pass(status);
    *out_step = SIMULATION_NOBODY;
    return HOOP_OK;
}

enum hoop_status
simulation_mail_await(struct simulation_mail *mail,
                      const struct simulation_address *address,
                      uint32_t step,
                      struct simulation_arrival *out_arrival,
                      bool *out_is_here)
{
    uint32_t *at = letter_find(mail, address);

    assert(step != SIMULATION_NOBODY);
    if (at && mail->letters[*at].step == SIMULATION_NOBODY) {
        *out_arrival = letter_take(mail, at).arrival;
        *out_is_here = true;
        return HOOP_OK;
    }

    const enum hoop_status status =
        letter_add(mail, &(struct simulation_letter){
                             .address = *address,
                             .step = step,
                         });
    if (status != HOOP_OK)
        return error_pass(status);
    *out_is_here = false;
    return HOOP_OK;
}

uint32_t
simulation_mail_release(struct simulation_mail *mail)
{
    for (uint32_t i = 0; mail->n_letters > 0 && i < mail->n_buckets; i++) {
        const uint32_t bucket = (mail->sweep + i) & (mail->n_buckets - 1);

        for (uint32_t *at = &mail->buckets[bucket]; *at != MAIL_END;
             at = &mail->letters[*at].next) {
            if (mail->letters[*at].step == SIMULATION_NOBODY)
                continue;
            mail->sweep = bucket;
            return letter_take(mail, at).step;
        }
    }
    return SIMULATION_NOBODY;
}
