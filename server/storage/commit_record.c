/* storage/commit_record.c - checksums and counts with which a database is
 * verified */

#include "storage/commit_record.h"

#include <endian.h>
#include <string.h>

#include "base/digest.h"

struct storage_span
commit_record_key(void)
{
    return (struct storage_span){"", 1};
}

bool
commit_record_is_key(struct storage_span key)
{
    return key.n_bytes == 1 && *(const uint8_t *)key.bytes == 0;
}

void
commit_record_encode(const struct commit_record *commit_record,
                     uint8_t out_bytes[COMMIT_RECORD_BYTES])
{
    const uint64_t numbers[] = {htole64(commit_record->commit),
                                htole64(commit_record->n_records),
                                htole64(commit_record->sum)};

    memcpy(out_bytes, numbers, sizeof(numbers));
}

bool
commit_record_decode(struct storage_span value,
                     struct commit_record *out_commit_record)
{
    uint64_t numbers[3];

    if (value.n_bytes != sizeof(numbers))
        return false;
    memcpy(numbers, value.bytes, sizeof(numbers));
    *out_commit_record = (struct commit_record){
        le64toh(numbers[0]), le64toh(numbers[1]), le64toh(numbers[2])};
    return true;
}

uint64_t
record_checksum(struct storage_span key, struct storage_span value)
{
    return digest_bytes(key.bytes, key.n_bytes) * 3 +
           digest_bytes(value.bytes, value.n_bytes);
}

bool
record_split_and_verify(struct storage_span key,
                        struct storage_span stored,
                        struct storage_span *out_value,
                        uint64_t *out_sum)
{
    uint64_t sum;

    if (stored.n_bytes < sizeof(sum))
        return false;
    memcpy(&sum, stored.bytes, sizeof(sum));

    const struct storage_span value = {
        (const uint8_t *)stored.bytes + sizeof(sum),
        stored.n_bytes - sizeof(sum),
    };

    if (sum != record_checksum(key, value))
        return false;
    *out_value = value;
    *out_sum = sum;
    return true;
}
