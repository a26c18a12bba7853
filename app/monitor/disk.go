package monitor

import (
	"fmt"
	"syscall"
)

// Disk is the space on a file system, in bytes.
type Disk struct {
	Free uint64 // available to an ordinary user
	Size uint64
}

// DiskOf reads the space on the file system that holds a folder.
func DiskOf(folder string) (Disk, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return Disk{}, fmt.Errorf("read the disk of %s: %w", folder, err)
	}
	return Disk{Free: s.Bavail * uint64(s.Bsize), Size: s.Blocks * uint64(s.Bsize)}, nil
}

// Full returns whether an operator must free space: less than a tenth of the disk is free. The
// threshold is at least 1 GB and at most 20 GB.
func (d Disk) Full() bool { return d.Free < d.need() }

// Roomy returns whether there is enough space again. Between Full and Roomy an alert keeps its
// state.
func (d Disk) Roomy() bool { return d.Free > d.need()*6/5 }

func (d Disk) need() uint64 {
	const giga = 1 << 30
	return max(giga, min(d.Size/10, 20*giga))
}
