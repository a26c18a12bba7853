//go:build !linux

package httpserver

const canLowerPriority = false

func lowerPriority() error { return nil }
