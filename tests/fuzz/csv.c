/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of CSV and the validation of leads: an input is a file. */
#include "core/csv.h"
#include "expect.h"
#include "resources/lead.h"

/* Adds a record with all fields in quotation marks. */
static void write_record(neo_buf *out, const neo_csv_record *record)
{
    for (int f = 0; f < record->count; f++) {
        neo_buf_puts(out, f ? ",\"" : "\"");
        for (const char *c = record->fields[f]; *c; c++) {
            if (*c == '"')
                neo_buf_putc(out, '"');
            neo_buf_putc(out, *c);
        }
        neo_buf_putc(out, '"');
    }
    neo_buf_puts(out, "\r\n");
}

/* A written record is parsed as the same record. The first line determines the separator. */
static void check_written(const neo_csv_record *record, apr_pool_t *pool)
{
    neo_csv csv;
    neo_csv_record again;
    neo_buf out;
    neo_buf_init(&out, pool, 256);
    neo_buf_puts(&out, "a,b\n");
    write_record(&out, record);
    neo_csv_begin(&csv, neo_buf_text(&out));
    EXPECT(neo_csv_next(&csv, pool, &again) && again.count == 2);
    EXPECT(neo_csv_next(&csv, pool, &again) && !again.error && again.count == record->count && again.line == 2);
    for (int f = 0; f < record->count; f++)
        EXPECT(strcmp(again.fields[f], record->fields[f]) == 0);
    EXPECT(!neo_csv_next(&csv, pool, &again));
}

/* A valid lead is unchanged if it is parsed again. A stored phone has no plus sign. */
static void check_lead(const neo_csv_record *record, apr_pool_t *pool)
{
    const char *values[NEO_LEAD_COLUMNS] = {0}, *again[NEO_LEAD_COLUMNS], *error[NEO_LEAD_COLUMNS];
    for (int c = 0; c < NEO_LEAD_COLUMNS && c < record->count; c++)
        values[c] = record->fields[c];
    int count = neo_lead_check(values, error, pool);
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++) {
        check_text(error[c]);
        if (values[c])
            check_utf8(values[c]);
        again[c] = values[c];
    }
    if (count)
        return;
    check_digits(values[NEO_LEAD_PHONE]);
    again[NEO_LEAD_PHONE] = apr_pstrcat(pool, "+", values[NEO_LEAD_PHONE], NULL);
    EXPECT(neo_lead_check(again, error, pool) == 0);
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++)
        EXPECT(values[c] ? again[c] && strcmp(values[c], again[c]) == 0 : !again[c]);
    check_digits(neo_phone_key(values[NEO_LEAD_PHONE], pool));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    neo_csv csv;
    neo_csv_record record;
    int line = 0;
    neo_csv_begin(&csv, (neo_text){(const char *)data, size});
    while (neo_csv_next(&csv, pool, &record)) {
        EXPECT(record.line > line);
        line = record.line;
        EXPECT(record.error ? record.count == 0 : record.count > 0);
        check_text(record.error);
        for (int f = 0; f < record.count; f++)
            check_utf8(record.fields[f]);
        if (record.count) {
            check_written(&record, pool);
            check_lead(&record, pool);
        }
    }
    apr_pool_clear(pool);
    return 0;
}
