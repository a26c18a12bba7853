package admin

import "time"

// HandlesProps is the handles that no new agent gets.
type HandlesProps struct {
	Frame   Frame
	Added   []ReservedHandle // by admins
	BuiltIn []string
}

// ReservedHandle is one that an admin added.
type ReservedHandle struct {
	Handle, Note, Author string
	At                   time.Time
	InUse                bool // by an agent that had it before
}
