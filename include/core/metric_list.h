/* SPDX-License-Identifier: Apache-2.0 */
/* The table of metrics: one row each, in the order of the outputs. From it come the counters in shared memory (core/metrics.h),
 * Prometheus' metrics and, if the row has their members, the status page, its text, and the section of mod_status. */
#ifndef NEO_CORE_METRIC_LIST_H
#define NEO_CORE_METRIC_LIST_H

/* COUNTER(ID, ...) is counted by neo_metrics_count(metrics, NEO_COUNT_ID, 1), HISTOGRAM(ID, ...) by neo_metrics_time(metrics,
 * NEO_TIME_ID, microseconds); GAUGE(id, ...) is the member `id` of neo_process; VALUE(id, expression, ...) is computed from
 * `report`. Then come the name and the help in Prometheus' format, the key in the text, and members of neo_metric
 * (src/status/parts.h); OTHER has only these. */
/* clang-format off */
#define NEO_METRIC_LIST(COUNTER, HISTOGRAM, GAUGE, VALUE, OTHER)                                                               \
    VALUE(build, 1, "build_info", "The module's version.", NULL, .labels = "version=\"" NEO_VERSION "\"")                      \
    VALUE(start_time, (double)report->started / 1e6, "start_time_seconds", "Start of counting, in seconds since 1970.", NULL)  \
    VALUE(processes, report->processes, "processes", "Processes that serve requests.", "Processes", .unit = NEO_PLAIN)         \
    OTHER(.put_samples = neo_report_route_statuses, .name = "http_requests_total",                                             \
          .help = "Requests. method and route are \"-\" if no operation matched; route is neoapi-whatsapp for callbacks.")     \
    OTHER(.times = 1, .put_samples = neo_report_route_times, .name = "http_request_duration_seconds",                          \
          .help = "Time from the request line to the end of the response.")                                                    \
    VALUE(requests, request_count(counters), NULL, NULL, "Requests", REQUESTS, .unit = NEO_TOTAL, .is_short = 1,               \
          .section = "requests", .tile = "Requests, last hour",                                                                \
          .text = "{requests}</b> {request_rate}/s in the last full minute")                                                   \
    VALUE(request_rate, ratio(request_count(&report->last_minute), 60, 0), NULL, NULL, NULL, .unit = NEO_RATE)                 \
    GAUGE(serving, "http_requests_in_progress", "Requests in progress.", "RequestsInProgress")                               \
    OTHER(REQUESTS, .tile = "Response time p95, last hour",                                                                    \
          .text = "{requests 95}</b> median {requests 50}, p99 {requests 99}")                                                 \
    HISTOGRAM(REQUESTS_2XX, NULL, NULL, "Requests2xx", .unit = NEO_TOTAL)                                                      \
    HISTOGRAM(REQUESTS_3XX, NULL, NULL, "Requests3xx", .unit = NEO_TOTAL)                                                      \
    HISTOGRAM(REQUESTS_4XX, NULL, NULL, "Requests4xx", .unit = NEO_TOTAL, .section = "requests with 4xx")                      \
    HISTOGRAM(REQUESTS_5XX, NULL, NULL, "Requests5xx", .unit = NEO_TOTAL, .is_short = 1, .section = "requests with 5xx",       \
              .alarm = NEO_MARKED, .tile = "Server errors, last hour",                                                         \
              .text = "{REQUESTS_5XX}</b> {error_share} % of requests")                                                        \
    VALUE(error_share, 100 * ratio(neo_histogram_count(&counters->times[NEO_TIME_REQUESTS_5XX]), request_count(counters), 0),  \
          NULL, NULL, NULL, .unit = NEO_RATE)                                                                                  \
    VALUE(requests_hour, request_count(&report->hour), NULL, NULL, "RequestsLastHour")                                         \
    COUNTER(RATE_LIMITED, "rate_limited_requests_total", "Responses with 429.", "RateLimited", .is_short = 1,                  \
            .tile = "Rate-limited, last hour", .text = "{RATE_LIMITED}</b> responses with 429")                                \
    COUNTER(LEASES_FULL, "limit_entries_full_total",                                                                           \
            "Requests that were counted against an equal part of a limit, because NeoAPIRateLimitEntries is too low.",         \
            "LimitEntriesFull", .alarm = NEO_SHOWN_IF_SET, .tile = "Limits without memory, last hour",                         \
            .text = "{LEASES_FULL}</b> requests; increase NeoAPIRateLimitEntries")                                             \
    COUNTER(UNKNOWN_NUMBERS, "whatsapp_callbacks_unknown_number_total",                                                        \
            "Callbacks of WhatsApp numbers that have not been added.", "WhatsAppCallbacksUnknownNumber")                       \
    COUNTER(CLOCK_STEPS, "clock_steps_total",                                                                                  \
            "Steps of the system clock by more than a second, as each process noticed them.", "ClockSteps",                    \
            .alarm = NEO_SHOWN_IF_SET, .tile = "Clock steps, last hour",                                                       \
            .text = "{CLOCK_STEPS}</b> noticed by processes; synchronize the clocks")                                          \
    OTHER(REQUESTS, .key = "RequestMsLastHour", .is_short = 1)                                                                 \
    OTHER(.put_lines = neo_report_route_lines)                                                                                 \
    GAUGE(in_use, "database_connections_in_use", "Connections in use by requests and webhook delivery.", "ConnectionsInUse",   \
          .is_short = 1)                                                                                                       \
    GAUGE(listening, "database_connections_listening", "Connections that listen for notifications, one per process.",          \
          "ConnectionsListening")                                                                                              \
    GAUGE(waiting, "database_connections_waiting", "Threads waiting for a connection.", "ConnectionsWaiting",                  \
          .alarm = NEO_MARKED, .tile = "Connections in use",                                                                   \
          .text = "{in_use}</b> of {connections}; {listening} more listening; {waiting} waiting; "                             \
                  "wait p95 {CONNECTION_WAIT 95}")                                                                             \
    GAUGE(connections, "database_connections_max", "Maximum number of connections: DBDMax of all processes.",                  \
          "ConnectionsMax")                                                                                                    \
    COUNTER(NO_CONNECTION, "database_unavailable_total", "Failures to get a connection.", "ConnectionsFailed")                 \
    COUNTER(REPLACED, "database_replaced_total", "Connections closed because they led to a database server that has been "     \
            "replaced.", "ReplacedServer", .alarm = NEO_SHOWN_IF_SET, .tile = "Replaced database server, last hour",           \
            .text = "{REPLACED}</b> connections closed; stop the former primary")                                              \
    HISTOGRAM(CONNECTION_WAIT, "database_wait_seconds", "Time waiting for a connection.", "ConnectionWaitMsLastHour",          \
              .row = "Waiting for a connection", .section = "database connection waits")                                       \
    HISTOGRAM(CONNECTION_USE, "database_use_seconds", "Time using a connection.", "ConnectionUseMsLastHour",                   \
              .row = "Using a connection", .section = "database connection uses")                                              \
    VALUE(write_error, report->write_error != NULL, NULL, NULL, NULL, STRING(write_error), .tile = "Database",                 \
          .text = "no writes</b> {write_error}", .alarm = NEO_SHOWN_IF_SET)                                                    \
    COUNTER(REPLICA_READS, "list_reads_total", "Exports and searching lists with NeoAPIReadDSN, by their server.", \
            "ListsFromReplica", .labels = "server=\"replica\"")                                                                \
    COUNTER(PRIMARY_READS, "list_reads_total", NULL, "ListsFromPrimary", .labels = "server=\"primary\"")                       \
    COUNTER(CREATE_STATEMENTS, "create_statements_total", "Statements of creates that can share one.", "CreateStatements")     \
    COUNTER(CREATE_ROWS, "create_rows_total", "Rows of these statements.", "CreateRows")                                       \
    COUNTER(CREATE_SLOTS, "create_slots_total", "Slots that the resource had at each of these statements.", NULL)              \
    COUNTER(CREATE_REPEATED, "create_rows_repeated_total",                                                                     \
            "Rows that a shared statement left out, so that they were executed alone.", "CreateRowsRepeated")                  \
    VALUE(rows_per_statement,                                                                                                  \
          ratio(counters->counts[NEO_COUNT_CREATE_ROWS], counters->counts[NEO_COUNT_CREATE_STATEMENTS], -1), NULL, NULL, NULL, \
          .unit = NEO_MEAN, .tile = "Creates per statement, last hour",                                                        \
          .text = "{rows_per_statement}</b> wait p95 {CREATE_WAIT 95}, executed alone again: {CREATE_REPEATED}")               \
    HISTOGRAM(CREATE_WAIT, "create_wait_seconds", "Time of creates waiting for a statement.", "CreateWaitMsLastHour")          \
    VALUE(backlog_error, report->backlog_error != NULL, NULL, NULL, NULL, STRING(backlog_error), .tile = "Webhooks pending",   \
          .text = "?</b> {backlog_error}", .alarm = NEO_SHOWN_IF_SET)                                                          \
    OTHER(.is_queue = 1, .tile = "Webhooks pending",                                                                           \
          .text = "[{-is_estimated}≈&nbsp;]{pending}</b> due: {due}[{-is_more} or more][, longest overdue {overdue}]"          \
                  "[; oldest created {oldest} ago][; subscriptions failing: {failing}, inactive: {disabled}]"                  \
                  "[; event log held back for {log_held}]")                                                                    \
    GAUGE(in_flight, "webhook_in_flight", "Delivery attempts in flight.", "WebhooksInFlight", .is_short = 1,                   \
          .tile = "Webhooks in flight",                                                                                        \
          .text = "{in_flight}</b> of at most {concurrency}[{-without_courier}; this host does not deliver]")                  \
    GAUGE(concurrency, "webhook_in_flight_max", "Maximum number of delivery attempts in flight.", "WebhooksInFlightMax")       \
    VALUE(without_courier, report->sum.concurrency == 0, NULL, NULL, NULL)                                                     \
    COUNTER(ATTEMPT_OK, ATTEMPTS("success", "Delivery attempts by outcome."), .row = "Succeeded")                              \
    COUNTER(ATTEMPT_STATUS, ATTEMPTS("http_error", NULL), .row = "Error response")                                             \
    COUNTER(ATTEMPT_TIMEOUT, ATTEMPTS("timeout", NULL), .row = "Timeout")                                                      \
    COUNTER(ATTEMPT_CONNECTION, ATTEMPTS("connection_error", NULL), .row = "Connection failed")                                \
    COUNTER(ATTEMPT_BLOCKED, ATTEMPTS("blocked", NULL), .row = "Address not public")                                           \
    COUNTER(ATTEMPT_NOT_SENT, ATTEMPTS("not_sent", NULL), .row = "Not sent")                                                   \
    COUNTER(DELIVERED, "webhook_deliveries_total", "Completed deliveries by outcome.", "WebhooksDelivered",                    \
            OUTCOME("success"), .is_short = 1, .tile = "Webhooks delivered, last hour",                                        \
            .text = "{DELIVERED}</b> failed: {FAILED}")                                                                        \
    COUNTER(FAILED, "webhook_deliveries_total", NULL, "WebhooksFailed", OUTCOME("failed"), .is_short = 1)                      \
    HISTOGRAM(ATTEMPTS, "webhook_attempt_duration_seconds", "Duration of delivery attempts.", NULL,                            \
              .section = "webhook attempts")                                                                                   \
    COUNTER(SPANS_EXPORTED, "trace_spans_total", "Spans for NeoAPITraceCollector by outcome.", "TraceSpansExported",           \
            OUTCOME("exported"))                                                                                               \
    COUNTER(SPANS_DROPPED, "trace_spans_total", NULL, "TraceSpansDropped", OUTCOME("dropped"), .alarm = NEO_SHOWN_IF_SET,      \
            .tile = "Trace spans dropped, last hour", .text = "{SPANS_DROPPED}</b> check the collector")                       \
    OTHER(.put_lines = neo_report_receiver_lines)                                                                              \
    OTHER(STRING(write_error), .key = "WriteError")                                                                            \
    OTHER(STRING(backlog_error), .key = "QueueError")                                                                          \
    VALUE(accepts_writes, !report->write_error, "database_accepts_writes",                                                     \
          "Whether the database can execute writes: it is reachable, no standby, and its disk is not full.", NULL)             \
    VALUE(queue_up, !report->backlog_error, "webhook_queue_up",                                                                \
          "Whether the queue could be read. The other queue metrics are of the whole deployment.", NULL)                       \
    VALUE(pending, report->backlog.pending, "webhook_queue_pending", "Pending deliveries; above 10000 an estimate.",           \
          "QueuePending", QUEUE)                                                                                               \
    VALUE(is_estimated, report->backlog.is_estimated, NULL, NULL, "QueuePendingIsEstimate", QUEUE)                             \
    VALUE(due, report->backlog.due, "webhook_queue_due", "Pending deliveries that are due; at most 10000 are counted.",        \
          "QueueDue", QUEUE)                                                                                                   \
    VALUE(is_more, report->backlog.is_more, NULL, NULL, "QueueDueIsMinimum", QUEUE)                                            \
    VALUE(overdue, report->backlog.overdue, "webhook_queue_overdue_seconds",                                                   \
          "How long the most overdue delivery has been due.", "QueueOverdueSeconds", QUEUE, .unit = NEO_MILLISECONDS)          \
    VALUE(log_lag, report->backlog.log_lag, "event_log_lag_seconds",                                                           \
          "How long the oldest writing transaction, which holds back the event log, runs.", "EventLogLagSeconds", QUEUE,       \
          .unit = NEO_MILLISECONDS)                                                                                            \
    VALUE(log_held, report->backlog.log_lag >= 1000 ? report->backlog.log_lag : 0, NULL, NULL, NULL, .unit = NEO_MILLISECONDS) \
    VALUE(oldest, seconds_since(report, report->backlog.oldest), "webhook_queue_oldest_seconds",                               \
          "Age of the oldest pending delivery.", "QueueOldestSeconds", QUEUE, .unit = NEO_SECONDS)                             \
    VALUE(failing, report->backlog.failing, "webhook_subscriptions_unhealthy",                                                 \
          "Subscriptions whose last attempt failed, and inactive ones.", "WebhooksFailing", QUEUE,                             \
          .labels = "health=\"failing\"")                                                                                      \
    VALUE(disabled, report->backlog.disabled, "webhook_subscriptions_unhealthy", NULL, "WebhooksDisabled", QUEUE,              \
          .labels = "health=\"disabled\"")                                                                                     \
    VALUE(messages_stalled, report->backlog.messages_stalled, "whatsapp_messages_stalled",                                     \
          "WhatsApp messages that have been pending for over ten minutes.", "WhatsAppMessagesStalled", QUEUE)                  \
    OTHER(JOB(runs), .name = "job_runs_total", .help = "Runs of a background job in the deployment.")                          \
    OTHER(JOB(failures), .name = "job_failures_total", .help = "Failed runs.")                                                 \
    OTHER(JOB(succeeded), .unit = NEO_UNIX_MS, .name = "job_last_success_timestamp_seconds",                                   \
          .help = "End of the last successful run; 0: none yet.")                                                              \
    OTHER(JOB(duration), .unit = NEO_MILLISECONDS, .name = "job_last_duration_seconds", .help = "Duration of the last run.")   \
    OTHER(.put_lines = neo_report_job_lines)                                                                                   \
    OTHER(ROWS("hosts", NULL), .name = "host_info", .labels = "name version", .help = "Hosts of the deployment.")              \
    OTHER(ROWS("hosts", "seconds_since_contact"), .name = "host_contact_age_seconds", .labels = "name",                        \
          .help = "Time since the host was last in contact with the database.")                                                \
    OTHER(ROWS("hosts", "delivers"), .name = "host_delivers", .labels = "name", .help = "Whether the host sends webhooks.")    \
    OTHER(ROWS("hosts", "clock_ahead_ms"), .unit = NEO_MILLISECONDS, .name = "host_clock_ahead_seconds", .labels = "name",     \
          .help = "The host's clock minus the database's.")                                                                    \
    OTHER(ROWS("hosts", "drained"), .name = "host_drained", .labels = "name", .help = "Whether the host is drained.")          \
    OTHER(ROWS("servers", NULL), .name = "database_server_info", .labels = "name address role state sync_state",               \
          .help = "The database server in use and its replicas.")                                                              \
    OTHER(ROWS("servers", "lag_bytes"), .name = "database_replica_lag_bytes", .labels = "name address",                        \
          .help = "Write-ahead log that the replica has not replayed.")                                                        \
    OTHER(ROWS("servers", "lag_ms"), .unit = NEO_MILLISECONDS, .name = "database_replica_lag_seconds",                         \
          .labels = "name address", .help = "Delay of the replica's last confirmation of replay; unknown without writes.")     \
    OTHER(.put_lines = neo_report_deployment_lines)
/* clang-format on */

#endif
