/* keep/seal.c - what a database says of itself: how many records, which sums */

#include "keep/seal.h"

#include <endian.h>
#include <string.h>

#include "base/digest.h"

struct keep_bytes
seal_key(void)
{
    return (struct keep_bytes){"", 1};
}

bool
seal_is_key(struct keep_bytes key)
{
    return key.n_bytes == 1 && *(const uint8_t *)key.bytes == 0;
}

void
seal_encode(const struct seal *seal, uint8_t out_bytes[SEAL_BYTES])
{
    const uint64_t numbers[] = {htole64(seal->commit), htole64(seal->n_records),
                                htole64(seal->sum)};

    memcpy(out_bytes, numbers, sizeof(numbers));
}

bool
seal_decode(struct keep_bytes value, struct seal *out_seal)
{
    uint64_t numbers[3];

    if (value.n_bytes != sizeof(numbers))
        return false;
    memcpy(numbers, value.bytes, sizeof(numbers));
    *out_seal = (struct seal){le64toh(numbers[0]), le64toh(numbers[1]),
                              le64toh(numbers[2])};
    return true;
}

uint64_t
seal_sum(struct keep_bytes key, struct keep_bytes value)
{
    return digest_bytes(key.bytes, key.n_bytes) * 3 +
           digest_bytes(value.bytes, value.n_bytes);
}

bool
seal_open(struct keep_bytes key,
          struct keep_bytes stored,
          struct keep_bytes *out_value,
          uint64_t *out_sum)
{
    uint64_t sum;

    if (stored.n_bytes < sizeof(sum))
        return false;
    memcpy(&sum, stored.bytes, sizeof(sum));

    const struct keep_bytes value = {
        (const uint8_t *)stored.bytes + sizeof(sum),
        stored.n_bytes - sizeof(sum),
    };

    if (sum != seal_sum(key, value))
        return false;
    *out_value = value;
    *out_sum = sum;
    return true;
}
