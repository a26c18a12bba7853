package api

import (
	"encoding/json"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/contract"
)

// document returns the OpenAPI document as JSON, with the public address as its server.
func document(baseURL string) ([]byte, error) {
	shared, err := contract.Document()
	if err != nil {
		return nil, err
	}
	doc := *shared
	doc.Servers = openapi3.Servers{{URL: baseURL}}
	return json.Marshal(&doc)
}

func (a *API) openAPI() fiber.Handler {
	once := sync.OnceValues(func() (*answer.Answer, error) {
		body, err := document(a.Config.BaseURL)
		made := answer.New(body, answer.Digest(body))
		made.SentOften = true
		return made, err
	})
	return func(c *fiber.Ctx) error {
		doc, err := once()
		if err == nil {
			sendAnswer(c, doc, documentCaching)
		}
		return err
	}
}
