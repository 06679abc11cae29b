package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// worldStarter makes the world at the start of a story.
type worldStarter struct{ *player }

// makeInitialWorld makes the objects that answers show, or that requests need to succeed,
// and that no exchange made.
func (p worldStarter) makeInitialWorld() {
	p.startZonesOrPools("zone", "zones", "zones")
	p.startZonesOrPools("pool", "resourcepools", "resourcepool")
	p.startHosts()
	p.startTags()
	p.startMachines()
}

// zoneOrPool is a zone or a resource pool as answers show it.
type zoneOrPool struct {
	id                int
	name, description string
}

// startZonesOrPools makes the zones or pools that existed at the start, in the order of
// their ids. Deleted rows before them use up an id, too.
func (p worldStarter) startZonesOrPools(key, collection, single string) {
	there := map[int]zoneOrPool{}
	for i, e := range p.exchanges {
		route := e.Route()
		if (route[0] == collection || route[0] == single) && e.OK() {
			for _, o := range objectsOf(p.evidence.bodies[i]) {
				p.addZoneOrPool(there, o, i, collection)
			}
		}
		walkObjects(p.evidence.bodies[i], key, func(o map[string]any) { p.addZoneOrPool(there, o, i, collection) })
	}
	next := 0
	for _, id := range slices.Sorted(maps.Keys(there)) {
		next = p.makeZoneOrPool(there[id], collection, single, next)
	}
}

// addZoneOrPool keeps a zone or pool unless an earlier exchange made it.
func (p worldStarter) addZoneOrPool(there map[int]zoneOrPool, o map[string]any, i int, collection string) {
	id, name := numberOf(o["id"]), textOf(o["name"])
	if name == "" || name == "default" || there[id].name != "" || p.wasZoneOrPoolMade(name, id, i, collection) {
		return
	}
	there[id] = zoneOrPool{id: id, name: name, description: textOf(o["description"])}
}

// wasZoneOrPoolMade tells whether an exchange up to i made the zone or pool.
func (p worldStarter) wasZoneOrPoolMade(name string, id, i int, collection string) bool {
	for j, e := range p.exchanges[:i+1] {
		if e.Request.Method != http.MethodPost || !e.OK() || e.Route()[0] != collection || len(e.Route()) != 1 {
			continue
		}
		if o, ok := p.evidence.bodies[j].(map[string]any); ok && (textOf(o["name"]) == name || numberOf(o["id"]) == id) {
			return true
		}
	}
	return false
}

func (p worldStarter) makeZoneOrPool(wanted zoneOrPool, collection, single string, next int) int {
	for range 100 {
		name := wanted.name
		if next != 0 && next < wanted.id {
			name = fmt.Sprintf("before-%d", next)
		}
		var made struct{ ID int }
		if !decodeBody(p.tryCall(http.MethodPost, collection+"/", url.Values{"name": {name}, "description": {wanted.description}}), &made) {
			return next
		}
		next = made.ID + 1
		p.highestID[collection] = max(p.highestID[collection], made.ID)
		if name == wanted.name && made.ID >= wanted.id {
			return next
		}
		handle := strconv.Itoa(made.ID)
		if collection == "zones" {
			handle = name
		}
		p.tryCall(http.MethodDelete, single+"/"+handle+"/", nil)
	}
	return next
}

// walkObjects calls a function for each object that is the value of a key.
func walkObjects(v any, key string, found func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			if o, ok := child.(map[string]any); ok && k == key {
				found(o)
			}
			walkObjects(child, key, found)
		}
	case []any:
		for _, child := range v {
			walkObjects(child, key, found)
		}
	}
}

