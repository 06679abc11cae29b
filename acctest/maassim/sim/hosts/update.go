package hosts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// updateVMHost changes a VM host and runs the discovery again. Changing the project
// destroys the VMs of the old project.
func updateVMHost(c *request.Call, h *world.VMHost) rest.Reply {
	errs := rest.FormErrors{}
	f := readHostForm(c, errs)
	f.readUpdateOnly(c, h, errs)
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	if f.certificate != nil || f.key != nil {
		certificate, key := h.BMC.Certificate, h.BMC.Key
		SetIfGiven(&certificate, f.certificate)
		SetIfGiven(&key, f.key)
		if bad := checkCertificatePair(certificate, key); bad != nil {
			return *bad
		}
	}
	old := h.BMC.Project
	f.applyTo(h)
	setMacvlanMode(h, f.macvlanMode)
	changeBMC(h, f)
	discoverAfterSave(c.World, h, func(l *world.LXD) {
		if h.BMC.Project != old {
			deleteProjectVMs(h, l, old)
		}
	})
	if h.BMC.Generated {
		h.BMC.HasPassword = true // after any update the field is there again, and empty
	}
	return rest.OKReply(view.VMHost(h))
}

// setMacvlanMode sets the macvlan mode. It is null until the first update, and a text
// afterwards.
func setMacvlanMode(h *world.VMHost, mode *string) {
	if mode == nil && h.MacvlanMode == nil {
		empty := ""
		mode = &empty
	}
	if mode != nil {
		h.MacvlanMode = mode
	}
}

// changeBMC changes the address, project and credentials. An empty project means
// "default".
func changeBMC(h *world.VMHost, f hostForm) {
	b := h.BMC
	delete(h.World.BMCs, b.RowKey())
	if f.address != nil && *f.address != "" {
		b.Address = *f.address
	}
	if f.project != nil {
		b.Project = cmp.Or(*f.project, "default")
	}
	SetIfGiven(&b.Certificate, f.certificate)
	SetIfGiven(&b.Key, f.key)
	SetIfGiven(&b.Password, f.password)
	h.World.BMCs[b.RowKey()] = b
}

// deleteProjectVMs deletes the machines and instances of the old project after a change of
// project.
func deleteProjectVMs(h *world.VMHost, l *world.LXD, project string) {
	for _, m := range h.VMs() {
		if i := l.Projects[project][m.Instance]; i != nil && i.Busy == "" {
			l.Remove(i)
		}
		m.Forget()
	}
}

func addVMHostTag(c *request.Call, h *world.VMHost) rest.Reply { return changeTags(c, h, true) }

func removeVMHostTag(c *request.Call, h *world.VMHost) rest.Reply { return changeTags(c, h, false) }

func changeTags(c *request.Call, h *world.VMHost, add bool) rest.Reply {
	name := c.Field("tag")
	switch {
	case name == "":
		return rest.BadTextReply("No provided tag!")
	case strings.Contains(name, ","):
		return rest.BadTextReply(`Tag may not contain a ",".`)
	}
	tags := slices.DeleteFunc(slices.Clone(h.Tags), func(t string) bool { return t == name })
	if add {
		tags = append(tags, name)
	}
	h.SetTags(tags)
	return rest.OKReply(view.VMHost(h))
}
