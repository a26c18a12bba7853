// Uses the TypeScript client against a running server. PULSECAST_BASE_URL names it.
import { strict as assert } from "node:assert";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, PulsecastError, type BatchResult, type PredictionRequest } from "./pulsecast.ts";

const baseUrl = process.env["PULSECAST_BASE_URL"] ?? "";
const servers: Server[] = [];
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
const third = { ...said, confidence: 1 / 3 };
assert.equal((await client.publish(third, { dryRun: true })).prediction.confidence, 0.3333);
assert.deepEqual((await client.publishBatch([third], { dryRun: true })).map((r) => r.prediction?.confidence), [0.3333]);
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
for (let look = 0; look < 10 && updates.changed; look++) for await (const update of updates) assert(update.id);
assert(!updates.changed); // something may have happened meanwhile, but not ten times

// A redirect isn't followed, and the error names the address to use.
const moved = await serve((_, answer) => answer.writeHead(308, { Location: "https://elsewhere.example/" }).end());
const redirected = await refused(() => new Client({ baseUrl: moved.base, apiKey: made.apiKey }).get("/api/stats"));
assert.equal(redirected.status, 308);
assert.equal(redirected.code, "redirect");
assert.equal(redirected.detail, `${moved.base} redirects to https://elsewhere.example/: use that as baseUrl.`);

// A connection may be lost in the middle of an answer. A publication is repeated under the same key.
const lost: RequestListener = (_, answer) => {
  answer.writeHead(200, { "Content-Length": 100 }).write("{", () => answer.socket?.end());
};
const impatient = { apiKey: made.apiKey, attempts: 2, longestWait: 1 };
const unsteady = await serve(lost, (_, answer) => answer.end(JSON.stringify(published)));
assert.equal((await new Client({ baseUrl: unsteady.base, ...impatient }).publish(said)).prediction.id, published.prediction.id);
const keys = unsteady.requests.map((request) => request.headers["idempotency-key"]);
assert(keys.length === 2 && keys[0] && keys[0] === keys[1], String(keys));
const broken = await serve(lost);
const cut = new Client({ baseUrl: broken.base, ...impatient });
for (const call of [() => cut.publish(said), () => cut.updates()[Symbol.asyncIterator]().next()]) {
  broken.requests.length = 0;
  const failed = await refused(call);
  assert.deepEqual([failed.status, failed.code, failed.unavailable, broken.requests.length], [0, "unreachable", true, 2]);
}

// A publication has a key however it is sent.
const bare = await serve((_, answer) => answer.writeHead(503).end(), (_, answer) => answer.end("{}"));
await new Client({ baseUrl: bare.base, ...impatient }).post("/api/predictions", { body: said });
assert(bare.requests.length === 2 && bare.requests.every((r) => r.headers["idempotency-key"] === bare.requests[0]?.headers["idempotency-key"]));
assert(bare.requests[0]?.headers["idempotency-key"]);

// A text is read as text.
assert((await reader.text("/api/skill")).startsWith("---\nname: pulsecast"));
// @ts-expect-error: this operation answers with text
const asJson = await refused(() => reader.get("/api/skill"));
assert.equal(asJson.detail, "The answer is a text. Read it with text().");

// An answer that isn't JSON is named, also in the updates.
const portal = await serve((_, answer) => answer.end("<h1>Sign in</h1>"));
const captive = new Client({ baseUrl: portal.base, ...impatient });
for (const call of [() => captive.get("/api/stats"), () => captive.updates()[Symbol.asyncIterator]().next()]) {
  const { code, detail, unavailable } = await refused(call);
  assert.deepEqual([code, detail === 'The answer (no Content-Type) is not from Pulsecast: "<h1>Sign in</h1>"', unavailable], ["unexpected_answer", true, true]);
}

// A page of updates that the loop left is read again.
const event = { id: "1", type: "market.moved", at: "2026-01-01T00:00:00Z", ref: {} };
const page = { ok: true, events: [event, { ...event, id: "2" }], cursor: "c", hasMore: false, nextCheckAt: null, now: {} };
const paged = await serve((request, answer) => {
  if (request.headers["if-none-match"] === '"e"') answer.writeHead(304).end();
  else answer.setHeader("ETag", '"e"').end(JSON.stringify(page));
});
const left = new Client({ baseUrl: paged.base, apiKey: made.apiKey }).updates();
const seen: string[] = [];
for await (const update of left) {
  seen.push(update.id);
  break;
}
for await (const update of left) seen.push(update.id);
assert.deepEqual(seen, ["1", "1", "2"]);

servers.forEach((server) => server.close());
console.log("checked");

/** Starts a server that gives the answers in order, and then the last one again and again. */
async function serve(...answers: RequestListener[]): Promise<{ base: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, answer) => {
    requests.push(request);
    answers[Math.min(requests.length, answers.length) - 1]?.(request, answer);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  servers.push(server);
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function refused(call: () => Promise<unknown>): Promise<PulsecastError> {
  try {
    await call();
  } catch (error) {
    assert(error instanceof PulsecastError, String(error));
    return error;
  }
  return assert.fail("it was not refused");
}
