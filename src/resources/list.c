/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of resources (see resources/list.h). */
#include "resources/list.h"

#include "schema/import.h"

#define ADDRESS(name, AREA, collection) &neo_##name,
const neo_resource *const neo_resources[] = {NEO_RESOURCE_LIST(ADDRESS) NULL};

const neo_resource *const neo_import_kinds[] = {NEO_RESOURCE_LIST(ADDRESS) & neo_lead, &neo_whatsapp_opt_out,
                                                &neo_whatsapp_conversation, &neo_whatsapp_message, NULL};
