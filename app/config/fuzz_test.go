package config

import "testing"

// FuzzRate checks that an accepted rate is off or above zero, and that its text gives the same rate again.
func FuzzRate(f *testing.F) {
	for _, seed := range []string{"100/s", "1200/min", "5/h", "off", "", "0/s", "-1/min", "1/", "/s", "1e3/s", " 1/s", "9223372036854775808/s"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r, again Rate
		if r.UnmarshalText(text) != nil {
			return
		}
		if !r.Off() && (r.N <= 0 || r.Per <= 0) {
			t.Errorf("%q is read as %+v", text, r)
		}
		if err := again.UnmarshalText([]byte(r.String())); err != nil || again != r {
			t.Errorf("%q is read as %+v, and that as %q: %+v, %v", text, r, r, again, err)
		}
	})
}

// FuzzCheck checks that Check returns one line or a usable configuration for every setting.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:8080", "http://example.org/", "sqlite://x", "10.0.0.0/8, ::1", "redis://x", "postgres://u:p@h/d", "%zz", "\x00", ":", "[::1]:80"} {
		f.Add(seed, seed, seed, seed)
	}
	f.Fuzz(func(t *testing.T, addr, base, database, proxies string) {
		c := Default()
		c.Addr, c.BaseURL, c.DatabaseURL, c.TrustedProxies = addr, base, database, proxies
		if c.Check() != nil {
			return
		}
		if ranges, err := c.Proxies(); err != nil {
			t.Errorf("Check accepts the proxies %q: %v", proxies, err)
		} else {
			for _, r := range ranges {
				if !r.IsValid() {
					t.Errorf("the proxies %q hold an invalid range", proxies)
				}
			}
		}
		c.Loopback()
	})
}
