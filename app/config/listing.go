package config

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// Setting is one setting as an admin may see it.
type Setting struct {
	Name  string // of the environment variable
	Value string // secrets masked
	Set   bool   // differs from the default
}

// Settings lists every setting in the order of --help. It masks settings of type Secret and the passwords
// in addresses.
func (c *Config) Settings() []Setting {
	now := reflect.ValueOf(*c)
	var list []Setting
	for i := range now.NumField() {
		tag := now.Type().Field(i).Tag
		name := tag.Get("env")
		if name == "" {
			continue
		}
		value := fmt.Sprint(now.Field(i).Interface())
		list = append(list, Setting{
			Name: name, Value: masked(value), Set: value != written(tag.Get("default"), now.Field(i).Interface()),
		})
	}
	return list
}

// written returns the text of a default in the form in which Settings prints a value.
func written(text string, value any) string {
	switch value.(type) {
	case time.Duration:
		if d, err := time.ParseDuration(text); err == nil {
			return d.String()
		}
	case bool:
		return cmp.Or(text, "false")
	}
	return text
}

// masked removes the passwords from an address: the user's, and those in parameters.
func masked(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		return "***" // masks too much rather than missing a password
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), "xxxxx")
		}
	}
	query := u.Query()
	for key := range query {
		lower := strings.ToLower(key)
		if strings.Contains(lower, "pass") || strings.Contains(lower, "secret") || strings.Contains(lower, "token") || strings.Contains(lower, "key") {
			query.Set(key, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.String()
}
