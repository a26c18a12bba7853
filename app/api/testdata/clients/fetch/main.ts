// Publishes a prediction through openapi-fetch with the types that openapi-typescript generates
// from the OpenAPI document, and prints the prediction's id.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

async function main(): Promise<void> {
  const client = createClient<paths>({
    baseUrl: process.env.BASE_URL ?? "",
    headers: { Authorization: `Bearer ${process.env.API_KEY}` },
  });
  const markets = await client.GET("/api/intelligence/markets", { params: { query: { limit: 1 } } });
  if (markets.error) throw new Error(markets.error.detail);
  const body: components["schemas"]["PredictionRequest"] = JSON.parse(process.env.PREDICTION ?? "");
  const { data, error } = await client.POST("/api/predictions", {
    params: { header: { "Idempotency-Key": "fetch" } },
    body,
  });
  if (error) throw new Error(`${error.code}: ${error.detail}`);
  console.log(data.prediction.id);
}

void main();
