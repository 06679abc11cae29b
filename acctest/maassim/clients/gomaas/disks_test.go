package gomaas

import (
	"testing"

	"github.com/canonical/gomaasclient/client"
)

func TestBlockDevices(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal1").SystemID
		disks := must(c.BlockDevices.Get(id))
		same(t, "the number of disks", len(disks), 2)
		same(t, "the size of the first", disks[0].Size, 480e9)
	})
}
