package replay

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// sighting is a machine as a recorded answer shows it.
type sighting struct {
	index                       int // index of the exchange
	ID, Hostname, Status, Power string
	Message                     string
	PodID, PodName              string
	Project                     string
	MAC                         string
	Cores                       int
	MemoryMiB                   int64
	DiskBytes                   int64
	Body                        map[string]any
}

// evidence is what the answers of a recording reveal about its objects.
type evidence struct {
	exchanges []recording.Exchange
	bodies    []any        // decoded; nil where an answer is not JSON
	seen      [][]sighting // by exchange
}

func gatherEvidence(exchanges []recording.Exchange) *evidence {
	v := &evidence{exchanges: exchanges, bodies: make([]any, len(exchanges)), seen: make([][]sighting, len(exchanges))}
	for i, e := range exchanges {
		if !e.Response.IsJSON {
			continue
		}
		body, err := recording.DecodeJSON(e.Response.Body)
		if err != nil {
			continue
		}
		v.bodies[i] = body
		for _, object := range objectsOf(body) {
			if s, ok := sightingOf(object); ok {
				s.index = i
				v.seen[i] = append(v.seen[i], s)
			}
		}
	}
	return v
}

// objectsOf are the objects of an answer: one, or those of a list.
func objectsOf(body any) []map[string]any {
	switch body := body.(type) {
	case map[string]any:
		return []map[string]any{body}
	case []any:
		var all []map[string]any
		for _, entry := range body {
			if object, ok := entry.(map[string]any); ok {
				all = append(all, object)
			}
		}
		return all
	}
	return nil
}

func sightingOf(o map[string]any) (sighting, bool) {
	s := sighting{
		ID: textOf(o["system_id"]), Hostname: textOf(o["hostname"]), Status: textOf(o["status_name"]),
		Power: textOf(o["power_state"]), Message: textOf(o["status_message"]), Cores: numberOf(o["cpu_count"]),
		MemoryMiB: int64(numberOf(o["memory"])), Body: o,
	}
	if pod, ok := o["pod"].(map[string]any); ok {
		s.PodID, s.PodName = textOf(pod["id"]), textOf(pod["name"])
	}
	if disk, ok := o["boot_disk"].(map[string]any); ok {
		s.DiskBytes = int64(numberOf(disk["size"]))
	}
	if nic, ok := o["boot_interface"].(map[string]any); ok {
		s.MAC = textOf(nic["mac_address"])
	}
	return s, s.ID != "" && s.Status != ""
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

func numberOf(v any) int {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	whole, err := n.Int64()
	if err != nil {
		return 0
	}
	return int(whole)
}

// isVMHost tells whether an object of an answer is a VM host.
func isVMHost(o map[string]any) bool {
	_, total := o["total"].(map[string]any)
	_, host := o["host"].(map[string]any)
	return total && host
}

// hostsIn are the VM hosts in an answer.
func (v *evidence) hostsIn(i int) []map[string]any {
	return slices.DeleteFunc(objectsOf(v.bodies[i]), func(o map[string]any) bool { return !isVMHost(o) })
}

// sightings are the answers that show a machine, in their order.
func (v *evidence) sightings(id string) (all []sighting) {
	for _, seen := range v.seen {
		for _, s := range seen {
			if s.ID == id {
				all = append(all, s)
			}
		}
	}
	return all
}

// madeBy is the index of the exchange that made a machine: a compose, an enlistment, or an
// allocation that composed. It is -1 if none did.
func (v *evidence) madeBy(id string) int {
	for i, e := range v.exchanges {
		if e.Request.Method != http.MethodPost || !e.OK() {
			continue
		}
		route := e.Route()
		enlists := len(route) == 1 && route[0] == "machines" && (e.Op() == "" || e.Op() == "allocate")
		if !enlists && e.Op() != "compose" {
			continue
		}
		if o, ok := v.bodies[i].(map[string]any); ok && textOf(o["system_id"]) == id {
			return i
		}
	}
	return -1
}

// machineOf is the recorded system id that a request is about, or empty.
func machineOf(e recording.Exchange) string {
	route := e.Route()
	if len(route) >= 2 && (route[0] == "machines" || route[0] == "nodes") {
		return route[1]
	}
	if e.Op() == "allocate" {
		return e.FormValues().Get("system_id")
	}
	return ""
}

// hostOf is the recorded id of the VM host that a request is about, or empty.
func hostOf(e recording.Exchange) string {
	route := e.Route()
	if len(route) >= 2 && (route[0] == "vm-hosts" || route[0] == "pods") {
		return route[1]
	}
	return ""
}

// triggersRefresh tells whether an exchange makes MAAS read the inventory of a VM host's
// LXD: a refresh, a registration, or a change of its address or project.
func triggersRefresh(e recording.Exchange) bool {
	route := e.Route()
	if !e.OK() || route[0] != "vm-hosts" && route[0] != "pods" {
		return false
	}
	return e.Request.Method == http.MethodPost && (e.Op() == "refresh" || len(route) == 1) || e.Request.Method == http.MethodPut
}

// enlistment is what a request to enlist an LXD instance names.
type enlistment struct{ Instance, Project, Address, MAC string }

func enlistmentOf(e recording.Exchange) (enlistment, bool) {
	route := e.Route()
	if e.Request.Method != http.MethodPost || len(route) != 1 || route[0] != "machines" || e.Op() != "" {
		return enlistment{}, false
	}
	form := e.FormValues()
	given := map[string]any{}
	if json.Unmarshal([]byte(form.Get("power_parameters")), &given) != nil {
		for name := range form {
			if short, ok := strings.CutPrefix(name, "power_parameters_"); ok {
				given[short] = form.Get(name)
			}
		}
	}
	n := enlistment{Instance: textOf(given["instance_name"]), Project: textOf(given["project"]), Address: textOf(given["power_address"])}
	if macs := form["mac_addresses"]; len(macs) > 0 {
		n.MAC = macs[0]
	}
	return n, form.Get("power_type") == "lxd" && n.Instance != ""
}
