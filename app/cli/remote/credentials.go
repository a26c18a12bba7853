package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// credentials is the file with the keys. Only its user can read it.
type credentials struct{ dir func() (string, error) }

// keptCredentials is the content of the file.
type keptCredentials struct {
	// Default is the address of the last login.
	Default string `json:"default,omitempty"`
	// Agents has the agent of each installation by its address.
	Agents map[string]keptAgent `json:"agents"`
}

type keptAgent struct {
	Handle string `json:"handle"`
	Key    string `json:"key"`
}

func (t *Terminal) credentials() credentials { return credentials{t.ConfigDir} }

func (c credentials) path() (string, error) { return configFile(c.dir, "credentials.json") }

func (c credentials) read() (kept keptCredentials, err error) {
	kept.Agents = map[string]keptAgent{}
	path, err := c.path()
	if err != nil {
		return kept, nil // without a home folder nothing is stored
	}
	err = readConfig(path, &kept)
	if kept.Agents == nil { // the file contains null
		kept.Agents = map[string]keptAgent{}
	}
	return kept, err
}

func (c credentials) write(kept keptCredentials) (path string, err error) {
	if path, err = c.path(); err != nil {
		return "", fmt.Errorf("the key can't be stored, because there is no home folder; set %s instead: %w", keyVariable, err)
	}
	return path, writeConfig(path, kept)
}

func configFile(dir func() (string, error), name string) (string, error) {
	root, err := dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "pulsecast", name), nil
}

// readConfig reads a settings file. A missing file is empty.
func readConfig(path string, v any) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s is damaged; delete it and log in again: %w", path, err)
	}
	return nil
}

// writeConfig replaces a settings file in one step. Only its user can read it.
func writeConfig(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeWhole(path, func(out io.Writer) error {
		_, err := out.Write(append(raw, '\n'))
		return err
	})
}
