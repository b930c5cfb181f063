// SPDX-License-Identifier: Apache-2.0
// What the story uses of Node.
declare module "node:crypto" {
  export function randomUUID(): string;
}
declare const process: { env: Record<string, string | undefined> };
