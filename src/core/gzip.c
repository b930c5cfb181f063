/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses with zlib (see core/gzip.h). */
#include "core/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW (MAX_WBITS + 16) /* the format is gzip, not zlib's */
#define MEMORY      8                /* zlib's default */

neo_text neo_gzip(neo_text plain, apr_pool_t *pool)
{
    z_stream stream = {.next_in = (Bytef *)plain.ptr, .avail_in = (uInt)plain.len};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    uLong size = deflateBound(&stream, plain.len);
    Bytef *out = apr_palloc(pool, size);
    stream.next_out = out;
    stream.avail_out = (uInt)size;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&stream);
    return (neo_text){(char *)out, stream.total_out};
}
