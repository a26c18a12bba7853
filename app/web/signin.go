package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/oauth"
)

// registerSignIn adds the addresses at which programs sign in. With an identity provider, only the
// documents that name the provider are here.
func (s *Site) registerSignIn(srv *httpserver.Server) {
	in, reads := s.SignIn, srv.Limits.Reads()
	document := func(path string, content any) { srv.App.Get(path, reads, fixedJSON(content)) }
	document(oauth.ResourceMetadataPath, in.Resource(""))
	document(oauth.ResourceMetadataPath+oauth.MCPPath, in.Resource(oauth.MCPPath))
	if !in.Enabled() {
		return
	}
	document(oauth.ServerMetadataPath, in.Metadata())
	srv.App.Get(oauth.AuthorizePath, srv.Limits.SignIns(), s.authorize(srv))
	srv.App.Post(oauth.AuthorizePath, s.ownForms, srv.Limits.SignIns(), s.authorize(srv))
	srv.App.Post(oauth.TokenPath, reads, checked(srv, s.token(srv.Limits)))
	srv.App.Post(oauth.RevokePath, reads, checked(srv, s.revoke))
	srv.App.Post(oauth.RegisterPath, srv.Limits.Clients(), s.registerClient)
}

// fixedJSON sends a document that never changes while the service runs.
func fixedJSON(content any) fiber.Handler {
	body, err := json.Marshal(content)
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return errors.Join(err, c.Send(body))
	}
}

// errInvalid stands for a credential that isn't valid.
var errInvalid = errors.New("the code or token is not valid")

// checked admits the request as the check of a credential, like a bearer, and counts one that isn't valid against the
// address. handle reports whether it has answered although the credential is unknown.
func checked(srv *httpserver.Server, handle func(c *fiber.Ctx) (unknown bool, err error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		done, err := srv.AdmitCheck(c)()
		if err != nil {
			return err
		}
		unknown, err := handle(c)
		refusal, refused := errors.AsType[*oauth.Error](err)
		if !unknown && !(refused && (refusal.Code == "invalid_grant" || refusal.Code == "invalid_client")) {
			done(nil)
			return toClient(c, err)
		}
		done(errInvalid)
		if spent := srv.Limits.Failure(c.UserContext(), httpserver.ClientAddr(c)); spent != nil {
			return spent
		}
		return toClient(c, err)
	}
}

// token counts a request as a write of the agent, because each stores tokens.
func (s *Site) token(limits *httpserver.Limits) func(c *fiber.Ctx) (unknown bool, err error) {
	return func(c *fiber.Ctx) (unknown bool, err error) {
		r, err := formRequest(c)
		if err != nil {
			return false, err
		}
		tokens, err := s.SignIn.Token(c.UserContext(), r, func(owner *agent.Agent) error {
			return limits.WriteOf(c, &identity.Principal{Agent: owner})
		})
		if err != nil {
			return false, err
		}
		return false, c.JSON(tokens)
	}
}

func (s *Site) revoke(c *fiber.Ctx) (unknown bool, err error) {
	r, err := formRequest(c)
	if err != nil {
		return false, err
	}
	known, err := s.SignIn.Revoke(c.UserContext(), r)
	if err != nil {
		return false, err
	}
	return !known, c.JSON(struct{}{})
}

func (s *Site) registerClient(c *fiber.Ctx) error {
	made, err := s.SignIn.Register(c.UserContext(), slices.Clone(c.Body()))
	if err != nil {
		return toClient(c, err)
	}
	return c.Status(http.StatusCreated).JSON(made)
}

// formRequest copies a request out of Fiber's buffers for the OAuth library.
func formRequest(c *fiber.Ctx) (*http.Request, error) {
	r, err := adaptor.ConvertRequest(c, true)
	if err != nil {
		return nil, &oauth.Error{
			Code: "invalid_request", Description: "The request could not be read.", Status: http.StatusBadRequest, Cause: err,
		}
	}
	return r, nil
}

// toClient sends a refusal in the form that OAuth clients expect (RFC 6749, section 5.2).
func toClient(c *fiber.Ctx, err error) error {
	refusal, ok := errors.AsType[*oauth.Error](err)
	if !ok {
		return err
	}
	return c.Status(refusal.Status).JSON(struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}{refusal.Code, refusal.Description})
}
