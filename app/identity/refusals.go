package identity

import (
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/problem"
)

// down returns the refusal for a sign-in that can't continue because the provider can't be asked.
func (p *People) down(cause error) error {
	return problem.Unavailable(p.host+" cannot be asked right now. You were not signed in. Try again in a moment, or sign in with a password.", 5*time.Second).With(cause)
}

// distrusted returns the refusal for an answer of the provider that can't be verified.
func (p *People) distrusted(cause error) error {
	return problem.New(problem.CodeInvalidSignIn, "The answer of "+p.host+" could not be verified, so you were not signed in. "+
		"Start again. If it fails again, ask the operator of this service to look into its log.").With(cause)
}

// turnedAway returns the refusal for a person whom the provider sent back with an error. It understands
// only the error codes of RFC 6749 (section 4.1.2.1) and of OpenID Connect. It never shows the error's text,
// because anyone can make it up.
func (p *People) turnedAway(word string) error {
	cause := fmt.Errorf("the provider answered with the error %.60q", word)
	why := "did not sign you in. Start again, or ask its operator."
	switch word {
	case "temporarily_unavailable", "server_error":
		return p.down(cause)
	case "access_denied":
		why = "refused: you cancelled, or it does not let you use this service. Ask its operator to allow you the scope " + p.at.Config.AdminScope + "."
	case "invalid_scope":
		why = "does not grant the scope " + p.at.Config.AdminScope + ", which admins need. Ask its operator to offer that scope to this service and to grant it to you."
	case "unauthorized_client", "invalid_request", "unsupported_response_type":
		why = "does not let this service sign people in. Its operator must register it there, with the redirect address " + p.at.Config.BaseURL + CallbackPath + "."
	}
	return problem.New(problem.CodeSignInRefused, "You were not signed in. "+p.host+" "+why).With(cause)
}

// notGranted returns the refusal for a person whom the provider knows, but who isn't an admin.
func (p *People) notGranted(who Person, scope string, granted []string) error {
	why := fmt.Sprintf("did not grant you the scope %s", scope)
	if len(granted) == 0 {
		why = fmt.Sprintf("does not say that it granted you the scope %s", scope)
	}
	return problem.New(problem.CodeScopeMissing,
		fmt.Sprintf("%s knows you as %s, but %s, which admins need. Ask the operator of %s to grant it to you, then sign in again.", p.host, who.Name, why, p.host)).
		With(fmt.Errorf("subject %q was granted %q", who.Subject, granted))
}
