// SPDX-License-Identifier: Apache-2.0
// Ids in the API's format: a prefix, the time as ten base32 digits, and sixteen random digits.
import { randomFillSync } from "node:crypto";

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const pool = Buffer.alloc(16 * 256); // one call of the generator for 256 ids
let used = pool.length;

export function newId(prefix) {
    if (used === pool.length) {
        randomFillSync(pool);
        used = 0;
    }
    let time = Date.now(), text = "";
    for (let n = 0; n < 10; n++) {
        text = DIGITS[time % 32] + text;
        time = Math.floor(time / 32);
    }
    for (let n = 0; n < 16; n++) text += DIGITS[pool[used++] & 31];
    return prefix + text;
}
