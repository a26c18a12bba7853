package archive

import (
	"errors"
	"os"
)

// Scratch makes an empty file in the folder for temporary files. The file has no name, so the
// system frees its space when it is closed, even if the process is killed.
func Scratch() (*os.File, error) {
	file, err := os.CreateTemp("", "pulsecast-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
