package web

import "testing"

// TestPageMarkdown checks that words that only styles keep apart don't run together, and that what only phones or
// pictures need is left out.
func TestPageMarkdown(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]string{
		`<p><a href="/a">A</a><bdi>Ada</bdi><span>open</span></p>`:                                    "[A](http://h/a) Ada open\n",
		`<p><span>$12.5M traded</span><span>closes in 58 days</span></p>`:                             "$12.5M traded closes in 58 days\n",
		`<p>An <b>edge</b>, <i>not</i> skill.</p>`:                                                    "An **edge**, *not* skill.\n",
		`<p>Q</p><span class="narrow-note">Ada · open</span><p class="legend"><i></i> 95 % range</p>`: "Q\n",
	} {
		got, err := pageMarkdown([]byte("<main>"+html+"</main>"), "http://h/")
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", html, got, err, want)
		}
	}
}