// startHosts registers the VM hosts that existed at the start, in the order of their ids.
// A host that was registered later is registered just before the answer that shows it.
func (p worldStarter) startHosts() {
	there, made := map[int]map[string]any{}, map[string]bool{}
	highest := 0
	for i, e := range p.exchanges {
		for _, o := range p.evidence.hostsIn(i) {
			id := numberOf(o["id"])
			if e.Request.Method == http.MethodPost && len(e.Route()) == 1 {
				made[textOf(o["id"])] = true
				highest = max(highest, id)
			}
			if made[textOf(o["id"])] {
				continue
			}
			made[textOf(o["id"])] = true
			if before := hostBefore(e, o); (id < highest || highest == 0) && !p.wasHostAbsent(i, id) {
				there[id] = before
			} else {
				p.changes[i] = append([]worldChange{{"somebody registered the VM host " + textOf(o["name"]), func(p *player) { worldStarter{p}.registerHost(before) }}}, p.changes[i]...)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		p.addNote("at the start: VM host %s is registered", textOf(there[id]["name"]))
		p.registerHost(there[id])
	}
}

// wasHostAbsent tells whether a list of all VM hosts before i lacks one.
func (p worldStarter) wasHostAbsent(i, id int) bool {
	for j, e := range p.exchanges[:i] {
		list, ok := p.evidence.bodies[j].([]any)
		if route := e.Route(); !ok || len(route) != 1 || route[0] != "vm-hosts" && route[0] != "pods" {
			continue
		}
		if !slices.ContainsFunc(objectsOf(list), func(o map[string]any) bool { return numberOf(o["id"]) == id }) {
			return true
		}
	}
	return false
}

// hostBefore is a VM host before the exchange that shows it, that is, without the
// request's changes.
func hostBefore(e recording.Exchange, o map[string]any) map[string]any {
	before := maps.Clone(o)
	if e.Op() == "add_tag" {
		before["tags"] = slices.DeleteFunc(slices.Clone(anyList(o["tags"])), func(tag any) bool { return tag == e.FormValues().Get("tag") })
	}
	if e.Request.Method == http.MethodPut {
		for name := range e.FormValues() {
			delete(before, name)
		}
	}
	return before
}

func anyList(v any) []any { list, _ := v.([]any); return list }

// registerHost registers a VM host as an answer shows it.
func (p worldStarter) registerHost(o map[string]any) {
	recordedID := textOf(o["id"])
	form := url.Values{
		"type": {"lxd"}, "power_address": {p.address()}, "project": {p.evidence.projectOfHost(recordedID, textOf(o["name"]))},
		"certificate": {p.trustedPair.certificate}, "key": {p.trustedPair.key}, "name": {textOf(o["name"])},
	}
	for _, name := range []string{"zone", "pool"} {
		if value := nameOf(o[name]); value != "" {
			form.Set(name, value)
		}
	}
	tags := slices.DeleteFunc(listOf(o["tags"]), func(tag string) bool { return tag == "pod-console-logging" })
	if len(tags) > 0 {
		form.Set("tags", strings.Join(tags, ","))
	}
	var made struct {
		ID   int
		Host struct {
			SystemID string `json:"system_id"`
		}
	}
	body := p.callMAAS(http.MethodPost, "vm-hosts/", form)
	if json.Unmarshal(body, &made) != nil || made.ID == 0 {
		return
	}
	p.bindHost(recordedID, strconv.Itoa(made.ID))
	if host, ok := o["host"].(map[string]any); ok && p.match.simulatedOf["node"][textOf(host["system_id"])] == "" && made.Host.SystemID != "" {
		p.bindNode(textOf(host["system_id"]), made.Host.SystemID)
	}
	p.awaitHostInventory(recordedID)
	p.updateStartedHost(strconv.Itoa(made.ID), o)
}

// updateStartedHost sets the attributes of a VM host that only an update can set. A host
// that nobody updated has no macvlan mode, and an updated host has an empty one.
func (p worldStarter) updateStartedHost(id string, o map[string]any) {
	var have map[string]any
	body, err := recording.DecodeJSON(p.callMAAS(http.MethodGet, "vm-hosts/"+id+"/", nil))
	if have, _ = body.(map[string]any); err != nil || have == nil {
		return
	}
	form := url.Values{}
	for _, name := range []string{"cpu_over_commit_ratio", "memory_over_commit_ratio", "default_macvlan_mode"} {
		if o[name] != nil && o[name] != have[name] {
			form.Set(name, textOf(o[name]))
		}
	}
	if pool := defaultPool(o); pool != "" && pool != defaultPool(have) {
		form.Set("default_storage_pool", pool)
	}
	if len(form) > 0 {
		p.callMAAS(http.MethodPut, "vm-hosts/"+id+"/", form)
	}
}

// defaultPool is the id of the storage pool that a VM host takes by default.
func defaultPool(host map[string]any) string {
	for _, pool := range objectsOf(host["storage_pools"]) {
		if pool["default"] == true {
			return textOf(pool["id"])
		}
	}
	return ""
}

// address is where the LXD of the story listens.
func (p *player) address() string { return p.model.Hosts[0].Address }

// startTags makes the tags that successful requests named and that no request made.
func (p worldStarter) startTags() {
	made := map[string]bool{}
	for i, e := range p.exchanges {
		route := e.Route()
		if route[0] != "tags" || !e.OK() {
			continue
		}
		var names []string
		switch {
		case len(route) == 1 && e.Request.Method == http.MethodPost:
			made[e.FormValues().Get("name")] = true
		case len(route) == 1:
			for _, o := range objectsOf(p.evidence.bodies[i]) {
				names = append(names, textOf(o["name"]))
			}
		default:
			names = []string{route[1]}
		}
		for _, name := range names {
			if !made[name] && !p.wasTagMissing(i, name) {
				made[name] = true
				p.tryCall(http.MethodPost, "tags/", url.Values{"name": {name}})
				p.basis.markNamedInferred("tags", name)
			}
		}
	}
}

// wasTagMissing tells whether MAAS said before exchange i that the tag does not exist.
func (p worldStarter) wasTagMissing(i int, name string) bool {
	return slices.ContainsFunc(p.exchanges[:i], func(e recording.Exchange) bool {
		route := e.Route()
		return e.Response.Status == http.StatusNotFound && len(route) == 2 && route[0] == "tags" && route[1] == name
	})
}

// startMachines composes the VMs that existed at the start.
func (p worldStarter) startMachines() {
	known := map[string]bool{}
	for i, seen := range p.evidence.seen {
		for _, s := range seen {
			if known[s.ID] || s.PodID == "" || p.evidence.madeBy(s.ID) >= 0 || p.evidence.lastRefreshBefore(i, s) >= 0 {
				continue
			}
			known[s.ID] = true
			p.startMachine(s)
		}
	}
}

func (p worldStarter) startMachine(s sighting) {
	host, ok := p.match.simulatedOf["VM host"][s.PodID]
	if !ok {
		return
	}
	form := url.Values{"hostname": {s.Hostname}, "cores": {strconv.Itoa(max(1, s.Cores))}, "memory": {strconv.FormatInt(max(1024, s.MemoryMiB), 10)}, "skip_commissioning": {"true"}}
	var made struct {
		SystemID string `json:"system_id"`
	}
	if !decodeBody(p.tryCall(http.MethodPost, "vm-hosts/"+host+"/?op=compose", form), &made) {
		return
	}
	p.addNote("at the start: the VM %s, %s, exists", s.Hostname, s.Status)
	p.bindNode(s.ID, made.SystemID)
	zone, pool, status, power, tags := nameOf(s.Body["zone"]), nameOf(s.Body["pool"]), s.Status, s.Power, listOf(s.Body["tag_names"])
	edit := sim.MachineEdit{Zone: &zone, Pool: &pool, Tags: &tags, StatusName: &status}
	if power == "on" || power == "off" {
		edit.PowerState = &power
	}
	p.noteSteeringError(p.world.EditMachine(made.SystemID, edit))
}

func nameOf(v any) string {
	o, _ := v.(map[string]any)
	return textOf(o["name"])
}

func listOf(v any) []string {
	out := []string{}
	list, _ := v.([]any)
	for _, entry := range list {
		out = append(out, textOf(entry))
	}
	return out
}

func decode(e recording.Exchange, into any) bool { return json.Unmarshal(e.Response.Body, into) == nil }

// decodeBody decodes a successful answer.
func decodeBody(got simResponse, into any) bool {
	return got.Status < http.StatusMultipleChoices && json.Unmarshal(got.Body, into) == nil
}
