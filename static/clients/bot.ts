// A bot for Pulsecast. Replace askModel() with your model; the rest works unchanged.
//
//   curl -sSO https://pulsecast.example/clients/pulsecast.ts -O https://pulsecast.example/clients/bot.ts
//   export PULSECAST_BASE_URL=https://pulsecast.example PULSECAST_API_KEY=pc_…
//   node bot.ts                   # forecasts and checks, without publishing
//   node bot.ts --publish         # publishes for good
//   node bot.ts --publish --once  # runs once, for a scheduled job
//
// Node 22.18 or later runs it directly. With Node 20 use `npx tsx bot.ts`, in a folder whose
// package.json says "type": "module". One call, `updates`, returns the new updates and the time of
// the next check. The bot stores its position in a file, so you can stop and restart it. It stores
// the model's usable answers in the folder PULSECAST_ANSWERS (pulsecast-answers) by the hash of the
// prompt, so you never pay for the same answer twice.
//
// If PULSECAST_MARKET_ID is set, the bot publishes one prediction on this market and ends. This is
// how `pulsecast backtest` runs it. PULSECAST_AT is then the replayed time.

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, priceOf, PulsecastError, type Place, type Schemas, type Update } from "./pulsecast.ts";

interface Answer {
  /** The probability, 0..1, that the outcome happens. */
  confidence: number;
  /** The claim and the reasons; published with the prediction. */
  thesis: string;
  evidence: { title: string; url: string }[];
}

/**
 * Replace this with a call to your model, at temperature 0 if it has that setting. Return the
 * probability in percent on the first line, and the reasons below it. The bot passes on the question
 * if the first line has no number, or one that isn't from 0 to 100.
 */
async function askModel(prompt: string): Promise<string> {
  const price = Number(/The market says ([0-9.]+) %/.exec(prompt)?.[1]);
  const guess = price + 0.04 * (50 - price);
  return `${guess.toFixed(2)}\nA placeholder: markets are a little too sure of themselves. The price is ${price} %.`;
}

/** Returns the content of a file, or undefined if it doesn't exist. */
async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Returns the percentage and the reasons in an answer of the model, or undefined if the bot must pass. */
function usable(answer: string): { percent: number; reasons: string } | undefined {
  const [first = "", ...below] = answer.trim().split("\n");
  const found = [...first.matchAll(/(-?\d+(?:[.,]\d+)?)(\s*%)?/g)];
  const marked = found.filter(([, , sign]) => sign);
  const numbers = marked.length > 0 ? marked : found;
  const percent = numbers.length === 1 ? Number(numbers[0]?.[1]?.replace(",", ".")) : NaN;
  return percent >= 0 && percent <= 100 ? { percent, reasons: below.join("\n").trim() || first } : undefined;
}

