// SPDX-License-Identifier: Apache-2.0
// Ids as the API has them: a prefix, the time in ten digits of base32 and sixteen random ones.
import { randomFillSync } from "node:crypto";

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const pool = Buffer.alloc(16 * 256); // a call of the generator costs more than its bytes
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
