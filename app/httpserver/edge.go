package httpserver

import (
	"bytes"
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
)

// defaultAgents are the product tokens that HTTP libraries and command-line tools send if their user hasn't
// set a User-Agent, in lower case. The list has no tools with a user interface (Postman, Insomnia) and not
// PowerShell, which sends the User-Agent of a browser.
var defaultAgents = func() map[string]struct{} {
	set := map[string]struct{}{}
	for _, name := range []string{
		// Python
		"python", "python-requests", "python-urllib", "python-urllib3", "python-httpx", "python-httplib2", "httpx", "aiohttp", "pycurl", "scrapy", "treq",
		// command line
		"curl", "libcurl", "libcurl-agent", "wget", "wget2", "httpie", "xh", "aria2",
		// Go
		"go-http-client", "go-resty", "fasthttp", "colly", "fiber",
		// JVM
		"java", "java-http-client", "okhttp", "apache-httpclient", "apache-httpasyncclient", "jakarta", "ktor-client", "jersey", "reactornetty", "unirest-java", "asynchttpclient", "ahc", "akka-http", "scalaj-http", "sttp",
		// JavaScript
		"axios", "node-fetch", "undici", "node", "node.js", "got", "superagent", "node-superagent", "needle", "deno", "bun",
		// Rust
		"reqwest", "ureq", "isahc",
		// Ruby, Perl, PHP
		"ruby", "faraday", "rest-client", "httparty", "http.rb", "typhoeus", "mechanize", "httpclient", "libwww-perl", "lwp", "lwp::simple", "http-tiny", "mojolicious", "php", "guzzlehttp", "php-curl-class", "symfony",
		// others
		"dart", "restsharp", "dotnet", "hackney", "cpp-httplib", "cpprestsdk", "boost.beast", "lua-resty-http", "luasocket", "winhttp", "winhttprequest",
	} {
		set[name] = struct{}{}
	}
	return set
}()

// longestAgent is the size of the buffer for lower-casing. The list has no longer token.
const longestAgent = 32

var rejected = problem.New(problem.CodeUserAgentRejected,
	"Send a User-Agent that begins with the name of your agent, for example: "+
		"User-Agent: my-agent/1.0 (+https://example.org/my-agent). An empty one and the defaults of libraries "+
		"and tools (python-requests/2.31, curl/8.5) are refused here; a request with a valid key in "+
		"Authorization: Bearer <API_KEY> passes with any.")

// EdgeFilter returns middleware that refuses the default User-Agents of scripting libraries. It compares
// the first product token, which RFC 9110, section 10.1.5, makes the most significant one: "my-agent/1.0
// (python-requests/2.31)" passes, "curl/8.5 my-agent" does not. A request with a valid bearer passes with
// any User-Agent. So does a request with a well-formed bearer while bearers can't be checked, because everything
// behind the filter is public. With EDGE_FILTER=off all requests pass.
func (s *Server) EdgeFilter() fiber.Handler {
	if !s.filtersAgents() {
		return pass
	}
	return func(c *fiber.Ctx) error {
		if !defaultAgent(c.Request().Header.UserAgent()) {
			return c.Next()
		}
		p, err := s.identify(c)
		if refusal, ok := errors.AsType[*problem.Error](err); ok {
			switch refusal.Status {
			case fiber.StatusUnauthorized:
				return rejected
			case fiber.StatusServiceUnavailable:
				return c.Next()
			}
		}
		if err != nil {
			return err
		}
		if p == nil {
			return rejected
		}
		return c.Next()
	}
}

func (s *Server) filtersAgents() bool { return s.opts.Config.EdgeFilter != "off" }

// defaultAgent reports whether a User-Agent is empty or the default of a library.
func defaultAgent(ua []byte) bool {
	ua = bytes.TrimLeft(ua, " \t")
	var lower [longestAgent]byte
	n := 0
	for ; n < len(ua); n++ {
		b := ua[n]
		if b == '/' || b == ' ' || b == '\t' || b == ';' || b == ',' || b == '(' {
			break
		}
		if n == longestAgent {
			return false
		}
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		lower[n] = b
	}
	if n == 0 {
		return true
	}
	_, found := defaultAgents[string(lower[:n])]
	return found
}
