package sim

import (
	"fmt"
	"slices"
	"strings"
)

// createVMHost registers an LXD. It answers 200 for one that it could not
// reach or that refused it, and keeps the empty record.
func createVMHost(c *call) reply {
	w, errs := c.w, formErrors{}
	switch kind := c.field("type"); kind {
	case "":
		return badField("type", "This field is required.")
	case "lxd", "virsh":
	default:
		return badField("type", choiceProblem(kind))
	}
	if c.field("power_address") == "" {
		errs.add("power_address", "This field is required.")
	}
	f := readHostForm(c, errs)
	if len(errs) > 0 {
		return badForm(errs)
	}
	b, bad := f.newBMC(w)
	if bad != nil {
		return *bad
	}
	h, bad := w.hostOn(b, f)
	if bad != nil {
		return *bad
	}
	w.afterSave(h, nil)
	return ok(h.view())
}

// newBMC is the address and the credentials of a new VM host. Without a
// certificate MAAS makes one.
func (f hostForm) newBMC(w *world) (*bmc, *reply) {
	b := &bmc{address: *f.address, project: "default", hasPassword: true}
	if f.project != nil && *f.project != "" {
		b.project = *f.project
	}
	set(&b.password, f.password)
	set(&b.certificate, f.certificate)
	set(&b.key, f.key)
	if b.certificate != "" || b.key != "" {
		return b, checkPair(b.certificate, b.key)
	}
	var err error
	if b.certificate, b.key, err = newPair("maas"); err != nil {
		bad := internalError(err.Error())
		return nil, &bad
	}
	return b, nil
}

// hostOn makes the VM host of a BMC. One that exists already with machines
// enlisted on it is turned into the VM host, and then nothing of the form
// counts.
func (w *world) hostOn(b *bmc, f hostForm) (*vmHost, *reply) {
	old := w.bmcs[b.id()]
	switch {
	case old == nil:
		h := w.newHost(w.hostName(f), b)
		f.apply(h)
		h.name = w.hostName(hostForm{name: &h.name})
		return h, nil
	case old.host == nil:
		return w.newHost(w.randomName(), old), nil
	}
	bad := badText(fmt.Sprintf("Pod %s with type and parameters already exist.", old.host.name))
	return nil, &bad
}

func (w *world) hostName(f hostForm) string {
	if f.name == nil || *f.name == "" {
		return w.randomName()
	}
	return *f.name
}

// afterSave is what follows a create or an update: discovery, whose failure is
// swallowed, and the hardware inventory, which ends later.
func (w *world) afterSave(h *vmHost, before func(*lxdServer)) {
	if w.rack != OK {
		return
	}
	l, problem := w.reach(h.bmc, "")
	if problem != "" || w.hosts[h.id] != h {
		return
	}
	w.sleep(w.model.Latency.Refresh)
	if w.hosts[h.id] != h {
		return
	}
	w.discover(h, l)
	if before != nil {
		before(l)
	}
	w.sync(h, l, l.listed(h.bmc.project))
	w.findHost(h, l)
	h.startInventory(l)
}

// startInventory asks for the hardware, unless it is known. A host machine
// that was made anew knows nothing yet.
func (h *vmHost) startInventory(l *lxdServer) {
	if h.cores > 0 && h.machine.cores > 0 || h.inventory.pending() {
		return
	}
	h.inventory = h.w.later(h.w.model.Latency.Inventory, func() { h.takeInventory(l) })
}

// updateVMHost changes a record and discovers again. Another project destroys
// the VMs of the old one.
func updateVMHost(c *call, h *vmHost) reply {
	errs := formErrors{}
	f := readHostForm(c, errs)
	f.readUpdateOnly(c, h, errs)
	if len(errs) > 0 {
		return badForm(errs)
	}
	if f.certificate != nil || f.key != nil {
		certificate, key := h.bmc.certificate, h.bmc.key
		set(&certificate, f.certificate)
		set(&key, f.key)
		if bad := checkPair(certificate, key); bad != nil {
			return *bad
		}
	}
	old := h.bmc.project
	f.apply(h)
	h.setMacvlan(f.macvlanMode)
	h.rewire(f)
	c.w.afterSave(h, func(l *lxdServer) {
		if h.bmc.project != old {
			h.destroyProject(l, old)
		}
	})
	h.bmc.hasPassword = true // any update brings the field back, empty
	return ok(h.view())
}

