package app

import "context"

// Assign runs the job of the assignments once.
func (a *App) Assign(ctx context.Context) error { return a.assign(ctx) }
