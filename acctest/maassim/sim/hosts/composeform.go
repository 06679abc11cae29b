package hosts

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// MinMemoryMiB is the least memory of a VM (forms/pods.py).
const MinMemoryMiB = 1024

// ComposeRequest is a checked compose request.
type ComposeRequest struct {
	Host              *world.VMHost
	hostname          string
	Cores             int
	pinned            []int
	MemoryMiB         int64
	hugepages         bool
	Disks             []requestedDisk
	nics              []requestedNIC
	Zone              *world.Zone
	Pool              *world.Pool
	Domain            *world.Domain
	SkipCommissioning bool
	Commissioner      *world.User
	newTags           []string // the host's tags that MAAS did not have when the compose began
}

// requestedDisk is a part of storage=: label:size(tag,tag).
type requestedDisk struct {
	label     string
	sizeBytes int64
	tags      []string
}

// Spec returns the fields of the part.
func (d requestedDisk) Spec() (label string, sizeBytes int64, tags []string) {
	return d.label, d.sizeBytes, d.tags
}

// requestedNIC is a part of interfaces=: label:key=value,…
type requestedNIC struct {
	label          string
	subnet         *world.Subnet
	ip             string
	isUnconfigured bool // mode=unconfigured
}

// readCompose checks the compose form in MAAS's order: first the fields, then the
// networks. In this form zone, pool and domain are ids, not names.
func readCompose(c *request.Call, h *world.VMHost) (ComposeRequest, *rest.Reply) {
	errs := rest.FormErrors{}
	v := ComposeRequest{
		Host: h, hostname: c.Field("hostname"), Zone: c.World.DefaultZone(), Pool: h.Pool, Domain: c.World.DefaultDomain(),
		SkipCommissioning: rest.ReadBool(c.Field("skip_commissioning")), hugepages: rest.ReadBool(c.Field("hugepages_backed")), Commissioner: c.User,
	}
	v.newTags = namesWithoutTag(c.World, h.Tags)
	v.Cores = int(readNumber(c, errs, "cores", 1, 1, int64(h.Cores)))
	v.MemoryMiB = readNumber(c, errs, "memory", 2048, MinMemoryMiB, h.MemoryMiB)
	v.readPinned(c, errs)
	if arch := c.Field("architecture"); arch != "" && !slices.Contains(h.Architectures, arch) {
		errs.Add("architecture", rest.ChoiceProblem(arch))
	}
	checkNewHostname(c.World, v.hostname, errs)
	readByID(c, errs, "zone", c.World.Zones, &v.Zone)
	readByID(c, errs, "pool", c.World.Pools, &v.Pool)
	readByID(c, errs, "domain", c.World.Domains, &v.Domain)
	var problem string
	if v.Disks, problem = ReadStorage(cmp.Or(c.Field("storage"), "root:8(local)")); problem != "" {
		errs.Add("storage", problem)
	}
	parts, problem := request.ReadInterfaces(c.Field("interfaces"))
	if problem != "" {
		errs.Add("interfaces", problem)
	}
	if len(errs) > 0 {
		bad := rest.BadFormReply(errs)
		return v, &bad
	}
	bad := v.readNICs(c.World, parts)
	return v, bad
}

// checkNewHostname refuses invalid hostnames, and hostnames that machines already have.
func checkNewHostname(w *world.World, name string, errs rest.FormErrors) {
	if name == "" {
		return
	}
	if problem := rest.LabelProblem(name); problem != "" {
		errs.Add("hostname", problem)
	} else if w.MachineNamed(name) != nil {
		errs.Add("hostname", nameTakenText(name))
	}
}

func nameTakenText(name string) string {
	return fmt.Sprintf("Node with hostname \"%s\" already exists", name)
}

// readNumber reads a whole number within limits.
func readNumber(c *request.Call, errs rest.FormErrors, field string, missing, least, most int64) int64 {
	text := strings.TrimSpace(c.Field(field))
	n := missing
	if text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			errs.Add(field, "Enter a whole number.")
			return 0
		}
	}
	if n < least {
		errs.Add(field, fmt.Sprintf("Ensure this value is greater than or equal to %d.", least))
	} else if n > most {
		errs.Add(field, fmt.Sprintf("Ensure this value is less than or equal to %d.", most))
	}
	return n
}

// readPinned reads the repeated numbers of pinned cores, which replace cores.
func (v *ComposeRequest) readPinned(c *request.Call, errs rest.FormErrors) {
	for _, text := range c.Form["pinned_cores"] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= v.Host.Cores {
			errs.Add("pinned_cores", rest.ChoiceProblem(text))
			continue
		}
		v.pinned = append(v.pinned, n)
	}
	if len(v.pinned) > 0 {
		v.Cores = len(v.pinned)
	}
}

// readByID reads a reference to an object by its id.
func readByID[T any](c *request.Call, errs rest.FormErrors, field string, objects map[int]*T, to **T) {
	text := c.Field(field)
	if text == "" {
		return
	}
	id, err := strconv.Atoi(text)
	if err != nil || objects[id] == nil {
		errs.Add(field, rest.InvalidChoice)
		return
	}
	*to = objects[id]
}

// storageConstraintPattern is MAAS's pattern of a storage constraint
// (node_constraint_filter_forms.py).
var storageConstraintPattern = regexp.MustCompile(`^(?:([a-zA-Z]\w*):)?(\d+(?:\.\d+)?)(?:\(([^)]*)\))?$`)

// ReadStorage reads label:size(tag,…),… with sizes in decimal GB.
func ReadStorage(text string) ([]requestedDisk, string) {
	var disks []requestedDisk
	for _, part := range splitOutsideParentheses(text, ',') {
		found := storageConstraintPattern.FindStringSubmatch(strings.TrimSpace(part))
		if found == nil {
			return nil, fmt.Sprintf("Malformed storage constraint, \"%s\".", text)
		}
		size, err := strconv.ParseFloat(found[2], 64)
		if err != nil || size > 1e9 {
			return nil, fmt.Sprintf("Malformed storage constraint, \"%s\".", text)
		}
		disks = append(disks, requestedDisk{label: found[1], sizeBytes: int64(size * 1e9), tags: rest.SplitTags([]string{found[3]})})
	}
	return disks, ""
}

// splitOutsideParentheses splits a text at separators outside of parentheses.
func splitOutsideParentheses(text string, sep rune) []string {
	var parts []string
	depth, start := 0, 0
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == sep && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// maxNameBytes is Linux's limit for the name of an interface.
const maxNameBytes = 15

// nameForLabel is the interface name that MAAS derives from a label
// (provisioningserver/utils/network.py, get_ifname_for_label).
func nameForLabel(label string) string {
	if n, err := strconv.Atoi(label); err == nil && n >= 0 {
		label = fmt.Sprintf("eth%d", n)
	}
	if len(label) <= maxNameBytes {
		return label
	}
	sum := fmt.Sprintf("%05x", crc32.ChecksumIEEE([]byte(label)))
	return "eth-" + sum[len(sum)-5:] + "-" + label[len(label)-5:]
}
