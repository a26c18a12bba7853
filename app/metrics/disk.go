package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pulsecast/pulsecast/app/monitor"
)

// disk collects the space on the disk of the SQLite file. On Postgres it collects nothing.
type disk struct{ monitor *monitor.Monitor }

var (
	diskFree = describe("disk_free_bytes", "Free space on the disk that holds the SQLite file.")
	diskSize = describe("disk_size_bytes", "Size of the disk that holds the SQLite file.")
)

func (disk) Describe(ch chan<- *prometheus.Desc) { ch <- diskFree; ch <- diskSize }

func (d disk) Collect(ch chan<- prometheus.Metric) {
	room, ours, err := d.monitor.Disk()
	if !ours || err != nil {
		return
	}
	gauge(ch, diskFree, float64(room.Free))
	gauge(ch, diskSize, float64(room.Size))
}
