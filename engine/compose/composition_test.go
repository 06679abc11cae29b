package compose

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// notComposed are the fields of a spec that are not given to a VM when it is made, and
// what becomes of them.
var notComposed = map[string]string{
	"Name":               "the hostname, which is another one where LXD has an instance of that name",
	"Host":               "says where",
	"Placement":          "says where",
	"Interfaces":         "their subnets are; addresses are linked once the VM is Ready",
	"Tags":               "set once the VM is there",
	"RemovedTags":        "set once the VM is there",
	"Deploy":             "installed once the VM is Ready",
	"Description":        "written with the mark, once the VM is there",
	"Locked":             "MAAS locks what is deployed",
	"Power":              "turned once the VM is finished",
	"MayStop":            "says how a finished VM may change its size",
	"Annotations":        "written once the VM is deployed",
	"RemovedAnnotations": "removed once the VM is deployed",
	"Installation":       "noted before the VM is deployed",
	"AwaitName":          "says how long a name is waited for",
	"Resize":             "says whether a finished VM may change its size",
	"Reconfigure":        "says whether a finished VM may change its options and devices",
	"RemovedConfig":      "a VM that is made has none of them",
	"RemovedDevices":     "a VM that is made has none of them",
	"AddedInterfaces":    "says which interfaces come to a VM that is there",
	"RemovedInterfaces":  "a VM that is made has none of them",
}

// TestSpecIsComposed: what a spec says of a VM is asked of who makes it, or stands in the
// list of what is not.
func TestSpecIsComposed(t *testing.T) {
	t.Parallel()
	full := engine.VMSpec{
		Cores: 3, PinnedCores: []int{4, 5}, MemoryMiB: 6000, HugePages: true, Profile: "fast", Zone: "az7", Pool: "pool8", Domain: "example",
		Config: map[string]string{"user.team": "a"}, Devices: map[string]engine.Device{"tpm0": {Type: "tpm"}},
		Disks: []engine.Disk{{Name: "root", SizeGB: 9}}, Interfaces: []engine.Interface{{Name: "eth0", IP: netip.MustParseAddr("10.0.0.1")}},
	}
	asked, wanted := composedOf(t, full), reflect.ValueOf(full)
	for n := range wanted.NumField() {
		field := wanted.Type().Field(n).Name
		if _, listed := notComposed[field]; listed {
			continue
		}
		got := reflect.ValueOf(asked).FieldByName(field)
		switch {
		case wanted.Field(n).IsZero():
			t.Errorf("%s: give it a value in this test, or list why it is not composed", field)
		case !got.IsValid() || !reflect.DeepEqual(got.Interface(), wanted.Field(n).Interface()):
			t.Errorf("%s is not asked of who makes the VM", field)
		}
	}
}

// composedOf is what is asked of a Composer for a spec without interfaces.
func composedOf(t *testing.T, want engine.VMSpec) engine.Composition {
	t.Helper()
	want.Interfaces = nil
	mk := New(engine.Config{Now: time.Now}, region.New())
	c, err := mk.NewAttempt("o/web", want).composition(t.Context(), engine.VMHost{Zone: "default", Pool: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
