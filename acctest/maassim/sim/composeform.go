package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// leastMemoryMiB is the least memory of a VM (forms/pods.py).
const leastMemoryMiB = 1024

// wantedVM is a compose that was checked.
type wantedVM struct {
	host        *vmHost
	hostname    string
	cores       int
	pinned      []int
	memoryMiB   int64
	hugepages   bool
	disks       []wantedDisk
	nics        []wantedNIC
	zone        *zone
	pool        *pool
	domain      *domain
	skip        bool
	commissions *user
	newTags     []string // of the host, for which MAAS had no tag as the compose began
}

// wantedDisk is a part of storage=: label:size(tag,tag).
type wantedDisk struct {
	sizeBytes int64
	tags      []string
}

// wantedNIC is a part of interfaces=: label:key=value,…
type wantedNIC struct {
	subnet *subnet
	ip     string
}

// readCompose checks the compose form in MAAS's order: fields first, then
// networks. Zone, pool and domain are ids here, not names.
func readCompose(c *call, h *vmHost) (wantedVM, *reply) {
	errs := formErrors{}
	v := wantedVM{
		host: h, hostname: c.field("hostname"), zone: c.w.defaultZone(), pool: h.pool, domain: c.w.domains[0],
		skip: truth(c.field("skip_commissioning")), hugepages: truth(c.field("hugepages_backed")), commissions: c.user,
	}
	v.newTags = c.w.withoutTag(h.tags)
	v.cores = int(readNumber(c, errs, "cores", 1, 1, int64(h.cores)))
	v.memoryMiB = readNumber(c, errs, "memory", 2048, leastMemoryMiB, h.memoryMiB)
	v.readPinned(c, errs)
	if arch := c.field("architecture"); arch != "" && !slices.Contains(h.architectures, arch) {
		errs.add("architecture", choiceProblem(arch))
	}
	c.w.checkNewHostname(v.hostname, errs)
	readByID(c, errs, "zone", c.w.zones, &v.zone)
	readByID(c, errs, "pool", c.w.pools, &v.pool)
	readByID(c, errs, "domain", c.w.domains, &v.domain)
	var problem string
	if v.disks, problem = readStorage(or(c.field("storage"), "root:8(local)")); problem != "" {
		errs.add("storage", problem)
	}
	parts, problem := readInterfaces(c.field("interfaces"))
	if problem != "" {
		errs.add("interfaces", problem)
	}
	if len(errs) > 0 {
		bad := badForm(errs)
		return v, &bad
	}
	bad := v.readNICs(c.w, parts)
	return v, bad
}

// checkNewHostname refuses names that cannot be and those that machines have.
func (w *world) checkNewHostname(name string, errs formErrors) {
	if name == "" {
		return
	}
	if problem := labelProblem(name); problem != "" {
		errs.add("hostname", problem)
	} else if w.machineNamed(name) != nil {
		errs.add("hostname", nameTaken(name))
	}
}

func nameTaken(name string) string {
	return fmt.Sprintf("Node with hostname \"%s\" already exists", name)
}

// readNumber reads a whole number within limits.
func readNumber(c *call, errs formErrors, field string, missing, least, most int64) int64 {
	text := strings.TrimSpace(c.field(field))
	n := missing
	if text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			errs.add(field, "Enter a whole number.")
			return 0
		}
	}
	if n < least {
		errs.add(field, fmt.Sprintf("Ensure this value is greater than or equal to %d.", least))
	} else if n > most {
		errs.add(field, fmt.Sprintf("Ensure this value is less than or equal to %d.", most))
	}
	return n
}

// readPinned reads repeated core numbers, which replace cores.
func (v *wantedVM) readPinned(c *call, errs formErrors) {
	for _, text := range c.form["pinned_cores"] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= v.host.cores {
			errs.add("pinned_cores", choiceProblem(text))
			continue
		}
		v.pinned = append(v.pinned, n)
	}
	if len(v.pinned) > 0 {
		v.cores = len(v.pinned)
	}
}

// readByID reads a reference to an object by its number.
func readByID[T any](c *call, errs formErrors, field string, objects map[int]*T, to **T) {
	text := c.field(field)
	if text == "" {
		return
	}
	id, err := strconv.Atoi(text)
	if err != nil || objects[id] == nil {
		errs.add(field, invalidChoice)
		return
	}
	*to = objects[id]
}

// storagePart is MAAS's pattern of a storage constraint
// (node_constraint_filter_forms.py).
var storagePart = regexp.MustCompile(`^(?:([a-zA-Z]\w*):)?(\d+(?:\.\d+)?)(?:\(([^)]*)\))?$`)

// readStorage reads label:size(tag,…),…: sizes are decimal GB.
func readStorage(text string) ([]wantedDisk, string) {
	var disks []wantedDisk
	for _, part := range splitOutside(text, ',') {
		found := storagePart.FindStringSubmatch(strings.TrimSpace(part))
		if found == nil {
			return nil, fmt.Sprintf("Malformed storage constraint, \"%s\".", text)
		}
		size, err := strconv.ParseFloat(found[2], 64)
		if err != nil || size > 1e9 {
			return nil, fmt.Sprintf("Malformed storage constraint, \"%s\".", text)
		}
		disks = append(disks, wantedDisk{sizeBytes: int64(size * 1e9), tags: splitTags([]string{found[3]})})
	}
	return disks, ""
}

// splitOutside splits at a separator that is outside of parentheses.
func splitOutside(text string, sep rune) []string {
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

// interfaceKeys are the constraints that MAAS knows on interfaces.
var interfaceKeys = []string{"subnet", "subnet_cidr", "ip", "mode", "name", "space", "fabric", "fabric_class", "vid", "vlan", "dhcp", "mac_address", "hostname", "type", "tag", "not_subnet", "not_space"}

// readInterfaces reads label:key=value,…;label2:…
func readInterfaces(text string) ([]map[string]string, string) {
	var parts []map[string]string
	if text == "" {
		return nil, ""
	}
	for part := range strings.SplitSeq(text, ";") {
		label, rest, found := strings.Cut(part, ":")
		if !found || label == "" || !strings.Contains(rest, "=") {
			return nil, fmt.Sprintf("Malformed constraint: '%s' (required format: '<label>:<key>=<value>[,<key2>=<value2>[,...]]')", part)
		}
		constraint := map[string]string{}
		for pair := range strings.SplitSeq(rest, ",") {
			key, value, _ := strings.Cut(pair, "=")
			if !slices.Contains(interfaceKeys, key) {
				return nil, fmt.Sprintf("Unknown interfaces constraint: '%s", key)
			}
			constraint[key] = value
		}
		parts = append(parts, constraint)
	}
	return parts, ""
}
