package moderation

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
)

// ReserveHandle refuses a handle to agents that join later. An agent that has the handle keeps it.
// It requires a reason. Refusals: 409 handle_reserved, 422 invalid_request.
func (s *Service) ReserveHandle(ctx context.Context, act Act, handle string) error {
	return s.onHandle(ctx, act, handle, audit.Entry{Action: audit.HandleReserved, Before: "free", After: "reserved"},
		func(ctx context.Context, tx bun.Tx, reason string) error {
			return s.agents.Reserve(
				ctx, tx, agent.ReservedHandle{Handle: handle, Note: reason, Author: act.Actor, CreatedAt: s.Now()},
			)
		})
}

// FreeHandle makes a reserved handle available again. It requires a reason. Refusals:
// 409 handle_built_in, 409 not_reserved.
func (s *Service) FreeHandle(ctx context.Context, act Act, handle string) error {
	return s.onHandle(ctx, act, handle, audit.Entry{Action: audit.HandleFreed, Before: "reserved", After: "free"},
		func(ctx context.Context, tx bun.Tx, _ string) error {
			_, err := s.agents.Unreserve(ctx, tx, handle)
			return err
		})
}

func (s *Service) onHandle(
	ctx context.Context, act Act, handle string, e audit.Entry, run func(ctx context.Context, tx bun.Tx, reason string) error,
) error {
	if err := act.requireReason(); err != nil {
		return err
	}
	e.Target = audit.HandleTarget(handle)
	_, err := s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		return &e, run(ctx, tx, act.Reason)
	})
	return err
}
