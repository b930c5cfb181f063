// SPDX-License-Identifier: Apache-2.0
// Validates Kubernetes objects, a JSON array on standard input, against the API's schemas: validate.mjs TOOLS
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const models = pathToFileURL(`${process.argv[2]}/node_modules/kubernetes-models/`);
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
    const kinds = await import(new URL(`${object.apiVersion}/index.js`, models));
    new kinds[object.kind](object).validate();
}
