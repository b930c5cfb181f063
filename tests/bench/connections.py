# SPDX-License-Identifier: Apache-2.0
"""Measures how many threads and database connections a process needs: reads and creates over TLS by 1 to 64 clients, with each MPM
and several values of DBDMax."""

from statistics import median

from comparisons import creates, gets
from load import Load

CLIENTS = (1, 4, 16, 64)
DATABASE_CONNECTIONS = (4, 8, 16, 27)  # DBDMax of each of two processes; 16 is shipped
KINDS = {"get": gets, "create": creates}


def measure(bench, load):
    """The medians of the runs: responses per second, and the 99th percentile of the latency in milliseconds."""
    runs = []
    load.run(1)
    for _ in range(bench.pairs):
        runs.append(load.run(bench.seconds))
        bench.expect(runs[-1].refused + runs[-1].broken == 0, f"{load.file.name}: {runs[-1].refused} answers with 4xx or 5xx, "
                     f"{runs[-1].broken} without an answer")
    return median(run.rate for run in runs), median(run.p99_us for run in runs) / 1000


def connections(bench):
    deployment = bench.deployment
    for name, kind in KINDS.items():
        print(f"\n{name} over TLS: answers a second, and the time within which 99 of 100 arrive\n  {'':16}"
              + "".join(f"{f'{clients} clients':>20}" for clients in CLIENTS), flush=True)
        for mpm in ("event", "worker"):
            for most in DATABASE_CONNECTIONS:
                deployment.up(MPM=mpm, DB_CONNECTIONS=str(most), THREADS="100")
                cells = []
                for clients in CLIENTS:
                    load = Load(deployment, f"connections-{name}", kind(deployment, "ours"), connections=clients)
                    load.url = f"https://localhost:{deployment.env['NEOAPI_PORT']}"
                    cells.append(measure(bench, load))
                    deployment.clean()
                print(f"  {f'{mpm}, DBDMax {most}':16}" + "".join(f"{f'{rate:,.0f}, {late:.1f} ms':>20}" for rate, late in cells),
                      flush=True)
    deployment.up()
