// SPDX-License-Identifier: Apache-2.0
// What would be built instead in Node: Fastify and postgres.js in two processes that share a port. Says "ready" when all listen.
//
//   peer.mjs {"host", "port", "user", "database", "listen"}
import cluster from "node:cluster";
import { createServer } from "./server.mjs";

const PROCESSES = 2;
const wanted = JSON.parse(process.argv[2]);

if (cluster.isPrimary) {
    let listening = 0;
    cluster.on("listening", () => { if (++listening === PROCESSES) console.log("ready"); });
    cluster.on("exit", () => process.exit(1)); // a measurement with one process less would be wrong
    for (let n = 0; n < PROCESSES; n++) cluster.fork();
} else {
    const server = await createServer(wanted);
    await server.listen({ host: "127.0.0.1", port: wanted.listen });
}
