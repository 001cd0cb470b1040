/* base/hmac.c - HMAC-SHA256 by OpenSSL, which no other file knows */

#include "base/hmac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/cleanup.h"
#include "base/error.h"

DEFINE_CLEANUP(EVP_MAC *, EVP_MAC_free)
DEFINE_CLEANUP(EVP_MAC_CTX *, EVP_MAC_CTX_free)

static enum hoop_status
hmac_fail(void)
{
    return error_raise(HOOP_E_INTERNAL,
                       "OpenSSL computes no HMAC-SHA256; is its default "
                       "provider disabled?");
}

enum hoop_status
hmac_sha256(struct hmac_span key,
            const struct hmac_span *parts,
            size_t n_parts,
            uint8_t out_mac[HMAC_BYTES])
{
    CLEANUP(EVP_MAC_free) EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    CLEANUP(EVP_MAC_CTX_free) EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    char digest[] = "SHA256";
    const OSSL_PARAM options[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    /* An empty key is a key, a missing one is not. */
    const void *key_bytes = key.n_bytes > 0 ? key.bytes : "";
    size_t n_written = 0;

    if (!context || !EVP_MAC_init(context, key_bytes, key.n_bytes, options))
        return hmac_fail();
    for (size_t i = 0; i < n_parts; i++)
        if (!EVP_MAC_update(context, parts[i].bytes, parts[i].n_bytes))
            return hmac_fail();
    if (!EVP_MAC_final(context, out_mac, &n_written, HMAC_BYTES))
        return hmac_fail();
    return HOOP_OK;
}

bool
hmac_equal(const uint8_t left[HMAC_BYTES], const uint8_t right[HMAC_BYTES])
{
    return CRYPTO_memcmp(left, right, HMAC_BYTES) == 0;
}
