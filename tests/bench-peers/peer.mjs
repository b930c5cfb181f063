// SPDX-License-Identifier: Apache-2.0
// The Node.js server that the module is compared with: a framework and postgres.js in two processes that share a port. Prints "ready"
// when both listen.
//
//   peer.mjs {"framework", "host", "port", "user", "database", "listen"}
import cluster from "node:cluster";
import postgres from "postgres";

const PROCESSES = 2;
const wanted = JSON.parse(process.argv[2]);

if (cluster.isPrimary) {
    let listening = 0;
    cluster.on("listening", () => { if (++listening === PROCESSES) console.log("ready"); });
    cluster.on("exit", () => process.exit(1)); // so that no measurement continues with one process
    for (let n = 0; n < PROCESSES; n++) cluster.fork();
} else {
    const { listen } = await import(`./${wanted.framework}.mjs`);
    const sql = postgres({ host: wanted.host, port: wanted.port, username: wanted.user, database: wanted.database, max: 10,
        connection: { application_name: "peer" } });
    await listen(sql, "127.0.0.1", wanted.listen);
}
