-- A batch takes its idempotency key first and knows its answer last.

grant update (answer) on neoapi.idempotency_key to :runtime;
