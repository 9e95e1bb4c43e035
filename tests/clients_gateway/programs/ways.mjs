// What every node program here shares: jobs in, one JSON line out for each.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const told = JSON.parse(readFileSync(process.argv[2], "utf8"));
export const url = told.url;
export const token = told.token;
export const ASK = "Where is the Beethoven house, and how many floors has it?";
export const MESSAGES = [{ role: "user", content: ASK }];

// The packages live in a folder of their own, which imports of this folder do not reach.
const here = createRequire(process.env.CLIENTS_NODE_HOME + "/");
export const load = async (name) => import(pathToFileURL(here.resolve(name)).href);

export const { z } = await load("zod");
export const City = z.object({ city: z.string(), n: z.number().int() });

export async function main(ways) {
  const out = process.argv[3];
  writeFileSync(out, "");
  for (const job of told.jobs) {
    let row;
    try {
      const value = await ways[job.way](job.model);
      row = { ...job, value: typeof value === "string" ? JSON.parse(value) : value };
    } catch (error) {
      row = { ...job, error: String(error?.stack ?? error) };
    }
    appendFileSync(out, JSON.stringify(row) + "\n");
  }
}
