/* SPDX-License-Identifier: Apache-2.0 */
/* Every message of the error log: its name, its permanent number, its level, when it is logged, and what to do. The remedy ends
 * each logged line; the manual lists the rows. A number is never reused. 01: starting; 02: the database; 03: webhooks; 04:
 * WhatsApp; 05: clients. */
#ifndef NEO_CORE_MESSAGES_H
#define NEO_CORE_MESSAGES_H

#define NEO_MESSAGE_LIST(X)                                                                                                    \
    X(NO_DBD, "NEO0101", FATAL, "mod_dbd is not loaded; httpd does not start.",                                                \
      "enable it (Debian: a2enmod dbd; elsewhere: LoadModule dbd_module ...)")                                                 \
    X(NO_DRIVER, "NEO0102", FATAL, "DBDriver is not set; httpd does not start.",                                               \
      "set DBDriver pgsql, and DBDParams to the database")                                                                     \
    X(OTHER_DRIVER, "NEO0103", FATAL, "DBDriver is not pgsql; httpd does not start.", "set DBDriver pgsql")                    \
    X(NO_PARAMS, "NEO0104", FATAL, "DBDParams is not set; httpd does not start.",                                              \
      "set DBDParams to a libpq connection string, such as DBDParams \"service=neoapi\"")                                      \
    X(ONE_CONNECTION, "NEO0105", FATAL, "DBDMax leaves no connection for requests; httpd does not start.",                     \
      "set DBDMax to at least 3")                                                                                              \
    X(FEW_CONNECTIONS, "NEO0106", WARNING, "DBDMax is very low for the number of threads; requests wait for connections.",     \
      "set DBDMax to at least ThreadsPerChild / 32 + 2, with NeoAPIReadDSN one more")                                          \
    X(PREFORK, "NEO0107", WARNING, "The MPM serves one request in each process, which holds up to 3 database connections.",    \
      "use mpm_event (Debian: a2dismod mpm_prefork && a2enmod mpm_event), or set MaxRequestWorkers to at most a third of "     \
      "PostgreSQL's max_connections; neoapictl doctor computes the limit")                                                     \
    X(MANY_WAITERS, "NEO0108", WARNING, "Requests that wait for events can occupy all threads of a process.",                  \
      "set NeoAPIEventWaiters to less than ThreadsPerChild, for example to a quarter of it")                                   \
    X(NO_THREAD, "NEO0109", FATAL, "A process of httpd could not start a thread of the module, and ended.",                    \
      "allow httpd more processes and open files (systemd: TasksMax, LimitNOFILE)")                                            \
    X(NO_BASE_URL, "NEO0111", FATAL, "NeoAPIBaseURL is not set; httpd does not start.",                                        \
      "set it to the API's public URL, such as https://api.example.com/public/v1/")                                            \
    X(NO_KEY_FILE, "NEO0112", FATAL, "NeoAPIKeyFile is not set; httpd does not start.",                                        \
      "set it to the file with the deployment's encryption key; create one with: "                                             \
      "(set -C && umask 077 && openssl rand -base64 32 >/etc/neoapi/key)")                                                     \
    X(BAD_KEY_FILE, "NEO0113", FATAL,                                                                                          \
      "The key file cannot be used. The configuration test fails; if httpd is started nevertheless, requests to the API get "  \
      "503 and other sites are served.",                                                                                       \
      "if only its mode is wrong, correct that; otherwise restore the key file from its backup, or copy it from another host " \
      "of the deployment, and restart httpd; only for a new deployment create one with: "                                      \
      "(set -C && umask 077 && openssl rand -base64 32 >/etc/neoapi/key)")                                                     \
    X(NO_MEMORY, "NEO0115", FATAL, "No shared memory for counters; httpd does not start.",                                     \
      "reduce NeoAPIRateLimitEntries or allow more shared memory")                                                             \
    X(NOT_USED, "NEO0116", NOTICE, "The module is loaded, but no location has NeoAPI On.",                                     \
      "set NeoAPI On in a location, as in the example neoapi.conf, and restart httpd")                                         \
    X(NO_CA_BUNDLE, "NEO0117", FATAL, "The file of NeoAPIWebhookCABundle cannot be read; httpd does not start.",               \
      "correct its path, or remove the directive to use the system's certificates (Debian: package ca-certificates)")          \
    X(NO_KEYS, "NEO0118", ERROR,                                                                                               \
      "A request was answered with 503, because the key file could not be used when httpd was started.",                       \
      "see NEO0113, restore the key file, and restart httpd")                                                                  \
    X(NO_CONNECTION, "NEO0201", ERROR, "A request got no database connection and was answered with 503.",                      \
      "see mod_dbd's message before this one")                                                                                 \
    X(DATABASE_UNAVAILABLE, "NEO0202", ERROR,                                                                                  \
      "The database closed a connection, did not answer or refused statements; the request was answered with 503.",            \
      "check that PostgreSQL is running and is not overloaded; httpd needs no restart")                                        \
    X(STATEMENT_FAILED, "NEO0203", ERROR, "The database rejected a statement; the request was answered with 500.",             \
      "check the schema with: neoapictl doctor; if it finds nothing, report this line")                                        \
    X(SCHEMA_OLD, "NEO0204", ERROR, "The database's schema is not the one that this module needs; requests get 503.",          \
      "update it with: neoapictl migrate")                                                                                     \
    X(SCHEMA_MISSING, "NEO0205", ERROR, "The database has no schema; requests get 503.", "create it with: neoapictl setup")    \
    X(TRANSACTION_RETRIED, "NEO0206", WARNING, "The database rolled back a batch's transaction; it is executed again.",        \
      "no action needed; if it is frequent, check what else locks these rows")                                                 \
    X(NOT_LISTENING, "NEO0207", ERROR,                                                                                         \
      "A connection pooler does not pass on notifications; every request reads its credential from the database.",             \
      "no action needed, or connect to PostgreSQL directly")                                                                   \
    X(BUSY, "NEO0208", WARNING,                                                                                                \
      "All database connections of a process were in use for two seconds, or too many requests waited; requests got 503.",     \
      "if it is frequent, look for slow statements in PostgreSQL, or increase DBDMax")                                         \
    X(CLOCK_STEP, "NEO0209", WARNING,                                                                                          \
      "The system clock stepped, or differs from the database's, by more than a second; ids and timestamps do not follow it.", \
      "synchronize the clocks of the hosts and of the database's server, for example with chrony")                             \
    X(STREAM_ABORTED, "NEO0210", WARNING, "An export or an attachment ended before it was complete; the client can tell.",     \
      "no action needed, unless the database failed or NeoAPIExportTimeout is too short; a client whose credential is valid "  \
      "repeats the request")                                                                                                   \
    X(STATEMENT_TIMEOUT, "NEO0211", ERROR,                                                                                     \
      "The database cancelled a statement after its statement_timeout; the request was answered with 503.",                    \
      "look for locks, slow disks and other load in PostgreSQL")                                                               \
    X(DISK_FULL, "NEO0212", ERROR, "The database's disk is full; writes get 503.",                                             \
      "free space on the disk of PostgreSQL's data directory and pg_wal: see df, pg_replication_slots and archive_command")    \
    X(CONNECTION_LIMIT, "NEO0213", ERROR, "PostgreSQL has no free connection slot; requests get 503.",                         \
      "see pg_stat_activity for what uses the connections; increase max_connections, or reduce DBDMax or MaxRequestWorkers")   \
    X(READ_ONLY, "NEO0214", ERROR,                                                                                             \
      "The database is a standby, or default_transaction_read_only is set; writes get 503 and change nothing.",                \
      "connect to the primary (target_session_attrs=read-write), promote the standby, or reset default_transaction_read_only") \
    X(STARTING, "NEO0215", ERROR, "PostgreSQL is starting, stopping or recovering; requests get 503.",                         \
      "no action needed if it ends soon; otherwise see PostgreSQL's log")                                                      \
    X(ROLE_REFUSED, "NEO0216", ERROR, "PostgreSQL refuses the role or its authentication; requests get 503.",                  \
      "correct the role's line in pg_hba.conf (the first that matches applies) and pg_ident.conf, or the user and the "        \
      "password in DBDParams, and reload PostgreSQL")                                                                          \
    X(NO_DATABASE, "NEO0217", ERROR, "The database in DBDParams does not exist; requests get 503.",                            \
      "correct DBDParams, or create the database with: neoapictl setup")                                                       \
    X(REPLACED, "NEO0218", ERROR,                                                                                              \
      "A new connection led to a database server that has been replaced: its event log has an older epoch than one that this " \
      "host has seen, for example because a former primary is writable again. It is not used; requests get 503.",              \
      "stop that server, or make it a standby of the new primary; httpd needs no restart. If its data are those to continue "  \
      "with, for example because its files were restored from a snapshot, stop the other one and run neoapictl events "        \
      "new-epoch on it")                                                                                                       \
    X(READ_REPLICA, "NEO0219", WARNING, "No replica can answer reads; the primary answers them.",                              \
      "check that NeoAPIReadDSN leads to running replicas of the primary that do not lag; neoapictl doctor names the cause")   \
    X(NO_LEASES, "NEO0220", WARNING,                                                                                           \
      "Rate limit leases cannot be exchanged with the other hosts; each host now enforces at most limit / hosts.",             \
      "see the reason in the line; neoapictl doctor names hosts that do not exchange them")                                    \
    X(RANKS_FULL, "NEO0221", WARNING,                                                                                          \
      "The host has connected to too many databases; in further ones, it does not notice that a server has been replaced.",    \
      "stop and start httpd if the service file or DBDParams has changed; otherwise spread the databases over several hosts")  \
    X(NO_CURL, "NEO0301", ERROR, "libcurl cannot be initialized; this process delivers no webhooks.",                          \
      "restart httpd; if it persists, check the available memory")                                                             \
    X(SUBSCRIPTION_ENDED, "NEO0302", WARNING, "A webhook subscription was deactivated because its receiver is gone.",          \
      "no action needed; its owner activates it again when the receiver works. Pending deliveries are kept")                   \
    X(SECRET_SEALED, "NEO0303", ERROR,                                                                                         \
      "A webhook's secret cannot be decrypted with any key of the key file; nothing was sent.",                                \
      "if the key file was changed, reload httpd; otherwise restore the key that encrypted it, or rotate the secret")          \
    X(NOT_RELEASED, "NEO0304", WARNING, "A process ended without releasing its claimed webhooks.",                             \
      "no action needed; they are sent when their leases expire")                                                              \
    X(NOT_RECORDED, "NEO0305", ERROR, "Results of delivery attempts could not be recorded; the attempts are repeated.",        \
      "report this line")                                                                                                      \
    X(SPANS_DROPPED, "NEO0306", WARNING, "The trace collector does not accept spans; they are dropped.",                       \
      "check NeoAPITraceCollector and the collector; requests and deliveries are not affected")                                \
    X(VERIFY_TOKEN, "NEO0401", WARNING, "A callback verification had an unknown verify token and was refused.",                \
      "enter the verify token printed by neoapictl whatsapp number create at Meta, or set one with: "                          \
      "neoapictl whatsapp number change")                                                                                      \
    X(APP_SECRET_SEALED, "NEO0402", ERROR,                                                                                     \
      "A number's app secret cannot be decrypted with any key of the key file; its callbacks are refused.",                    \
      "restore the key that encrypted it, or set the secret again with: neoapictl whatsapp number change")                     \
    X(NOT_SIGNED, "NEO0403", WARNING, "A callback is not signed with its number's app secret and was refused.",                \
      "if it is from Meta, compare the secret with the app's basic settings and set it with: neoapictl whatsapp number "       \
      "change")                                                                                                                \
    X(NUMBER_UNKNOWN, "NEO0404", WARNING, "A callback for an unknown number was ignored.",                                     \
      "if the number is yours, add it with: neoapictl whatsapp number create")                                                 \
    X(CALLBACK_UNREAD, "NEO0405", WARNING, "A callback, or a part of it, is malformed and was ignored.",                       \
      "no action needed; if it is frequent, report this line")                                                                 \
    X(CALLBACK_MISPLACED, "NEO0406", ERROR,                                                                                    \
      "SetHandler neoapi-whatsapp, -leads or -listings is in a virtual host without NeoAPI On; it answers with 500.",          \
      "move it into a virtual host that has NeoAPI On")                                                                        \
    X(PORTAL_SECRET, "NEO0407", WARNING, "A lead was not sent with its portal's secret and was refused.",                      \
      "if it is from the portal, set its secret with: neoapictl portal rotate")                                                \
    X(LEAD_REJECTED, "NEO0408", WARNING, "A portal's lead could not be created; it is kept.",                                  \
      "see the reason with neoapictl lead rejected; create it with: neoapictl lead accept")                                    \
    X(ACCESS_TOKEN_SEALED, "NEO0411", ERROR,                                                                                   \
      "A number's access token cannot be decrypted with any key of the key file; nothing was sent.",                           \
      "restore the key that encrypted it, or set the token again with: neoapictl whatsapp number change")                      \
    X(ACCESS_TOKEN, "NEO0412", ERROR, "Meta rejected a number, its access token or its account; nothing was sent.",            \
      "compare phone_number_id with Meta's, set a valid token with the permission whatsapp_business_messaging (neoapictl "     \
      "whatsapp number change), and check the account in Meta's WhatsApp Manager")                                             \
    X(NO_PROVIDER, "NEO0413", ERROR, "The server at NeoAPIWhatsAppURL is not Meta's; nothing was sent.",                       \
      "compare NeoAPIWhatsAppURL and NeoAPIWhatsAppVersion with Meta's documentation, and check for a proxy")                  \
    X(PROVIDER_BUSY, "NEO0414", ERROR,                                                                                         \
      "Meta temporarily accepts no messages of a number; nothing was sent, and the client was asked to retry.",                \
      "no action needed; if it is frequent, check the number's limits at Meta")                                                \
    X(PROVIDER_UNREACHABLE, "NEO0415", WARNING,                                                                                \
      "Meta could not be reached; nothing was sent, and the client was asked to retry.",                                       \
      "if it persists, check NeoAPIWhatsAppURL and the outbound network")                                                      \
    X(SEND_UNCONFIRMED, "NEO0416", WARNING, "Delivery to Meta is unconfirmed; the message is not retried.",                    \
      "no action needed; it stays pending until a status arrives")                                                             \
    X(MESSAGE_REFUSED, "NEO0417", NOTICE, "Meta rejected a message or its template permanently.",                              \
      "no action needed; the client got the reason")                                                                           \
    X(NO_TEMPLATE, "NEO0418", WARNING, "Meta did not return a template; its messages are sent unchecked, without text.",       \
      "give the number's access token the permission whatsapp_business_management, and compare waba_id with Meta's")           \
    X(NO_MEDIA, "NEO0419", WARNING, "A contact's attachment could not be read from Meta; the client was asked to retry.",      \
      "see the reason in the line: for blocked_address and address_not_trusted, check NeoAPIWhatsAppURL, "                     \
      "NeoAPIWebhookAllowAddress and name resolution; otherwise check the access token and the outbound network")              \
    X(NO_REPORT, "NEO0420", WARNING, "Meta did not return an account's templates or numbers; clients get the stored ones.",    \
      "give the number's access token the permission whatsapp_business_management, and compare waba_id with Meta's")           \
    X(SLOW_CLIENTS, "NEO0501", WARNING,                                                                                        \
      "Clients that send or read slowly were disconnected, or their bodies refused, because they occupied threads.",           \
      "no action needed; if they are legitimate, increase ThreadsPerChild")                                                    \
    X(NETWORK, "NEO0502", WARNING,                                                                                             \
      "A credential's secret was sent from an address outside of its allowed networks; the request was refused.",              \
      "if the client is not the owner's, the secret is lost: give it a new one with neoapictl key rotate or token rotate "     \
      "(--grace 0); otherwise change --allowed-networks, and check RemoteIPInternalProxy behind a proxy")

#endif
