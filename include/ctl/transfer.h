/* What `export` writes and `import` reads: a line of JSON for each row, {"broker": {…}}, and before them one that tells what it
 * is, {"export": {"format": 1, "organization": {"id": …}, "rows": {"broker": 200, …}, "left_out": {"whatsapp_message": 2, …},
 * …}}. Data from elsewhere needs no such line. */
#ifndef NEO_CTL_TRANSFER_H
#define NEO_CTL_TRANSFER_H

#define NEO_TRANSFER_HEAD   "export"
#define NEO_TRANSFER_FORMAT 1

/* For people: what an organization has and the file has not. */
#define NEO_TRANSFER_LEFT_OUT "WhatsApp numbers, conversations and messages, webhook deliveries, keys, tokens and users"

#define NEO_TRANSFER_MAX_LINE 1048576 /* bytes of a line; no body of the API is longer, unless NeoAPIMaxBody says so */

#endif
