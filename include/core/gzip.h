/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of documents that are sent often. */
#ifndef NEO_CORE_GZIP_H
#define NEO_CORE_GZIP_H

#include "core/buf.h"

/* The text in the gzip format (RFC 1952), the same at each call. */
neo_text neo_gzip(neo_text plain, apr_pool_t *pool);

#endif
