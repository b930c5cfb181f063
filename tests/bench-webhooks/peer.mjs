// SPDX-License-Identifier: Apache-2.0
// The job queue that the courier is compared with: graphile-worker fetches and completes jobs in batches, undici sends them with one
// HMAC each. Prints one line of JSON: the time from the commit of the jobs until the last one is completed.
//
//   peer.mjs {"host", "port", "user", "database", "url", "count", "size", "concurrency", "history"}
import { createHmac, randomBytes } from "node:crypto";
import { setTimeout as nap } from "node:timers/promises";
import { Logger, run } from "graphile-worker";
import pg from "pg";
import { Pool } from "undici";

const wanted = JSON.parse(process.argv[2]);
const secret = "whsec_" + randomBytes(32).toString("base64");
const target = new URL(wanted.url);
const receiver = new Pool(target.origin, { connections: wanted.concurrency, pipelining: 1 });
const database = new pg.Pool({ host: wanted.host, port: wanted.port, user: wanted.user, database: wanted.database, max: 20 });
database.on("error", (error) => { throw error; });
database.on("connect", (client) => client.on("error", () => {})); // its queries report the failure
const stem = "whd_01k00000000000000";

const record = {
    name: "record",
    text: `with attempt as (insert into bench.attempt (delivery_id, number, started_at, duration_ms, http_status, outcome)
               values ($1, $2, $3, $4, $5, $6))
           update bench.delivery set status = $6, http_status = $5, attempt_count = $2, completed_at = now() where id = $1`,
};

async function deliver(event, helpers) {
    const started = Date.now();
    const body = JSON.stringify(event);
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const answer = await receiver.request({
        path: target.pathname,
        method: "POST",
        headers: { "content-type": "application/json", "x-webhook-signature": "sha256=" + signature },
        body,
    });
    await answer.body.dump();
    const isSuccess = answer.statusCode >= 200 && answer.statusCode <= 299;
    if (wanted.history) {
        const values = [event.id, helpers.job.attempts, new Date(started), Date.now() - started, answer.statusCode,
            isSuccess ? "success" : "failed"];
        await database.query({ ...record, values });
    }
    if (!isSuccess) throw new Error("answered " + answer.statusCode);
}

const start = () => run({
    pgPool: database,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    taskList: { deliver },
    preset: { worker: { concurrentJobs: wanted.concurrency, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
});

const schema = `create schema if not exists bench;
    create table if not exists bench.delivery (id text collate "C" primary key, event_type text not null, status text not null,
        http_status int, attempt_count int not null default 0, created_at timestamptz not null, completed_at timestamptz)
        with (fillfactor = 70);
    create table if not exists bench.attempt (delivery_id text collate "C" not null, number int not null,
        started_at timestamptz not null, duration_ms int not null, http_status int, outcome text,
        primary key (delivery_id, number));
    truncate bench.delivery, bench.attempt`;

// The envelope with the event, padded to `size` bytes.
const jobs = `with event (n, id) as (select n, '${stem}' || lpad(n::text, 9, '0') from generate_series(1, $1::int) n),
    kept as (insert into bench.delivery (id, event_type, status, created_at)
        select id, 'broker.created', 'pending', now() from event where $3)
    select count(graphile_worker.add_job('deliver', json_build_object('id', id, 'event_type', 'broker.created',
        'created_at', to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'payload', json_build_object(
            'id', 'brk_' || lpad(n::text, 26, '0'), 'name', 'Maria Aparecida dos Santos', 'creci', 'CRECISP' || n,
            'email', 'broker.' || n || '@example.com', 'note', repeat('x', $2::int - 261 - 2 * length(n::text))))))
    from event`;

async function isDone() {
    const { rows } = await database.query("select not exists (select from graphile_worker._private_jobs) as done");
    return rows[0].done;
}

// Fills the queue and processes it. Returns the time in seconds.
async function round(count) {
    await database.query("truncate bench.delivery, bench.attempt, graphile_worker._private_jobs");
    await database.query(jobs, [count, wanted.size, wanted.history]);
    await database.query("vacuum (analyze) graphile_worker._private_jobs");
    await database.query("vacuum (analyze) bench.delivery");
    await database.query("checkpoint");
    const since = performance.now();
    const runner = await start();
    while (!(await isDone())) await nap(5);
    const took = (performance.now() - since) / 1000;
    await runner.stop();
    return took;
}

await database.query(schema);
await (await start()).stop(); // creates its tables
const warm = Math.min(5000, wanted.count);
await round(warm); // warms up the compiler
const seconds = await round(wanted.count);
const { rows } = await database.query(
    "select count(*)::int as attempts, count(*) filter (where outcome = 'success')::int as good from bench.attempt");
console.log(JSON.stringify({ seconds, warm, ...rows[0] }));
await receiver.close();
await database.end();
process.exit(0);
