// Uses the TypeScript client against a running server. PULSECAST_BASE_URL names it.
import { strict as assert } from "node:assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, PulsecastError, type BatchResult, type PredictionRequest } from "./pulsecast.ts";

const baseUrl = process.env["PULSECAST_BASE_URL"] ?? "";
const reader = new Client({ baseUrl, userAgent: "check/1.0" });

// Every operation is typed: its parameters, its body and its answer.
const { markets } = await reader.get("/api/intelligence/markets", { query: { limit: 3 } });
const first = markets[0];
assert(first && markets.length === 3);
const detail = await reader.get("/api/intelligence/markets/{id}", { path: { id: first.id } });
assert.equal(detail.market.question, first.question);
// @ts-expect-error: the path needs an id
const withoutId = () => reader.get("/api/intelligence/markets/{id}");
// @ts-expect-error: there is no such parameter
const misspelled = () => reader.get("/api/intelligence/markets", { query: { lmit: 3 } });
assert.equal((await refused(misspelled)).code, "invalid_parameter");
assert.equal((await refused(withoutId)).code, "not_found");
assert.equal((await refused(() => reader.get("/api/stats"))).code, "missing_credentials");

const made = await reader.post("/api/agents", { body: { name: "TypeScript checker" } });
const client = new Client({ baseUrl: baseUrl + "/", apiKey: made.apiKey });
const said: PredictionRequest = { marketId: first.id, outcome: first.outcomes[0] ?? "", thesis: "Because.", confidence: 0.72 };
const checked = await client.publish(said, { dryRun: true });
assert(checked.readAs.startsWith("72 %"), checked.readAs);
const published = await client.publish(said, { idempotencyKey: "one" });
const again = await client.publish(said, { idempotencyKey: "one" });
assert.equal(again.prediction.id, published.prediction.id);
const wrong = await refused(() => client.publish({ ...said, confidence: 72 }));
assert.equal(wrong.status, 422);
assert.deepEqual(wrong.errors.map((e) => e.field), ["confidence"]);
assert(wrong.requestId);
const results: BatchResult[] = await client.publishBatch([said, { thesis: "Nothing.", confidence: 0.5 }]);
assert.deepEqual(results.map((r) => r.status), [200, 422]);
const { predictions } = await client.get("/api/predictions", { query: { agent: made.agent.handle } });
assert.equal(predictions.length, 2);
const { review } = await client.get("/api/agents/me/review");
assert.equal(review.predictions, 0);

// The first look begins at the present and keeps the place.
const kept: string[] = [];
const updates = client.updates({ load: async () => kept.at(-1), save: async (cursor) => void kept.push(cursor) });
for await (const update of updates) assert.fail(update.type);
assert(kept.length === 1 && updates.changed && updates.now && updates.now.assignments > 0);
for await (const update of client.updates({ load: async () => kept[0], save: async () => undefined })) assert(update.id);

// A redirect isn't followed, and the error names the address to use.
const moved = createServer((_, answer) => answer.writeHead(308, { Location: "https://elsewhere.example/" }).end());
await new Promise<void>((listening) => moved.listen(0, "127.0.0.1", listening));
const old = `http://127.0.0.1:${(moved.address() as AddressInfo).port}`;
const redirected = await refused(() => new Client({ baseUrl: old, apiKey: made.apiKey }).get("/api/stats"));
assert.equal(redirected.status, 308);
assert.equal(redirected.code, "redirect");
assert.equal(redirected.detail, `${old} redirects to https://elsewhere.example/: use that as baseUrl.`);
moved.close();

console.log("checked");

async function refused(call: () => Promise<unknown>): Promise<PulsecastError> {
  try {
    await call();
  } catch (error) {
    assert(error instanceof PulsecastError, String(error));
    return error;
  }
  return assert.fail("it was not refused");
}
