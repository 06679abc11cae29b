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

// starter makes the world in which a story begins.
type starter struct{ *player }

// start makes what the story takes for granted: what answers show, or requests
// succeed with, and no exchange made.
func (p starter) start() {
	p.startPlaces("zone", "zones", "zones")
	p.startPlaces("pool", "resourcepools", "resourcepool")
	p.startHosts()
	p.startTags()
	p.startMachines()
}

// place is a zone or a resource pool as answers show it.
type place struct {
	id                int
	name, description string
}

// startPlaces makes the zones or pools that were there, in the order of their
// ids. Those that had been deleted before take an id, too.
func (p starter) startPlaces(key, collection, single string) {
	there := map[int]place{}
	for i, e := range p.exchanges {
		route := e.Route()
		if (route[0] == collection || route[0] == single) && e.OK() {
			for _, o := range objectsOf(p.found.bodies[i]) {
				p.addPlace(there, o, i, collection)
			}
		}
		walk(p.found.bodies[i], key, func(o map[string]any) { p.addPlace(there, o, i, collection) })
	}
	next := 0
	for _, id := range slices.Sorted(maps.Keys(there)) {
		next = p.makePlace(there[id], collection, single, next)
	}
}

// addPlace keeps a zone or pool unless an exchange before made it.
func (p starter) addPlace(there map[int]place, o map[string]any, i int, collection string) {
	id, name := numberOf(o["id"]), textOf(o["name"])
	if name == "" || name == "default" || there[id].name != "" || p.madePlace(name, id, i, collection) {
		return
	}
	there[id] = place{id: id, name: name, description: textOf(o["description"])}
}

// madePlace tells whether an exchange up to i made the zone or pool.
func (p starter) madePlace(name string, id, i int, collection string) bool {
	for j, e := range p.exchanges[:i+1] {
		if e.Request.Method != http.MethodPost || !e.OK() || e.Route()[0] != collection || len(e.Route()) != 1 {
			continue
		}
		if o, ok := p.found.bodies[j].(map[string]any); ok && (textOf(o["name"]) == name || numberOf(o["id"]) == id) {
			return true
		}
	}
	return false
}

func (p starter) makePlace(wanted place, collection, single string, next int) int {
	for range 100 {
		name := wanted.name
		if next != 0 && next < wanted.id {
			name = fmt.Sprintf("before-%d", next)
		}
		var made struct{ ID int }
		if !decodeBody(p.try(http.MethodPost, collection+"/", url.Values{"name": {name}, "description": {wanted.description}}), &made) {
			return next
		}
		next = made.ID + 1
		p.highest[collection] = max(p.highest[collection], made.ID)
		if name == wanted.name && made.ID >= wanted.id {
			return next
		}
		handle := strconv.Itoa(made.ID)
		if collection == "zones" {
			handle = name
		}
		p.try(http.MethodDelete, single+"/"+handle+"/", nil)
	}
	return next
}

// walk calls a function for each object that is the value of a key.
func walk(v any, key string, found func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			if o, ok := child.(map[string]any); ok && k == key {
				found(o)
			}
			walk(child, key, found)
		}
	case []any:
		for _, child := range v {
			walk(child, key, found)
		}
	}
}

