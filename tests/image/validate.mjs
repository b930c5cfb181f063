// SPDX-License-Identifier: Apache-2.0
// Validates Kubernetes objects, a JSON array on standard input, against the API's schemas: validate.mjs TOOLS
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.argv[2] + "/");
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
    const kinds = require(`kubernetes-models/${object.apiVersion}`);
    new kinds[object.kind](object).validate();
}
