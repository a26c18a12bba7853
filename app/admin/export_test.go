package admin

// OccupyChecks takes every place for the check of a sign-in until free is called.
func OccupyChecks() (free func()) {
	for range cap(checks) {
		checks <- struct{}{}
	}
	return func() {
		for range cap(checks) {
			<-checks
		}
	}
}