// startHosts registers the VM hosts that were there, in the order of their ids.
// One that was registered later is registered before the answer that shows it.
func (p starter) startHosts() {
	there, made := map[int]map[string]any{}, map[string]bool{}
	highest := 0
	for i, e := range p.exchanges {
		for _, o := range p.found.hostsIn(i) {
			id := numberOf(o["id"])
			if e.Request.Method == http.MethodPost && len(e.Route()) == 1 {
				made[textOf(o["id"])] = true
				highest = max(highest, id)
			}
			if made[textOf(o["id"])] {
				continue
			}
			made[textOf(o["id"])] = true
			if before := hostBefore(e, o); (id < highest || highest == 0) && !p.absentBefore(i, id) {
				there[id] = before
			} else {
				p.changes[i] = append([]scene{{"somebody registered the VM host " + textOf(o["name"]), func(p *player) { starter{p}.registerHost(before) }}}, p.changes[i]...)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		p.note("at the start: VM host %s is registered", textOf(there[id]["name"]))
		p.registerHost(there[id])
	}
}

// absentBefore tells whether a list of all VM hosts before i lacks one.
func (p starter) absentBefore(i, id int) bool {
	for j, e := range p.exchanges[:i] {
		list, ok := p.found.bodies[j].([]any)
		if route := e.Route(); !ok || len(route) != 1 || route[0] != "vm-hosts" && route[0] != "pods" {
			continue
		}
		if !slices.ContainsFunc(objectsOf(list), func(o map[string]any) bool { return numberOf(o["id"]) == id }) {
			return true
		}
	}
	return false
}

// hostBefore is a VM host before the exchange that shows it: without what the
// request changed.
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
func (p starter) registerHost(o map[string]any) {
	recordedID := textOf(o["id"])
	form := url.Values{
		"type": {"lxd"}, "power_address": {p.address()}, "project": {p.found.projectOfHost(recordedID, textOf(o["name"]))},
		"certificate": {p.trusted.certificate}, "key": {p.trusted.key}, "name": {textOf(o["name"])},
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
	body := p.call(http.MethodPost, "vm-hosts/", form)
	if json.Unmarshal(body, &made) != nil || made.ID == 0 {
		return
	}
	p.bindHost(recordedID, strconv.Itoa(made.ID))
	if host, ok := o["host"].(map[string]any); ok && p.match.bound["node"][textOf(host["system_id"])] == "" && made.Host.SystemID != "" {
		p.bindNode(textOf(host["system_id"]), made.Host.SystemID)
	}
	p.inventory(recordedID)
	p.settleHost(strconv.Itoa(made.ID), o)
}

// settleHost gives a VM host what only a change can give it. A host that nobody
// changed has no macvlan mode; one that was changed has an empty one.
func (p starter) settleHost(id string, o map[string]any) {
	var have map[string]any
	body, err := recording.DecodeJSON(p.call(http.MethodGet, "vm-hosts/"+id+"/", nil))
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
		p.call(http.MethodPut, "vm-hosts/"+id+"/", form)
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

// startTags makes the tags that requests named with success and none made.
func (p starter) startTags() {
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
			for _, o := range objectsOf(p.found.bodies[i]) {
				names = append(names, textOf(o["name"]))
			}
		default:
			names = []string{route[1]}
		}
		for _, name := range names {
			if !made[name] && !p.missedBefore(i, name) {
				made[name] = true
				p.try(http.MethodPost, "tags/", url.Values{"name": {name}})
				p.basis.doubtNamed("tags", name)
			}
		}
	}
}

// missedBefore tells whether MAAS said before exchange i that there is no such tag.
func (p starter) missedBefore(i int, name string) bool {
	return slices.ContainsFunc(p.exchanges[:i], func(e recording.Exchange) bool {
		route := e.Route()
		return e.Response.Status == http.StatusNotFound && len(route) == 2 && route[0] == "tags" && route[1] == name
	})
}

// startMachines composes the VMs that were there.
func (p starter) startMachines() {
	known := map[string]bool{}
	for i, seen := range p.found.seen {
		for _, s := range seen {
			if known[s.ID] || s.PodID == "" || p.found.made(s.ID) >= 0 || p.found.syncBefore(i, s) >= 0 {
				continue
			}
			known[s.ID] = true
			p.startMachine(s)
		}
	}
}

func (p starter) startMachine(s sighting) {
	host, ok := p.match.bound["VM host"][s.PodID]
	if !ok {
		return
	}
	form := url.Values{"hostname": {s.Hostname}, "cores": {strconv.Itoa(max(1, s.Cores))}, "memory": {strconv.FormatInt(max(1024, s.MemoryMiB), 10)}, "skip_commissioning": {"true"}}
	var made struct {
		SystemID string `json:"system_id"`
	}
	if !decodeBody(p.try(http.MethodPost, "vm-hosts/"+host+"/?op=compose", form), &made) {
		return
	}
	p.note("at the start: there is the VM %s, %s", s.Hostname, s.Status)
	p.bindNode(s.ID, made.SystemID)
	zone, pool, status, power, tags := nameOf(s.Body["zone"]), nameOf(s.Body["pool"]), s.Status, s.Power, listOf(s.Body["tag_names"])
	edit := sim.MachineEdit{Zone: &zone, Pool: &pool, Tags: &tags, StatusName: &status}
	if power == "on" || power == "off" {
		edit.PowerState = &power
	}
	p.steer(p.world.EditMachine(made.SystemID, edit))
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

// decodeBody reads a successful answer.
func decodeBody(got served, into any) bool {
	return got.Status < http.StatusMultipleChoices && json.Unmarshal(got.Body, into) == nil
}
