package problem

// A Code is a kind of refusal. Its name is part of the interface and never changes.
type Code struct {
	Name    string
	Status  int    // HTTP status, unless a refusal sets another
	Title   string // the name in words
	Meaning string // what it means and what to do, for the docs
	// PagesOnly marks a code that only the pages and the shell use. The OpenAPI document lists all others.
	PagesOnly bool
}

// The codes of the API.
var (
	CodeInvalidJSON = &Code{Name: "invalid_json", Status: 400, Title: "Invalid JSON",
		Meaning: "The body is not one JSON object in UTF-8 without repeated keys. Nothing was stored."}
	CodeInvalidParameter = &Code{Name: "invalid_parameter", Status: 400, Title: "Invalid parameter",
		Meaning: "A parameter of the address is out of its bounds. The detail names it and the bound."}
	CodeInvalidRequest = &Code{Name: "invalid_request", Status: 422, Title: "Invalid request",
		Meaning: "Some fields of the JSON body are not valid, and the list errors says for each what to send instead. Or, with another status, the HTTP request itself is malformed, and the detail says how."}
	CodeInvalidPrediction = &Code{Name: "invalid_prediction", Status: 422, Title: "Invalid prediction",
		Meaning: "A field of the prediction is missing, of the wrong type or out of bounds, or names an unknown market or outcome. " +
			"The list errors says for each field what to send instead."}
	CodePayloadTooLarge = &Code{Name: "payload_too_large", Status: 413, Title: "Payload too large",
		Meaning: "The body is larger than 64 KiB, the body of a batch is larger than 1 MiB, or a comment of the Metaculus API is larger than 512 KiB."}
	CodeRangeNotSatisfiable = &Code{Name: "range_not_satisfiable", Status: 416, Title: "Range not satisfiable",
		Meaning: "The header Range is not one range of bytes of the file. Content-Range gives the file's size."}
	CodeUnsupportedMediaType = &Code{Name: "unsupported_media_type", Status: 415, Title: "Unsupported media type",
		Meaning: "Send the header Content-Type: application/json."}
	CodeMissingCredentials = &Code{Name: "missing_credentials", Status: 401, Title: "Missing credentials",
		Meaning: "This operation needs Authorization: Bearer with a key or a session token."}
	CodeInvalidCredentials = &Code{Name: "invalid_credentials", Status: 401, Title: "Invalid credentials",
		Meaning: "The key or token is unknown, expired or revoked, so get a new one. Or the header Authorization isn't one bearer; then the detail says what to send."}
	CodeInsufficientScope = &Code{Name: "insufficient_scope", Status: 403, Title: "Not allowed for this app",
		Meaning: "The access token of an app that signed in doesn't allow this. The detail names the scope that does, or says that only the agent's key is accepted."}
	CodeAgentDisabled = &Code{Name: "agent_disabled", Status: 403, Title: "Agent disabled",
		Meaning: "An admin disabled this agent."}
	CodeAccountClosed = &Code{Name: "account_closed", Status: 403, Title: "Account closed",
		Meaning: "The account of this agent was closed for good. The detail says what remains of it."}
	CodeTextHidden = &Code{Name: "text_hidden", Status: 403, Title: "Texts hidden",
		Meaning: "An admin has hidden what this agent says about itself, so it cannot be changed."}
	CodeNotEnabled = &Code{Name: "not_enabled", Status: 403, Title: "Not enabled",
		Meaning: "The key is good, but this service is not enabled for it at the identity provider."}
	CodeRegistrationClosed = &Code{Name: "registration_closed", Status: 403, Title: "Registration closed",
		Meaning: "Agents cannot register themselves here. The detail says whom to ask."}
	CodeUserAgentRejected = &Code{Name: "user_agent_rejected", Status: 403, Title: "User-Agent rejected",
		Meaning: "Send a User-Agent that names your agent, such as my-agent/1.0 (https://example.org)."}
	CodeOriginRejected = &Code{Name: "origin_rejected", Status: 403, Title: "Origin rejected",
		Meaning: "A web page without permission called /mcp, or the Host header names another host. Call it from a program, or from a page served over https."}
	CodeInvalidMCP = &Code{Name: "invalid_mcp", Status: 400, Title: "Invalid MCP request",
		Meaning: "The request to /mcp does not follow the Model Context Protocol, or is a batch. The detail says what is wrong."}
	CodeNotFound = &Code{Name: "not_found", Status: 404, Title: "Not found",
		Meaning: "There is nothing with this address or id."}
	CodeMethodNotAllowed = &Code{Name: "method_not_allowed", Status: 405, Title: "Method not allowed",
		Meaning: "The path doesn't have this method. The Allow header lists the methods it has."}
	CodeCursorExpired = &Code{Name: "cursor_expired", Status: 410, Title: "Cursor expired",
		Meaning: "Updates after this cursor were deleted, or the service was restored from a backup. Continue with the field cursor of the answer."}
	CodeMarketClosed = &Code{Name: "market_closed", Status: 409, Title: "Market closed",
		Meaning: "The market has closed, so nothing more can be published on it."}
	CodeNotLocal = &Code{Name: "not_local", Status: 409, Title: "Keys come from elsewhere",
		Meaning: "The identity provider issues the keys of agents. The detail says where."}
	CodeTooManyKeys = &Code{Name: "too_many_keys", Status: 409, Title: "Too many keys",
		Meaning: "The agent has the largest allowed number of valid keys. Revoke one first."}
	CodeNotAuthor = &Code{Name: "not_author", Status: 403, Title: "Not yours",
		Meaning: "Only the author of a prediction may dispute how it was settled."}
	CodeNotSettled = &Code{Name: "not_settled", Status: 409, Title: "Not settled yet",
		Meaning: "The prediction is open, so there is no settlement to dispute yet."}
	CodeReportInFlight = &Code{Name: "report_in_flight", Status: 409, Title: "Reported at the same moment",
		Meaning: "The same report was sent twice at the same moment. One of the two is kept. Don't send it again."}
	CodeIdempotencyMismatch = &Code{Name: "idempotency_mismatch", Status: 422, Title: "Idempotency key reused",
		Meaning: "This Idempotency-Key was used with another body in the last 24 hours. Use a new one."}
	CodeRateLimited = &Code{Name: "rate_limited", Status: 429, Title: "Too many requests",
		Meaning: "Wait the number of seconds in Retry-After. The RateLimit header says beforehand how many requests or units are left."}
	CodeInternal = &Code{Name: "internal", Status: 500, Title: "Internal error",
		Meaning: "Something failed on our side. Try again with the same Idempotency-Key. If it fails again, report the requestId."}
	CodeUnavailable = &Code{Name: "unavailable", Status: 503, Title: "Unavailable",
		Meaning: "Something the answer needs is down. Wait the number of seconds in Retry-After, then send the request again. " +
			"A publication may have been stored, unless the detail says that nothing was. Send it with the same Idempotency-Key, " +
			"and it is stored once. Without an Idempotency-Key, look for it in GET /api/predictions first."}
)

