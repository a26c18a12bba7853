package contract

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/getkin/kin-openapi/openapi3"
)

// An Example is a request and its answer. TestExamples of app/api records one for each operation in
// examples/OPERATION_ID.json, and fails if the service gives another answer.
type Example struct {
	Path    string         `json:"path"`           // with its query, such as "/api/leaderboard?limit=2"
	Body    any            `json:"body,omitempty"` // body of the request; nil if it has none
	Answers map[string]any `json:"answers"`        // by media type; a string unless the answer is JSON
}

//go:embed examples/*.json
var exampleFiles embed.FS

// ProblemExample names the example of a refusal, which all operations share.
const ProblemExample = "problem"

// ReadExample returns the example of an operation. The error is fs.ErrNotExist if no example was
// recorded.
func ReadExample(operationID string) (*Example, error) {
	raw, err := exampleFiles.ReadFile("examples/" + operationID + ".json")
	if err != nil {
		return nil, err
	}
	var e Example
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("read the example %s: %w", operationID, err)
	}
	return &e, nil
}

// addExamples adds every recorded example to the document, beside its schema.
func addExamples(doc *openapi3.T) error {
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			e, err := ReadExample(op.OperationID)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if op.RequestBody != nil && e.Body != nil {
				op.RequestBody.Value.Content.Get("application/json").Example = e.Body
			}
			if success := op.Responses.Status(200); success != nil {
				addAnswers(success.Value.Content, e)
			}
		}
	}
	e, err := ReadExample(ProblemExample)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		addAnswers(doc.Components.Responses["Problem"].Value.Content, e)
	}
	return err
}

func addAnswers(content openapi3.Content, e *Example) {
	for name, answer := range e.Answers {
		if media := content[name]; media != nil {
			media.Example = answer
		}
	}
}
