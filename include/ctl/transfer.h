/* SPDX-License-Identifier: Apache-2.0 */
/* The format of `export` and `import`: a line of JSON per row, {"broker": {…}}, after a header line {"export": {"format": 1,
 * "organization": {"id": …}, "rows": {"broker": 200, …}, "left_out": {"whatsapp_number": 2}, …}}. `import` accepts files
 * without the header. */
#ifndef NEO_CTL_TRANSFER_H
#define NEO_CTL_TRANSFER_H

#define NEO_TRANSFER_HEAD   "export"
#define NEO_TRANSFER_FORMAT 1

/* What an export does not contain, for help texts. */
#define NEO_TRANSFER_LEFT_OUT "WhatsApp numbers, webhook deliveries, keys, tokens and users"

#define NEO_TRANSFER_MAX_LINE 1048576 /* bytes of a line: the default of NeoAPIMaxBody */

#endif
