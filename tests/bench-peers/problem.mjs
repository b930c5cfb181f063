// SPDX-License-Identifier: Apache-2.0
// An error that becomes a problem document.
export class Problem extends Error {
    constructor(status, code, detail, more = {}) {
        super(detail);
        Object.assign(this, { statusCode: status, code, more });
    }
}
