package sanitize

import (
	"encoding/xml"
	"strings"
)

// Link is an anchor of an HTML fragment.
type Link struct {
	Href string
	Text string
}

// Fragment is the visible part of an HTML fragment.
type Fragment struct {
	Text  string // on one line, with single spaces
	Links []Link
}

// maxHTML is how much of a fragment is read, in bytes. The longest posts have 40,000 characters. The limit keeps nested
// elements from filling the memory, because the decoder remembers every open element.
const maxHTML = 256 << 10

// ReadHTML returns the visible text and the links of a fragment, of which it reads the first 256 KiB. It leaves out
// elements that readers don't see (script, style). If the markup is broken, it returns what comes before.
func ReadHTML(fragment string) Fragment {
	if len(fragment) > maxHTML {
		fragment = strings.ToValidUTF8(fragment[:maxHTML], "")
	}
	dec := xml.NewDecoder(strings.NewReader("<div>" + fragment + "</div>"))
	dec.Strict, dec.AutoClose, dec.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var text, anchor strings.Builder
	var out Fragment
	var link *Link
	hidden := 0
	for {
		token, err := dec.Token()
		if err != nil {
			out.Text = Squeeze(text.String())
			return out
		}
		switch t := token.(type) {
		case xml.StartElement:
			if unseen(t.Name.Local) {
				hidden++
			}
			if t.Name.Local == "a" {
				link = &Link{Href: attribute(t, "href")}
				anchor.Reset()
			}
			text.WriteString(gap(t.Name.Local))
		case xml.EndElement:
			if unseen(t.Name.Local) {
				hidden--
			}
			if t.Name.Local == "a" && link != nil {
				link.Text = Squeeze(anchor.String())
				out.Links = append(out.Links, *link)
				link = nil
			}
			text.WriteString(gap(t.Name.Local))
		case xml.CharData:
			if hidden > 0 {
				continue
			}
			text.Write(t)
			anchor.Write(t)
		}
	}
}

func unseen(element string) bool { return element == "script" || element == "style" }

// gap separates the words of neighbouring blocks, but not those of inline elements.
func gap(element string) string {
	switch element {
	case "a", "b", "i", "em", "strong", "code", "sup", "sub", "del", "span":
		return ""
	}
	return " "
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
