package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/ory/fosite"

	"github.com/pulsecast/pulsecast/app/agent"
)

// Token answers a request to the token endpoint: it redeems a code or renews a grant. It calls count with the
// grant's agent before it stores anything. If count refuses, the code or refresh token isn't used. Errors are *Error,
// or the refusal of count.
func (s *Server) Token(ctx context.Context, r *http.Request, count func(*agent.Agent) error) (map[string]any, error) {
	if refusal := checkGrantType(r.PostFormValue("grant_type")); refusal != nil {
		return nil, refusal
	}
	if stored, err := s.stored(ctx, r); err != nil {
		return nil, s.outcome(ctx, nil, err)
	} else if !stored {
		return nil, s.refuseUnknown(ctx, r, translate(agent.ErrNoCredential))
	}
	var limit error
	var tokens map[string]any
	refused, err := s.inTx(ctx, func(ctx context.Context) (error, error) {
		request, err := s.provider.NewAccessRequest(ctx, r, new(session))
		if err == nil {
			err = s.checkResource(request)
		}
		var owner *agent.Agent
		if err == nil {
			owner, err = s.agents.ByID(ctx, txOf(ctx), sessionOf(request).grant.AgentID)
		}
		if err == nil {
			if limit = count(owner); limit != nil {
				return nil, limit
			}
		}
		var answer fosite.AccessResponder
		if err == nil {
			answer, err = s.provider.NewAccessResponse(ctx, request)
		}
		if err == nil {
			tokens = answer.ToMap()
			return nil, nil
		}
		return split(err)
	})
	if limit != nil {
		return nil, limit
	}
	return tokens, s.outcome(ctx, refused, err)
}

// checkGrantType refuses requests that no transaction could answer.
func checkGrantType(grantType string) error {
	switch grantType {
	case "authorization_code", "refresh_token":
		return nil
	case "":
		return refuse("invalid_request", "grant_type is missing: send authorization_code or refresh_token.")
	}
	return refuse("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
}

// stored reports whether the code or the refresh token of a request is one of ours. It reads outside a transaction, so
// that made-up ones don't keep other writers waiting. Whether it may be used is checked in the transaction.
func (s *Server) stored(ctx context.Context, r *http.Request) (bool, error) {
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		hash := hashOf(signature(r.PostFormValue("code")))
		found, err := s.DB.Reader.NewSelect().Model((*code)(nil)).Where("hash = ?", hash).Exists(ctx)
		if err != nil {
			err = fmt.Errorf("look for a code: %w", err)
		}
		return found, err
	case "refresh_token":
		_, err := s.agents.FindRefreshToken(ctx, s.DB.Reader, r.PostFormValue("refresh_token"), s.Now())
		switch {
		case errors.Is(err, agent.ErrNoCredential):
			return false, nil
		case errors.Is(err, agent.ErrReused): // the transaction ends its grant
			return true, nil
		}
		return true, err
	}
	return true, nil
}

// checkResource refuses a resource other than the approved one (RFC 8707, section 2.2).
func (s *Server) checkResource(r fosite.AccessRequester) error {
	named := r.GetRequestForm()["resource"]
	if len(named) == 0 {
		return nil
	}
	resource, ok := s.resourceOf(named)
	if !ok || !r.GetRequestedAudience().Has(resource) {
		return refuse("invalid_target", "resource is not the one that was approved.")
	}
	return nil
}

// Revoke answers a request to the revocation endpoint (RFC 7009): it ends the grant of a token. It accepts
// an unknown token. known reports whether the token was one of ours. Errors are *Error.
func (s *Server) Revoke(ctx context.Context, r *http.Request) (known bool, err error) {
	if known, err = s.isToken(ctx, r.PostFormValue("token")); err != nil {
		return false, s.outcome(ctx, nil, err)
	} else if !known {
		return false, s.refuseUnknown(ctx, r, nil)
	}
	refused, err := s.inTx(ctx, func(ctx context.Context) (error, error) {
		if err := s.provider.NewRevocationRequest(ctx, r); err != nil {
			return split(err)
		}
		return nil, nil
	})
	if refused == nil && err == nil {
		s.changed(ctx)
	}
	return true, s.outcome(ctx, refused, err)
}

// refuseUnknown returns invalid_client if the client of a request isn't known, and otherwise the answer to its unknown
// code or token. A client whose registration has expired must hear that, because it must register again.
func (s *Server) refuseUnknown(ctx context.Context, r *http.Request, answer error) error {
	if _, err := (store{s}).identify(ctx, r, r.PostForm); err != nil {
		refused, failed := split(err)
		return s.outcome(ctx, refused, failed)
	}
	return answer
}

// isToken reports whether a text is a stored refresh token or access token. It reads outside a transaction, like stored.
func (s *Server) isToken(ctx context.Context, token string) (bool, error) {
	_, err := s.agents.FindRefreshToken(ctx, s.DB.Reader, token, s.Now())
	if errors.Is(err, agent.ErrNoCredential) {
		_, err = s.agents.GrantOfAccessToken(ctx, s.DB.Reader, hashOf(signature(token)))
	}
	switch {
	case errors.Is(err, agent.ErrNoCredential):
		return false, nil
	case errors.Is(err, agent.ErrReused):
		return true, nil
	}
	return err == nil, err
}

// split separates a refusal, which is committed, from a failure, which is rolled back.
func split(err error) (refused, failed error) {
	if refusal := translate(err); refusal != nil {
		return refusal, nil
	}
	return nil, err
}

// outcome returns the error for the client. A refusal may have ended a grant.
func (s *Server) outcome(ctx context.Context, refused, failed error) error {
	if failed != nil {
		s.Log.Error("a program could not sign in", "error", failed)
		return unavailable(failed)
	}
	if refusal, ok := errors.AsType[*Error](refused); ok {
		if refusal.Code == "invalid_grant" {
			s.changed(ctx)
		}
		return refusal
	}
	return nil
}
