package admin

// SignInProps is the sign-in form.
type SignInProps struct {
	CSRF, Name, Error string
	Done              string // a key of done
	Provider          string // host of the identity provider; "": passwords only
	Again             bool   // the provider should let another account sign in
	Sample            bool
}
