package main

import (
	"context"
	"time"
)

func (o *options) write(ctx context.Context, s *scale, results []result, took time.Duration, full bool) error {
	return nil
}
