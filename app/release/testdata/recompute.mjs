// Recomputes the board of a data release with DuckDB, as docs/data.md and the page /method describe it.
// It shares no code with the service. Usage: node recompute.mjs FOLDER MODULES. It prints each
// difference, and how many numbers it compared.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, modules] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(path.join(modules, "x.js"))("@duckdb/node-api");
const db = await (await DuckDBInstance.create(":memory:")).connect();
const rows = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();

// The days whose decisions count, the latest first. The others are abandoned: see docs/data.md.
const days = [];
let from = null;
for (const day of readdirSync(path.join(folder, "days")).sort().reverse()) {
  const manifest = path.join(folder, "days", day, "manifest.json");
  if (!existsSync(manifest) || (from !== null && day >= from)) continue;
  from = JSON.parse(readFileSync(manifest, "utf8")).abandonedFrom ?? null;
  days.push(`'${day}'`);
}
const table = (name) => `(SELECT * FROM read_parquet('${folder}/days/*/${name}.parquet', filename = true, union_by_name = true)
  WHERE string_split(filename, '/')[-2] IN (${days.join(", ")}))`;

await db.run(`
  CREATE TABLE board AS SELECT * FROM ${table("boards")}
    WHERE as_of = (SELECT max(as_of) FROM ${table("boards")}) AND "window" = 'all' AND category = '';
  CREATE TABLE entry AS SELECT * FROM ${table("ledger")} WHERE created_at <= (SELECT max(as_of) FROM board);
  CREATE TABLE prediction AS SELECT * FROM ${table("predictions")}
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY filename DESC) = 1;
  -- Units are 1e-4 point, as in the files. Rounding is half away from zero, as round() does it.
  CREATE TABLE scored AS SELECT l.*, p.event_key, p.confidence AS p, p.baseline AS q, p.weight_index AS i,
      CASE l.kind WHEN 'score' THEN 1 ELSE -1 END AS sign
    FROM entry AS l JOIN prediction AS p ON p.id = l.prediction WHERE p.baseline_state = 'fixed';
  CREATE TABLE cluster AS SELECT agent, event_key, arg_max(day, created_at) FILTER (WHERE kind = 'score') AS day,
      sum(contribution) AS c, sum(stake) AS a, sum(spread) AS u
    FROM scored GROUP BY agent, event_key HAVING sum(sign) > 0;
  CREATE TABLE counted AS SELECT * FROM cluster WHERE day <= strftime((SELECT max(as_of) FROM board), '%Y-%m-%d');
  CREATE TABLE total AS SELECT agent, count(*) AS n, sum(c) / 1e4 AS s, sum(c * c) / 1e8 AS ss, sum(a) / 1e4 AS a, sum(u * u) / 1e8 AS v
    FROM counted GROUP BY agent;
  CREATE TABLE block AS SELECT agent, sum(d * d) AS t, sum(n * d) AS w, sum(n * n) AS q
    FROM (SELECT agent, day, count(*) AS n, sum(c) / 1e4 AS d FROM counted GROUP BY agent, day) GROUP BY agent;
  CREATE TABLE spreads AS SELECT *, ss - s * s / n AS dd, s / n AS g,
      greatest((100 * v / n + ss - s * s / n) / (99 + n), 1e-6) AS v0, greatest(a / n, 1e-4) AS mean_stake
    FROM total JOIN block USING (agent);
  CREATE TABLE ranges AS SELECT *,
      v0 * CASE WHEN dd = 0 THEN 1 ELSE greatest(1, (t - 2 * g * w + g * g * q) / dd) END AS v_range FROM spreads;
`);

const differences = [];
let compared = 0;
const close = (what, published, computed, tolerance) => {
  compared++;
  if (published === null || computed === null || Math.abs(published - computed) > tolerance * Math.max(1, Math.abs(published))) {
    differences.push(`${what}: published ${published}, recomputed ${computed}`);
  }
};

// Each score from the prediction, its baseline and the result.
for (const e of await rows(`SELECT id, edge::DOUBLE AS edge, contribution::DOUBLE AS contribution, stake::DOUBLE AS stake, i::DOUBLE AS i, p, q, value, sign FROM scored`)) {
  let edge = Math.sign((e.q - e.value) ** 2 - (e.p - e.value) ** 2) * Math.round(Math.abs(1e6 * ((e.q - e.value) ** 2 - (e.p - e.value) ** 2)));
  let stake = Math.round((Math.round(e.p * 1e4) - Math.round(e.q * 1e4)) ** 2 / 100);
  close(`edge of ledger row ${e.id}`, e.edge, e.sign * edge, 1e-9);
  edge = Math.sign(edge) * Math.round(Math.abs(edge) / 2 ** e.i);
  stake = Math.round(stake / 2 ** e.i);
  close(`contribution of ledger row ${e.id}`, e.contribution, e.sign * edge, 1e-9);
  close(`stake of ledger row ${e.id}`, e.stake, e.sign * stake, 1e-9);
}

// The board.
for (const b of await rows(`SELECT b.agent, b.events::DOUBLE AS events, b.skill, b.best_guess, b.skill_low, b.skill_high, b.kappa, b.mu, b.tau,
    r.n::DOUBLE AS n, r.s, r.a, r.v_range, r.mean_stake FROM board AS b LEFT JOIN ranges AS r USING (agent) WHERE NOT b.reference`)) {
  close(`events of ${b.agent}`, b.events, b.n ?? 0, 0);
  close(`skill of ${b.agent}`, b.skill, b.n === null ? 0 : b.s / (b.n + b.kappa), 1e-9);
  if (b.best_guess === null) continue;
  const shrink = b.v_range / (2 * b.tau * b.mean_stake) ** 2;
  const guess = (b.s + shrink * (2 * b.mu - 1) * b.mean_stake) / (b.n + shrink);
  const half = 1.96 * Math.sqrt(b.v_range / (b.n + shrink));
  close(`best guess of ${b.agent}`, b.best_guess, guess, 1e-9);
  close(`range of ${b.agent}`, b.skill_low, guess - half, 1e-9);
  close(`range of ${b.agent}`, b.skill_high, guess + half, 1e-9);
}
for (const d of differences) console.log(d);
console.log(`${compared} numbers compared, ${differences.length} differ`);
process.exit(differences.length > 0 ? 1 : 0);
