// Package version says which version of the interface and of the program this is.
package version

// API is the version of the interface: info.version of the contract and "version" of
// /api/health.
const API = "0.1.0"