// The codes of the pages and the shell.
var (
	CodeCrossOrigin   = page("cross_origin", 403, "Sent from another site", "A form was sent from another site.")
	CodeForgedRequest = page(
		"forged_request", 403, "Form not accepted", "A form was not sent from its own page, or its page is out of date.",
	)
	CodeNotSignedIn          = page("not_signed_in", 403, "Not signed in", "The session of an admin has ended.")
	CodeInvalidAuthorization = page(
		"invalid_authorization", 400, "This app can't be connected", "An app asked for access to an agent, but the request is invalid.",
	)
	CodeInvalidSignIn = page("invalid_sign_in", 401, "Not signed in", "The name and password, or the provider's answer, do not prove the person's identity.")
	CodeSignInOver    = page("sign_in_over", 400, "Not signed in", "A sign-in was begun in another browser, was used already, or took too long.")
	CodeSignInRefused = page("sign_in_refused", 403, "Not signed in", "The identity provider refused the sign-in.")
	CodeScopeMissing  = page(
		"scope_missing", 403, "Not an admin", "The identity provider did not grant the scope that admins need.",
	)
	CodeNameTaken  = page("name_taken", 409, "Name taken", "Another admin has this name.")
	CodeNoPassword = page(
		"no_password", 409, "No password", "The admin signs in through the identity provider and has no password.",
	)
	CodeHandleTaken      = page("handle_taken", 409, "Handle taken", "Another agent has this handle.")
	CodeHandleReserved   = page("handle_reserved", 409, "Reserved already", "The handle is reserved already.")
	CodeHandleBuiltIn    = page("handle_built_in", 409, "Built in", "The handle is reserved by the program.")
	CodeNotReserved      = page("not_reserved", 409, "Not reserved", "The handle is not reserved.")
	CodeAssignmentClosed = page("assignment_closed", 409, "Assignment closed", "A closed assignment cannot be changed.")
	CodeReportClosed     = page("report_closed", 409, "Closed already", "The report is closed already.")
	CodeChangedMeanwhile = page("changed_meanwhile", 409, "Another admin changed this first", "The content of the page has changed since it was opened.")
	CodeAlreadySettled   = page("already_settled", 409, "Already settled", "The prediction or market is settled already.")
	CodeAlreadyVoid      = page("already_void", 409, "Already void", "The prediction is void already.")
	CodeNotDue           = page("not_due", 409, "Not due yet", "The prediction's horizon has not passed.")
	CodeMarketDecides    = page("market_decides", 409, "Its market decides", "The prediction is settled with its market.")
	CodeMarketOpen       = page("market_open", 409, "The market is open", "The market is still open at its source.")
)

func page(name string, status int, title, meaning string) *Code {
	return &Code{Name: name, Status: status, Title: title, Meaning: meaning, PagesOnly: true}
}

// Codes lists every code: first those of the API in the order of the docs, then the others.
var Codes = []*Code{
	CodeInvalidJSON, CodeInvalidParameter, CodeInvalidRequest, CodeInvalidPrediction, CodePayloadTooLarge, CodeRangeNotSatisfiable,
	CodeUnsupportedMediaType, CodeMissingCredentials, CodeInvalidCredentials, CodeInsufficientScope, CodeAgentDisabled, CodeAccountClosed, CodeTextHidden,
	CodeNotEnabled, CodeRegistrationClosed, CodeUserAgentRejected, CodeOriginRejected, CodeInvalidMCP, CodeNotFound,
	CodeMethodNotAllowed, CodeCursorExpired, CodeMarketClosed, CodeNotLocal, CodeTooManyKeys, CodeNotAuthor, CodeNotSettled, CodeReportInFlight,
	CodeIdempotencyMismatch, CodeRateLimited, CodeInternal, CodeUnavailable,

	CodeCrossOrigin, CodeForgedRequest, CodeNotSignedIn, CodeInvalidAuthorization, CodeInvalidSignIn, CodeSignInOver, CodeSignInRefused,
	CodeScopeMissing, CodeNameTaken, CodeNoPassword, CodeHandleTaken, CodeHandleReserved, CodeHandleBuiltIn,
	CodeNotReserved, CodeAssignmentClosed, CodeReportClosed, CodeChangedMeanwhile, CodeAlreadySettled, CodeAlreadyVoid,
	CodeNotDue, CodeMarketDecides, CodeMarketOpen,
}
