/* hoop/api.h - how the public declarations are marked */

#ifndef HOOP_API_H
#define HOOP_API_H

#define HOOP_API       __attribute__((visibility("default")))
#define HOOP_NODISCARD __attribute__((warn_unused_result))

#ifdef __cplusplus
#define HOOP_BEGIN extern "C" {
#define HOOP_END   }
#else
#define HOOP_BEGIN
#define HOOP_END
#endif

#endif