// setMacvlan is null until the first update, and a text from then on.
func (h *vmHost) setMacvlan(mode *string) {
	if mode == nil && h.macvlanMode == nil {
		empty := ""
		mode = &empty
	}
	if mode != nil {
		h.macvlanMode = mode
	}
}

// rewire changes address, project and credentials. An empty project means
// "default".
func (h *vmHost) rewire(f hostForm) {
	b := h.bmc
	delete(h.w.bmcs, b.id())
	if f.address != nil && *f.address != "" {
		b.address = *f.address
	}
	if f.project != nil {
		b.project = or(*f.project, "default")
	}
	set(&b.certificate, f.certificate)
	set(&b.key, f.key)
	set(&b.password, f.password)
	h.w.bmcs[b.id()] = b
}

// destroyProject is what a change of project does to the machines of the old
// one: they and their instances are deleted.
func (h *vmHost) destroyProject(l *lxdServer, project string) {
	for _, m := range h.vms() {
		if i := l.projects[project][m.instance]; i != nil && i.busy == "" {
			l.remove(i)
		}
		m.forget()
	}
}

// refreshVMHost lists the instances and makes the machines agree with them.
// Listing and sync see one moment, because MAAS repeats both on a conflict.
func refreshVMHost(c *call, h *vmHost) reply {
	w := c.w
	if w.rack != OK {
		return unavailable("Unable to start the VM host discovery process. No rack controllers connected.")
	}
	l, problem := w.reach(h.bmc, fmt.Sprintf("VM Host %d: ", h.id))
	if problem != "" {
		return unavailable("Failed talking to pod: " + problem)
	}
	w.sleep(w.model.Latency.Refresh)
	if w.hosts[h.id] != h {
		return noObject("Pod")
	}
	w.discover(h, l)
	if unknown := w.unknownInstances(h, l); len(unknown) > 0 && len(w.images) == 0 {
		return badText(w.noCommissioningImage())
	}
	w.sync(h, l, l.listed(h.bmc.project))
	w.findHost(h, l)
	h.startInventory(l)
	return ok(h.view())
}

// unknownInstances are those that a sync would adopt.
func (w *world) unknownInstances(h *vmHost, l *lxdServer) []*instance {
	return slices.DeleteFunc(l.listed(h.bmc.project), func(i *instance) bool {
		for _, m := range w.machines {
			if m.has(i) {
				return true
			}
		}
		return false
	})
}

// noCommissioningImage is MAAS's sentence when nothing can be booted.
func (w *world) noCommissioningImage() string {
	return "Ephemeral operating system ubuntu " + w.defaultSeries() + " is unavailable."
}

// deleteVMHost removes the record and those of its machines. The instances go
// only with decompose=true in the query, and only where LXD can be reached.
func deleteVMHost(c *call, h *vmHost) reply {
	decompose := truth(c.query.Get("decompose"))
	for _, m := range h.vms() {
		if decompose {
			c.w.removeVM(m)
		} else {
			m.forget()
		}
	}
	c.w.removeHost(h)
	return deleted()
}

// removeHost deletes a VM host, and the machine that MAAS made for it; other
// VM hosts of that server lose it until they are refreshed. A machine that
// MAAS knew before stays.
func (w *world) removeHost(h *vmHost) {
	h.inventory.cancel()
	delete(w.hosts, h.id)
	delete(w.bmcs, h.bmc.id())
	h.bmc.host = nil
	if m := h.machine; m != nil && m.powerType == "" {
		m.forget()
	}
}

func addVMHostTag(c *call, h *vmHost) reply { return changeTags(c, h, true) }

func removeVMHostTag(c *call, h *vmHost) reply { return changeTags(c, h, false) }

func changeTags(c *call, h *vmHost, add bool) reply {
	name := c.field("tag")
	switch {
	case name == "":
		return badText("No provided tag!")
	case strings.Contains(name, ","):
		return badText(`Tag may not contain a ",".`)
	}
	tags := slices.DeleteFunc(slices.Clone(h.tags), func(t string) bool { return t == name })
	if add {
		tags = append(tags, name)
	}
	h.setTags(tags)
	return ok(h.view())
}
