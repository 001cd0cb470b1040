/*
 * base/hmac.c - HMAC-SHA256 with OpenSSL's SHA-256
 *
 * RFC 2104, using the low-level hash functions: fetching the hash (EVP) would
 * first make OpenSSL build tables of all its algorithms, 1 ms in each process
 * (decision 19).
 */

/* Select an API level in which these functions are not deprecated. */
#define OPENSSL_API_COMPAT 0x10100000L

#include "base/hmac.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/error.h"

_Static_assert(HMAC_BYTES == SHA256_DIGEST_LENGTH, "a hash is a MAC");

enum {
    INNER_PAD = 0x36,
    OUTER_PAD = 0x5c,
};

static void
hmac_hash_begin(SHA256_CTX *context,
                const uint8_t key[SHA256_CBLOCK],
                uint8_t pad)
{
    uint8_t block[SHA256_CBLOCK];

    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = key[i] ^ pad;
    SHA256_Init(context);
    SHA256_Update(context, block, sizeof(block));
    OPENSSL_cleanse(block, sizeof(block));
}

/* A longer key is hashed; a shorter one is padded with zeros. */
static void
hmac_key_block(struct hmac_span key, uint8_t out_block[SHA256_CBLOCK])
{
    SHA256_CTX context;

    memset(out_block, 0, SHA256_CBLOCK);
    if (key.n_bytes <= SHA256_CBLOCK) {
        if (key.n_bytes > 0)
            memcpy(out_block, key.bytes, key.n_bytes);
        return;
    }
    SHA256_Init(&context);
    SHA256_Update(&context, key.bytes, key.n_bytes);
    SHA256_Final(out_block, &context);
    OPENSSL_cleanse(&context, sizeof(context));
}

enum hoop_status
hmac_sha256(struct hmac_span key,
            const struct hmac_span *parts,
            size_t n_parts,
            uint8_t out_mac[HMAC_BYTES])
{
    uint8_t block[SHA256_CBLOCK];
    uint8_t inner[SHA256_DIGEST_LENGTH];
    SHA256_CTX context;

    hmac_key_block(key, block);
    hmac_hash_begin(&context, block, INNER_PAD);
    for (size_t i = 0; i < n_parts; i++)
        SHA256_Update(&context, parts[i].bytes, parts[i].n_bytes);
    SHA256_Final(inner, &context);
    hmac_hash_begin(&context, block, OUTER_PAD);
    SHA256_Update(&context, inner, sizeof(inner));
    const int is_made = SHA256_Final(out_mac, &context);
    OPENSSL_cleanse(block, sizeof(block));
    OPENSSL_cleanse(&context, sizeof(context));
    return is_made
               ? HOOP_OK
               : error_raise(HOOP_E_INTERNAL, "OpenSSL computes no SHA-256");
}

bool
hmac_equal(const uint8_t left[HMAC_BYTES], const uint8_t right[HMAC_BYTES])
{
    return CRYPTO_memcmp(left, right, HMAC_BYTES) == 0;
}
