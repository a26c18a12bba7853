package admin

// SignInProps is the sign-in form.
type SignInProps struct {
	CSRF, Name, Error string
	Done              string // key in done, or ""
	Provider          string // host of the identity provider; "" if only passwords work
	Again             bool   // ask the provider for another account
	Sample            bool
	Typed             map[string]string // what the admin typed when the session had ended, by the name of the field
}
