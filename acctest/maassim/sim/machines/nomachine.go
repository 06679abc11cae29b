package machines

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// noMachineText is MAAS's message when no machine matches. It contains all fields in the
// order of the request, and the constraints as MAAS read them (describe_constraints).
func noMachineText(c *request.Call) string {
	var sent, resolved []string
	for _, name := range namesInOrder(c) {
		sent = append(sent, fmt.Sprintf("('%s', ['%s'])", name, strings.Join(c.Form[name], "', '")))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Form)) {
		if !slices.Contains(allocationOptions, name) && strings.Join(c.Form[name], "") != "" {
			resolved = append(resolved, name+"="+resolvedText(c, name, c.Form[name]))
		}
	}
	switch {
	case len(resolved) == 0:
		return "No machine available."
	case c.HasField("system_id"):
		return fmt.Sprintf("No machine with system ID %s available.", c.Field("system_id"))
	}
	return fmt.Sprintf("No available machine matches constraints: [%s] (resolved to \"%s\")", strings.Join(sent, ", "), strings.Join(resolved, " "))
}

// namesInOrder are the form's fields in the order of the request. If the order is not
// known, they are sorted by name.
func namesInOrder(c *request.Call) []string {
	names := slices.DeleteFunc(slices.Clone(c.FieldOrder), func(name string) bool { return !c.HasField(name) })
	if len(names) < len(c.Form) {
		return slices.Sorted(maps.Keys(c.Form))
	}
	return names
}

// resolvedText is a constraint as MAAS writes it after reading: numbers with a fraction,
// architectures and subnets resolved, and tags by name.
func resolvedText(c *request.Call, name string, values []string) string {
	out := slices.Clone(values)
	switch name {
	case "cpu_count", "cpu_speed", "mem", "link_speed":
		for n, value := range values {
			number, _ := rest.ReadFloat(value)
			out[n] = hosts.FormatRatio(number)
		}
	case "arch", "not_arch":
		for n, value := range values {
			if name == "arch" && !strings.Contains(value, "/") {
				out[n] = value + "/generic"
			}
		}
	case "tags":
		out = rest.SplitTags(values)
		slices.Sort(out)
	case "subnets", "not_subnets":
		out = nil
		found, _ := request.SubnetsBySpecifiers(c.World, values)
		for _, s := range found {
			out = append(out, strconv.Itoa(s.ID))
		}
	case "vlans", "not_vlans":
		out = nil
		found, _ := request.VLANsBySpecifiers(c.World, values)
		for _, v := range found {
			out = append(out, strconv.Itoa(v.ID))
		}
	case "storage", "interfaces", "devices":
		return rest.LastValue(values)
	}
	return strings.Join(out, ",")
}
