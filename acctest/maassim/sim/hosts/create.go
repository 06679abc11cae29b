package hosts

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// createVMHost registers an LXD. Even if it cannot reach the LXD, or the LXD refuses it,
// it answers 200 and keeps the empty record.
func createVMHost(c *request.Call) rest.Reply {
	w, errs := c.World, rest.FormErrors{}
	switch kind := c.Field("type"); kind {
	case "":
		return rest.BadFieldReply("type", "This field is required.")
	case "lxd", "virsh":
	default:
		return rest.BadFieldReply("type", rest.ChoiceProblem(kind))
	}
	if c.Field("power_address") == "" {
		errs.Add("power_address", "This field is required.")
	}
	f := readHostForm(c, errs)
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	b, bad := f.newBMC(w)
	if bad != nil {
		return *bad
	}
	h, bad := hostForBMC(w, b, f)
	if bad != nil {
		return *bad
	}
	discoverAfterSave(w, h, nil)
	return rest.OKReply(view.VMHost(h))
}

// newBMC is the address and the credentials of a new VM host. MAAS makes a certificate if
// none is given.
func (f hostForm) newBMC(w *world.World) (*world.BMC, *rest.Reply) {
	b := &world.BMC{Address: *f.address, Project: "default", HasPassword: true, Generated: true}
	if f.project != nil && *f.project != "" {
		b.Project = *f.project
	}
	SetIfGiven(&b.Password, f.password)
	SetIfGiven(&b.Certificate, f.certificate)
	SetIfGiven(&b.Key, f.key)
	if b.Certificate != "" || b.Key != "" {
		b.Generated, b.HasPassword = false, b.Password != ""
		return b, checkCertificatePair(b.Certificate, b.Key)
	}
	var err error
	if b.Certificate, b.Key, err = NewCertificatePair("maas"); err != nil {
		bad := InternalErrorReply(err.Error())
		return nil, &bad
	}
	return b, nil
}

// hostForBMC makes the VM host of a BMC. If the BMC exists already and has enlisted
// machines, it becomes the VM host, and MAAS ignores the rest of the form.
func hostForBMC(w *world.World, b *world.BMC, f hostForm) (*world.VMHost, *rest.Reply) {
	old := w.BMCs[b.RowKey()]
	switch {
	case old == nil:
		h := NewVMHost(w, hostName(w, f), b)
		f.applyTo(h)
		h.Name = hostName(w, hostForm{name: &h.Name})
		return h, nil
	case old.Host == nil:
		return NewVMHost(w, w.RandomName(), old), nil
	}
	bad := rest.BadTextReply(fmt.Sprintf("Pod %s with type and parameters already exist.", old.Host.Name))
	return nil, &bad
}

func hostName(w *world.World, f hostForm) string {
	if f.name == nil || *f.name == "" {
		return w.RandomName()
	}
	return *f.name
}

// discoverAfterSave runs the discovery after a create or an update, and ignores its
// errors. The hardware inventory follows and ends later.
func discoverAfterSave(w *world.World, h *world.VMHost, before func(*world.LXD)) {
	if w.RackCondition != world.ConditionOK {
		return
	}
	l, problem := driver.ReachLXD(w, h.BMC, "")
	if problem != "" || w.Hosts[h.ID] != h {
		return
	}
	w.Sleep(w.Latency.Refresh)
	if w.Hosts[h.ID] != h {
		return
	}
	DiscoverHost(w, h, l)
	if before != nil {
		before(l)
	}
	syncInstances(w, h, l, l.ListedInstances(h.BMC.Project))
	FindHostMachine(w, h, l)
	startInventory(h, l)
}

// startInventory starts the hardware inventory unless the hardware is known. A new host
// machine has no hardware yet.
func startInventory(h *world.VMHost, l *world.LXD) {
	if h.Cores > 0 && h.Machine.Cores > 0 || h.Inventory.IsPending() {
		return
	}
	h.Inventory = h.World.StartJob(h.World.Latency.Inventory, func() { TakeInventory(h, l) })
}
