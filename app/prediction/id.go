package prediction

import (
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/problem"
)

// NotFound returns the error for an id that no prediction has: 404 not_found.
func NotFound() error {
	return problem.NotFound("There is no prediction with this id. Ids are UUIDs, as in GET /api/predictions.")
}

// ParseID returns the id of a prediction from its text. A text that isn't a UUID is the id of no prediction, so the
// error is NotFound.
func ParseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, NotFound()
	}
	return id, nil
}
