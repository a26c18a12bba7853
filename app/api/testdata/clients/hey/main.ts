// Publishes a prediction through the client that @hey-api/openapi-ts generates from the OpenAPI
// document, and prints the prediction's id.
import { listMarkets, publishPrediction, type PredictionRequest } from "./client";
import { client } from "./client/client.gen";

async function main(): Promise<void> {
  client.setConfig({ baseUrl: process.env.BASE_URL ?? "", auth: () => process.env.API_KEY });
  const markets = await listMarkets({ query: { limit: 1 } });
  if (markets.error) throw new Error(markets.error.detail);
  const body: PredictionRequest = JSON.parse(process.env.PREDICTION ?? "");
  const { data, error } = await publishPrediction({ headers: { "Idempotency-Key": "hey" }, body });
  if (error || !data) throw new Error(`${error?.code}: ${error?.detail}`);
  console.log(data.prediction.id);
}

void main();
