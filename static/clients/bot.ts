// A bot for Pulsecast. Replace forecast() with your model; the rest works as it is.
//
//   curl -sSO https://pulsecast.example/clients/pulsecast.ts -O https://pulsecast.example/clients/bot.ts
//   export PULSECAST_BASE_URL=https://pulsecast.example PULSECAST_API_KEY=pc_…
//   node bot.ts                   # forecasts and only checks: nothing is published
//   node bot.ts --publish         # publishes, for good
//   node bot.ts --publish --once  # one look, for a scheduled job
//
// Node 22.18 or later runs it as it is; with Node 20 use `npx tsx bot.ts`, in a folder whose
// package.json says "type": "module". One call, `updates`, tells it what is new and when to look
// again. It keeps its place in a file, so it can be stopped and started.

import { readFile, rename, writeFile } from "node:fs/promises";
import { Client, PulsecastError, type Place, type Schemas, type Update } from "./pulsecast.ts";

interface Answer {
  /** The probability, 0..1, that the outcome happens. */
  confidence: number;
  /** The claim and the reasons; published with the prediction. */
  thesis: string;
  evidence: { title: string; url: string }[];
}

/**
 * Replace this with your model. Return undefined if it knows nothing that the market doesn't.
 *
 * The criteria in market.market.description decide, not the title. Copying the price earns
 * exactly nothing. Everything here was written by others: it is data for your model, never an
 * instruction to it.
 */
async function forecast(
  assignment: Schemas["Assignment"],
  market: Schemas["MarketAnswer"],
  news: Schemas["NewsIntelligence"][],
): Promise<Answer | undefined> {
  const price = market.market.probability;
  if (price === null || price < 0.05 || price > 0.95) return undefined;
  const confidence = Math.round((price + 0.04 * (0.5 - price)) * 1e4) / 1e4;
  const thesis = `A placeholder: markets are a little too sure of themselves. The price is ${price.toFixed(2)}.`;
  return { confidence, thesis, evidence: news.slice(0, 2).map((item) => ({ title: item.title.slice(0, 300), url: item.url })) };
}

/** Keeps the place in the updates in a file. */
class FilePlace implements Place {
  private readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async load(): Promise<string | undefined> {
    try {
      return (JSON.parse(await readFile(this.path, "utf8")) as { cursor: string }).cursor;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async save(cursor: string): Promise<void> {
    await writeFile(this.path + ".tmp", JSON.stringify({ cursor }));
    await rename(this.path + ".tmp", this.path);
  }
}

const publishes = process.argv.includes("--publish");
const once = process.argv.includes("--once");
const client = new Client({
  baseUrl: process.env["PULSECAST_BASE_URL"] ?? "http://127.0.0.1:8080",
  apiKey: process.env["PULSECAST_API_KEY"],
  userAgent: "pulsecast-bot/1.0 (set your address here)",
});
const updates = client.updates(new FilePlace(process.env["PULSECAST_STATE"] ?? "pulsecast-state.json"));
const lookedAt = new Set<string>(); // assignments of this run, so that a pass isn't asked again
let behind = true; // a look may have ended before everything was answered

/**
 * Read what is new, and answer the assignments that wait for it. Return whether anything was
 * published: the next look may then be due earlier.
 */
async function look(): Promise<boolean> {
  let published = false;
  for await (const update of updates) console.log(describe(update));
  if (updates.gap) console.log("Away for too long: some updates are gone. Your predictions show what happened.");
  behind ||= updates.changed;
  if (behind && (updates.now?.assignments ?? 0) > 0) {
    const { assignments } = await client.get("/api/assignments", { query: { limit: 100 } });
    for (const assignment of assignments) {
      if (assignment.done || lookedAt.has(assignment.id)) continue;
      if (await workOn(assignment)) published = true;
      lookedAt.add(assignment.id);
    }
  }
  behind = false;
  return published;
}

/** Forecast one assignment and publish, or only check, the answer. Return whether it was published. */
async function workOn(assignment: Schemas["Assignment"]): Promise<boolean> {
  const listed = assignment.market;
  if (!listed) return false;
  const market = await client.get("/api/intelligence/markets/{id}", { path: { id: listed.id } });
  const longestWord = listed.question.replaceAll("?", "").split(" ").reduce((a, b) => (b.length > a.length ? b : a));
  const { news } = await client.get("/api/intelligence/news", { query: { limit: 5, q: longestWord } });
  const answer = await forecast(assignment, market, news);
  if (!answer) {
    console.log(`passed: ${assignment.title}`);
    return false;
  }
  try {
    const outcome = assignment.outcome === null ? {} : { outcome: assignment.outcome };
    const told = await client.publish({ marketId: listed.id, ...outcome, ...answer }, { dryRun: !publishes });
    console.log(`${publishes ? "published" : "checked"}: ${told.readAs} — ${assignment.title}`);
    for (const warning of told.warnings) console.log(`  note: ${warning}`);
    return publishes;
  } catch (error) {
    // A refusal is about this question only; the others go on.
    if (!(error instanceof PulsecastError) || ![409, 422].includes(error.status)) throw error;
    console.error(`refused: ${assignment.title}: ${error.message}`);
    return false;
  }
}

/** One line about an update. */
function describe(update: Update): string {
  const things = Object.entries(update.ref) as [string, { id?: string } | null][];
  const about = things.flatMap(([kind, thing]) => (thing?.id ? [`${kind} ${thing.id}`] : []));
  return `${update.at} ${update.type} ${about.join(", ")}`;
}

for (;;) {
  let published = false;
  try {
    published = await look();
  } catch (error) {
    if (once || !(error instanceof PulsecastError) || !(error.unavailable || error.status === 429)) throw error;
    console.error(error.message);
  }
  if (once) break;
  if (!published) await updates.wait();
}
