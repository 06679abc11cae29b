package maas

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// composeIDs are numbers that compose needs where the rest of the API accepts names. MAAS
// chooses for an empty one.
type composeIDs struct {
	zone, pool, domain string
}

// composeForm builds the parameters of compose. It always sends skip_commissioning.
func composeForm(comp engine.Composition, ids composeIDs) url.Values {
	form := url.Values{
		"hostname":           {comp.Hostname},
		"memory":             {strconv.FormatInt(comp.MemoryMiB, 10)},
		"skip_commissioning": {"true"},
	}
	for _, core := range comp.PinnedCores {
		form.Add("pinned_cores", strconv.Itoa(core)) // MAAS accepts no comma list
	}
	if len(comp.PinnedCores) == 0 {
		form.Set("cores", strconv.Itoa(comp.Cores))
	}
	if comp.HugePages {
		form.Set("hugepages_backed", "true")
	}
	optional := map[string]string{
		"architecture": comp.Architecture,
		"zone":         ids.zone,
		"pool":         ids.pool,
		"domain":       ids.domain,
		"storage":      storageConstraints(comp.Disks, comp.Marker),
		"interfaces":   interfaceConstraints(comp.Interfaces),
	}
	for name, value := range optional {
		if value != "" {
			form.Set(name, value)
		}
	}
	return form
}

// storageConstraints writes disks as MAAS's storage constraints, "root:8(pool,marker)". The
// first disk is the root disk, and sizes are whole decimal GB. A tag is the name of a
// storage pool; any other tag stays on the disk. We choose the labels: MAAS only requires
// that they differ.
func storageConstraints(disks []engine.Disk, marker string) string {
	var constraints []string
	for i, d := range disks {
		label, tags := "disk"+strconv.Itoa(i), []string{}
		if d.Pool != "" {
			tags = append(tags, d.Pool)
		}
		if i == 0 {
			label = "root"
			if marker != "" {
				tags = append(tags, marker)
			}
		}
		constraint := fmt.Sprintf("%s:%d", label, d.SizeGB)
		if len(tags) > 0 {
			constraint += "(" + strings.Join(tags, ",") + ")"
		}
		constraints = append(constraints, constraint)
	}
	return strings.Join(constraints, ",")
}

// interfaceConstraints writes interfaces as MAAS's interface constraints,
// "eth0:subnet=1;eth1:subnet=2".
func interfaceConstraints(interfaces []engine.NIC) string {
	var constraints []string
	for i, nic := range interfaces {
		constraints = append(constraints, fmt.Sprintf("eth%d:subnet=%d", i, nic.ID))
	}
	return strings.Join(constraints, ";")
}
