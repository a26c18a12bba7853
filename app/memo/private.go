package memo

import "errors"

// private is an error that concerns only one caller of a load.
type private struct{ error }

func (p private) Unwrap() error { return p.error }

// Private marks an error of a load that concerns only the caller that ran it, for example that its
// rate limit is reached. Waiting callers then run the load themselves. Private(nil) is nil.
func Private(err error) error {
	if err == nil {
		return nil
	}
	return private{err}
}

// IsPrivate reports whether err is marked by Private.
func IsPrivate(err error) bool {
	_, ok := errors.AsType[private](err)
	return ok
}
