// Command generatedclient publishes a prediction through the client that oapi-codegen generates
// from the OpenAPI document, and prints the prediction's id.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"generatedclient/client"
)

func main() {
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	c, err := client.NewClientWithResponses(os.Getenv("BASE_URL"), client.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	markets, err := c.ListMarketsWithResponse(ctx, &client.ListMarketsParams{})
	if err != nil || markets.JSON200 == nil {
		log.Fatal("markets: ", err, markets)
	}
	var body client.PublishPredictionJSONRequestBody
	if err := json.Unmarshal([]byte(os.Getenv("PREDICTION")), &body); err != nil {
		log.Fatal(err)
	}
	key := "go"
	published, err := c.PublishPredictionWithResponse(ctx, &client.PublishPredictionParams{IdempotencyKey: &key}, body)
	if err != nil {
		log.Fatal(err)
	}
	if published.JSON200 == nil {
		log.Fatalf("%d %s", published.StatusCode(), published.Body)
	}
	fmt.Println(published.JSON200.Prediction.Id)
}
