package admin

import "time"

// HandlesProps lists the handles that new agents can't get.
type HandlesProps struct {
	Frame   Frame
	Added   []ReservedHandle // added by admins
	BuiltIn []string
}

// ReservedHandle is a handle that an admin reserved.
type ReservedHandle struct {
	Handle, Note, Author string
	At                   time.Time
	InUse                bool // an agent that joined earlier has the handle
}
