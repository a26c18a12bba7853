package sourcetest

import (
	"encoding/xml"
	"net/http"
	"strings"
	"time"
)

func grantToken(w http.ResponseWriter, _ *http.Request) {
	answer(w, Record{"access_token": "recorded", "token_type": "bearer", "expires_in": 86400, "scope": "*"})
}

// of returns the posts of one community.
func (s *Server) of(community string) []Record {
	found := []Record{}
	for _, post := range s.posts {
		if strings.EqualFold(text(post["subreddit"]), community) {
			found = append(found, post)
		}
	}
	return found
}

func (s *Server) listing(w http.ResponseWriter, r *http.Request) {
	children := []Record{}
	for _, post := range s.of(r.PathValue("community")) {
		children = append(children, Record{"kind": "t3", "data": post})
	}
	answer(w, Record{"kind": "Listing", "data": Record{"after": nil, "children": children}})
}

type entry struct {
	ID        string `xml:"id"`
	Title     string `xml:"title"`
	Author    string `xml:"author>name"`
	Published string `xml:"published"`
	Link      struct {
		Href string `xml:"href,attr"`
	} `xml:"link"`
	Content struct {
		Type string `xml:"type,attr"`
		HTML string `xml:",chardata"`
	} `xml:"content"`
}

// feed returns the posts as the Atom feed of a community, which has no scores.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	feed := struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Entries []entry  `xml:"entry"`
	}{}
	for _, post := range s.of(r.PathValue("community")) {
		e := entry{ID: "t3_" + text(post["id"]), Title: text(post["title"]), Author: "/u/" + text(post["author"])}
		e.Published = time.Unix(int64(number(post["created_utc"])), 0).UTC().Format(time.RFC3339)
		e.Link.Href = "https://www.reddit.com" + text(post["permalink"])
		e.Content.Type, e.Content.HTML = "html", `<a href="`+text(post["url"])+`">[link]</a>`
		feed.Entries = append(feed.Entries, e)
	}
	w.Header().Set("Content-Type", "application/atom+xml; charset=utf-8")
	if err := xml.NewEncoder(w).Encode(feed); err != nil {
		panic(err)
	}
}

func (s *Server) search(w http.ResponseWriter, _ *http.Request) {
	answer(w, Record{"hits": append([]any{}, s.stories...)})
}