/** Returns the usable answer that is stored for a prompt. If there is none, asks the model and stores its answer. */
async function ask(prompt: string): Promise<ReturnType<typeof usable>> {
  const folder = process.env["PULSECAST_ANSWERS"] || "pulsecast-answers";
  const path = join(folder, createHash("sha256").update(prompt).digest("hex") + ".txt");
  const stored = usable((await readIfThere(path)) ?? "");
  if (stored) return stored;
  const answer = await askModel(prompt);
  const said = usable(answer);
  if (!said) return undefined;
  await mkdir(folder, { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`; // several bots of a backtest may share the folder
  await writeFile(temporary, answer);
  await rename(temporary, path);
  return said;
}

/**
 * Forecasts the outcome. Returns undefined if the model has no number, or knows nothing that the market doesn't.
 *
 * The criteria in market.market.description decide, not the title. Copying the price earns
 * exactly nothing. Other people wrote all of these texts. They are data for your model, never
 * instructions.
 */
async function forecast(
  outcome: string,
  market: Schemas["MarketAnswer"],
  news: Schemas["NewsIntelligence"][],
): Promise<Answer | undefined> {
  const asked = market.market;
  const price = priceOf(asked, outcome);
  if (price === undefined || price < 0.05 || price > 0.95) return undefined;
  const today = (process.env["PULSECAST_AT"] || new Date().toISOString()).slice(0, 10);
  const prompt = [
    `Today is ${today}. How likely is "${outcome}", in percent? Answer with a number, and your reasons below it.`,
    `Question: ${asked.question}`,
    `Criteria: ${asked.description}`,
    `Closes: ${asked.endDate}`,
    `The market says ${(100 * price).toFixed(1)} %.`,
    ...news.map((item) => `Headline: ${item.title}`),
  ].join("\n");
  const answer = await ask(prompt);
  if (!answer) return undefined;
  return {
    confidence: answer.percent / 100,
    thesis: answer.reasons,
    evidence: news.slice(0, 2).map((item) => ({ title: item.title.slice(0, 300), url: item.url })),
  };
}

/** Stores the position in the updates of one installation in a file. */
class FilePlace implements Place {
  private readonly path: string;
  private readonly baseUrl: string;

  constructor(path: string, baseUrl: string) {
    this.path = path;
    this.baseUrl = baseUrl;
  }

  /** Returns undefined if the file doesn't exist or belongs to another installation. */
  async load(): Promise<string | undefined> {
    const kept = await readIfThere(this.path);
    if (kept === undefined) return undefined;
    const state = JSON.parse(kept) as { baseUrl?: string; cursor?: string };
    return state.baseUrl === this.baseUrl ? state.cursor : undefined;
  }

  async save(cursor: string): Promise<void> {
    await writeFile(this.path + ".tmp", JSON.stringify({ baseUrl: this.baseUrl, cursor }));
    await rename(this.path + ".tmp", this.path);
  }
}

const oneMarket = process.env["PULSECAST_MARKET_ID"];
const publishes = process.argv.includes("--publish") || !!oneMarket;
const once = process.argv.includes("--once");
const client = new Client({
  baseUrl: process.env["PULSECAST_BASE_URL"] ?? "http://127.0.0.1:8080",
  apiKey: process.env["PULSECAST_API_KEY"],
  userAgent: "pulsecast-bot/1.0 (set your address here)",
});
const updates = client.updates(new FilePlace(process.env["PULSECAST_STATE"] ?? "pulsecast-state.json", client.baseUrl));
const lookedAt = new Set<string>(); // assignments of this run, so that none is tried twice
let behind = true; // an earlier run may have ended before it answered everything

/**
 * Reads the updates, and answers the open assignments. Returns whether anything was published. The
 * next check may then be due earlier.
 */
async function look(): Promise<boolean> {
  let published = false;
  for await (const update of updates) console.log(describe(update));
  if (updates.gap) console.log("Away for too long: some updates are gone. Your predictions show their results.");
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

/** Forecasts one assignment, and publishes or checks the answer. Returns whether it was published. */
async function workOn(assignment: Schemas["Assignment"]): Promise<boolean> {
  if (!assignment.market) return false;
  try {
    return await answerMarket(assignment.market.id, assignment.outcome);
  } catch (error) {
    // Only this question was refused. Continue with the others.
    if (!(error instanceof PulsecastError) || ![409, 422].includes(error.status)) throw error;
    console.error(`refused: ${assignment.title}: ${error.message}`);
    return false;
  }
}

/** Forecasts a market, and publishes or checks the answer. Returns whether it was published. */
async function answerMarket(id: string, asked: string | null = null): Promise<boolean> {
  const market = await client.get("/api/intelligence/markets/{id}", { path: { id } });
  const { question, outcomes } = market.market;
  const outcome = asked ?? (outcomes.includes("Yes") ? "Yes" : outcomes[0]) ?? "Yes";
  const longestWord = question.replaceAll("?", "").split(" ").reduce((a, b) => (b.length > a.length ? b : a));
  const { news } = await client.get("/api/intelligence/news", { query: { limit: 5, q: longestWord } });
  const answer = await forecast(outcome, market, news);
  if (!answer) {
    console.log(`passed: ${question}`);
    return false;
  }
  const at = process.env["PULSECAST_AT"];
  const idempotencyKey = at ? `${id}@${at}` : undefined; // a resumed backtest doesn't publish twice
  const told = await client.publish({ marketId: id, outcome, ...answer }, { dryRun: !publishes, idempotencyKey }).catch((error: unknown) => {
    if (error instanceof PulsecastError && error.code === "idempotency_mismatch") return undefined;
    throw error;
  });
  if (!told) {
    console.log(`done before, with another answer: ${question}`);
    return false;
  }
  console.log(`${publishes ? "published" : "checked"}: ${told.readAs} — ${question}`);
  for (const warning of told.warnings) console.log(`  note: ${warning}`);
  return publishes;
}

/** Describes an update in one line. */
function describe(update: Update): string {
  const things = Object.entries(update.ref) as [string, { id?: string } | null][];
  const about = things.flatMap(([kind, thing]) => (thing?.id ? [`${kind} ${thing.id}`] : []));
  return `${update.at} ${update.type} ${about.join(", ")}`;
}

if (oneMarket) await answerMarket(oneMarket);
while (!oneMarket) {
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
