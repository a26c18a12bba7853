package app

import (
	"context"
	"time"
)

// Assign runs the job of the assignments once.
func (a *App) Assign(ctx context.Context) error { return a.assign(ctx) }

// Seal runs the job of the archive once.
func (a *App) Seal(ctx context.Context) (time.Duration, error) { return a.seal(a.sealer())(ctx) }
