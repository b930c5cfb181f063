// SPDX-License-Identifier: Apache-2.0
// The types of Node that story.ts and the client of the page "Keeping in sync" use.
declare module "node:crypto" {
  export function randomUUID(): string;
}
declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function writeFileSync(path: string, text: string): void;
  export function renameSync(from: string, to: string): void;
}
declare module "node:process" {
  const process: { env: Record<string, string | undefined> };
  export default process;
}
declare const process: { env: Record<string, string | undefined>; argv: string[] };
