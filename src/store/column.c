/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the field types (see store/column.h). */
#include "store/column.h"

#define AS_TEXT      "to_json(", ")"
#define AS_TIMESTAMP "'\"' || neoapi.format_timestamp(", ") || '\"'"
#define AS_IT_IS     "", ""

const neo_column neo_columns[] = {
    [NEO_STRING] = {"text", AS_TEXT},      [NEO_ENUM] = {"text", AS_TEXT},
    [NEO_REFERENCE] = {"text", AS_TEXT},   [NEO_TIMESTAMP] = {"timestamptz", AS_TIMESTAMP},
    [NEO_DATE] = {"date", AS_TEXT},        [NEO_BOOLEAN] = {"boolean", AS_IT_IS},
    [NEO_INTEGER] = {"bigint", AS_IT_IS},  [NEO_DECIMAL] = {"numeric", AS_IT_IS},
    [NEO_ENUM_LIST] = {"text[]", AS_TEXT}, [NEO_OBJECT] = {"json", AS_IT_IS},
    [NEO_MAP] = {"json", AS_IT_IS},        [NEO_LIST] = {"json", AS_IT_IS},
    [NEO_TEXT_LIST] = {"json", AS_IT_IS},  [NEO_REFERENCE_LIST] = {"json", AS_IT_IS},
};
_Static_assert(sizeof neo_columns / sizeof *neo_columns == NEO_TYPES, "every type has its column");
