/* Every message of the error log, by an identifier that stays: a row is its name, the identifier, its level, when it is logged,
 * and what to do. What is to do is part of each line that is logged; the manual lists the rows. A number is never used again
 * for something else. 01: starting; 02: the database; 03: webhooks; 04: WhatsApp. */
#ifndef NEO_CORE_MESSAGES_H
#define NEO_CORE_MESSAGES_H

#define NEO_EVERY_MESSAGE(X)                                                                                                   \
    X(NO_DBD, "NEO0101", FATAL, "mod_dbd is not loaded; httpd does not start.",                                                \
      "enable it (Debian: a2enmod dbd; elsewhere: LoadModule dbd_module ...)")                                                 \
    X(NO_DRIVER, "NEO0102", FATAL, "There is no DBDriver; httpd does not start.",                                              \
      "set DBDriver pgsql, and DBDParams to where the database is")                                                            \
    X(OTHER_DRIVER, "NEO0103", FATAL, "DBDriver names another database than PostgreSQL; httpd does not start.",                \
      "set DBDriver pgsql")                                                                                                    \
    X(NO_PARAMS, "NEO0104", FATAL, "There is no DBDParams; httpd does not start.",                                             \
      "set it to where the database is, such as DBDParams \"service=neoapi\"")                                                 \
    X(ONE_CONNECTION, "NEO0105", FATAL, "DBDMax leaves no connection for requests; httpd does not start.",                     \
      "set it to two more than ThreadsPerChild")                                                                               \
    X(FEW_CONNECTIONS, "NEO0106", WARNING,                                                                                     \
      "DBDMax is lower than the number of threads, so that requests wait for one another.",                                    \
      "it is to be ThreadsPerChild and two more")                                                                              \
    X(NO_BASE_URL, "NEO0111", FATAL, "There is no NeoAPIBaseURL; httpd does not start.",                                       \
      "set it to the address that clients use, such as https://api.example.com/public/v1/")                                    \
    X(NO_KEY_FILE, "NEO0112", FATAL, "There is no NeoAPIKeyFile; httpd does not start.",                                       \
      "set it to the file with the deployment's secret key; make one with: "                                                   \
      "(set -C && umask 077 && openssl rand -base64 32 >/etc/neoapi/key)")                                                     \
    X(BAD_KEY_FILE, "NEO0113", FATAL, "The key file cannot be used; httpd does not start.",                                    \
      "every host of a deployment has the same key file, readable by root alone")                                              \
    X(KEY_FILE_CHANGED, "NEO0114", FATAL, "The key file changed between its check and its use; httpd does not start.",         \
      "start it again")                                                                                                        \
    X(NO_MEMORY, "NEO0115", FATAL, "There is no shared memory for counters; httpd does not start.",                            \
      "choose fewer NeoAPIRateLimitEntries, or allow more shared memory")                                                      \
    X(NOT_USED, "NEO0116", NOTICE, "The module is loaded, and no location has NeoAPI On: it does nothing.",                    \
      "hand a path to it with NeoAPI On, as the example that came with it does, and restart Apache")                           \
    X(NO_CONNECTION, "NEO0201", ERROR, "A request got no connection to the database and was answered with 503.",               \
      "mod_dbd's message before this one says why")                                                                            \
    X(DATABASE_AWAY, "NEO0202", ERROR,                                                                                         \
      "The database ended a connection, took too long or takes no statements; the request was answered with 503.",             \
      "see that PostgreSQL runs, is the primary, and is not overloaded; nothing else need be restarted")                       \
    X(STATEMENT_FAILED, "NEO0203", ERROR, "The database refused a statement; the request was answered with 500.",              \
      "check the schema with: neoapictl doctor; where it finds nothing, report this line")                                     \
    X(SCHEMA_OLD, "NEO0204", ERROR,                                                                                            \
      "The database's schema is missing or older than this module; requests are answered with 503 until it fits.",             \
      "bring it up to date with: neoapictl migrate")                                                                           \
    X(SCHEMA_MISSING, "NEO0205", ERROR, "The database has no schema; requests are answered with 503 until it is made.",        \
      "make it with: neoapictl setup")                                                                                         \
    X(BEGUN_AGAIN, "NEO0206", WARNING, "A batch's transaction was undone by the database and is carried out once more.",       \
      "nothing, unless it comes often: then see what else locks the same rows")                                                \
    X(NOT_LISTENING, "NEO0207", ERROR,                                                                                         \
      "A connection pooler keeps notifications back, so that every request asks the database about its credential.",           \
      "connect past the pooler, unless that is good enough")                                                                   \
    X(NO_CURL, "NEO0301", ERROR, "libcurl cannot be used; this process delivers no webhooks.",                                 \
      "restart Apache; where that does not help, see how much memory it has")                                                  \
    X(SUBSCRIPTION_ENDED, "NEO0302", WARNING, "A webhook subscription was made inactive, because its receiver is gone.",       \
      "its owner makes it active again once the receiver works; what is pending stays")                                        \
    X(SECRET_SEALED, "NEO0303", ERROR, "A webhook's secret cannot be opened with any key of the key file; nothing was sent.",  \
      "put the key back that it was sealed with, or rotate the secret")                                                        \
    X(NOT_GIVEN_BACK, "NEO0304", WARNING, "A process ended and could not give back the webhooks that it had claimed.",         \
      "nothing: they are sent when their lease is over")                                                                       \
    X(NOT_RECORDED, "NEO0305", ERROR, "What became of attempts at deliveries could not be recorded; they are made again.",     \
      "report this line")                                                                                                      \
    X(VERIFY_TOKEN, "NEO0401", WARNING, "A callback's address was verified with a token that no number has, and was refused.", \
      "enter at Meta the verify token that neoapictl whatsapp number add has shown, or set one: neoapictl whatsapp number "    \
      "update")                                                                                                                \
    X(APP_SECRET_SEALED, "NEO0402", ERROR,                                                                                     \
      "A number's app secret cannot be opened with any key of the key file; its callbacks are refused.",                       \
      "put the key back that it was sealed with, or give the secret anew: neoapictl whatsapp number update")                   \
    X(NOT_SIGNED, "NEO0403", WARNING, "A callback is not signed with its number's app secret and was refused.",                \
      "if it is Meta's, compare the secret in the app's basic settings, and give it anew: neoapictl whatsapp number update")   \
    X(NUMBER_UNKNOWN, "NEO0404", WARNING, "A callback is about a number that no organization has, and was refused.",           \
      "if it is yours, add it: neoapictl whatsapp number add")                                                                 \
    X(CALLBACK_UNREAD, "NEO0405", WARNING, "A callback, or a part of it, makes no sense and was left out.",                    \
      "nothing, unless it comes often: then report this line")                                                                 \
    X(CALLBACK_MISPLACED, "NEO0406", ERROR,                                                                                    \
      "SetHandler neoapi-whatsapp stands in a virtual host that has no NeoAPI On; it answers with 500.",                       \
      "move it into one that has")                                                                                             \
    X(ACCESS_TOKEN_SEALED, "NEO0411", ERROR,                                                                                   \
      "A number's access token cannot be opened with any key of the key file; nothing was sent.",                              \
      "put the key back that it was sealed with, or give the token anew: neoapictl whatsapp number update")                    \
    X(ACCESS_TOKEN, "NEO0412", ERROR,                                                                                          \
      "The provider refuses a number's access token, or knows no such number for it; nothing was sent.",                       \
      "compare the phone_number_id with Meta's, and give the number a valid token with the permission "                        \
      "whatsapp_business_messaging: neoapictl whatsapp number update")                                                         \
    X(NO_PROVIDER, "NEO0413", ERROR, "What answers at NeoAPIWhatsAppURL is not the provider; nothing was sent.",               \
      "compare the directive with Meta's documentation, and look for a proxy in between")                                      \
    X(PROVIDER_BUSY, "NEO0414", WARNING,                                                                                       \
      "The provider takes no message of a number at the moment; nothing was sent, and the client was told to come again.",     \
      "nothing, unless it comes often: then look at the number's limits at Meta")                                              \
    X(PROVIDER_AWAY, "NEO0415", WARNING,                                                                                       \
      "The provider could not be reached; nothing was sent, and the client was told to come again.",                           \
      "where it stays, look at NeoAPIWhatsAppURL and at the way out of this network")                                          \
    X(SENT_OR_NOT, "NEO0416", WARNING, "Whether the provider took a message is not known; it is not sent again.",              \
      "nothing: it stays pending until a status arrives")                                                                      \
    X(MESSAGE_REFUSED, "NEO0417", NOTICE, "The provider refuses a message for good, or its template.",                         \
      "nothing: the client was told why")

#endif
