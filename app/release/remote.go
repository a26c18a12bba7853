package release

import (
	"context"
	"errors"

	"github.com/pulsecast/pulsecast/app/archive"
)

// OpenURL reads another installation's release.
func OpenURL(ctx context.Context, address string) (archive.Storage, error) { return nil, errors.New("soon") }
