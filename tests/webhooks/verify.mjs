// SPDX-License-Identifier: Apache-2.0
// Verifies deliveries with the libraries that receivers use. Reads an array of {"secret", "headers", "body" in base64} and prints
// the results of both libraries for each.
import { readFileSync } from "node:fs";
import { verify } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";

function standard(secret, body, headers) {
    try {
        new Webhook(secret).verify(body, headers);
        return true;
    } catch (error) {
        return error.message;
    }
}

const found = [];
for (const { secret, headers, body } of JSON.parse(readFileSync(0, "utf8"))) {
    const text = Buffer.from(body, "base64").toString("utf8");
    found.push({
        octokit: await verify(secret, text, headers["x-webhook-signature"]),
        standard: standard(secret, text, headers),
    });
}
console.log(JSON.stringify(found));
