package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

const aboutMAAS = `
Checks whether maaslxd can work with this MAAS and this key: version, rights,
VM hosts, zone, resource pool, images. With --test-vm-host it also runs check
vm-host. It leaves nothing behind.`

// maasOptions are the options of check maas. Check vm-host has the same ones.
type maasOptions struct {
	maasAccess
	vmHostOptions
	image      string
	testVMHost bool
}

func (o *maasOptions) settings(p setting.Program) *setting.Settings {
	s := setting.New(p, aboutMAAS)
	o.maasAccess.addSettings(s, p)
	s.AddText(&o.image, "image", "IMAGE", "", "image that MAAS must have, such as ubuntu/noble (default: any)")
	s.AddSwitch(&o.testVMHost, "test-vm-host", "", "register an LXD, and remove it again")
	o.vmHostOptions.addSettings(s)
	return s
}

// RunMAAS checks a MAAS.
func RunMAAS(ctx context.Context, p setting.Program) error {
	var o maasOptions
	if err := o.settings(p).Read(); err != nil {
		return err
	}
	client, err := o.newClient(p)
	if err != nil {
		return err
	}
	defer client.Close()
	if o.testVMHost {
		if err := o.vmHostOptions.requireCredentials(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	f := startFindings(p, "the MAAS at "+o.endpoint)
	can, err := client.Catalog.Capabilities(ctx)
	if f.reportError(err) {
		return f.finish(nil)
	}
	f.checkCapabilities(can)
	f.checkZoneAndPool(ctx, client.Names, o.zone, o.pool)
	f.checkImages(ctx, client.Catalog, o.image)
	f.reportVMHosts(ctx, client, can)
	if o.testVMHost && f.failed == 0 {
		f.reportError(o.tryRegistration(ctx, f, client, &o.maasAccess, can))
	}
	return f.finish(nil)
}

func (f *findings) checkCapabilities(can engine.Capabilities) {
	f.reportOK("MAAS %s answers, and the key belongs to %s", can.Version, can.Username)
	if can.Admin {
		f.reportOK("%s is an administrator", can.Username)
	} else {
		f.reportFailure(can.Username+" is not an administrator", "Only administrators can make hosts and VMs: give the key of one (sudo maas apikey --username NAME).")
	}
}

// checkZoneAndPool checks that the wanted zone and resource pool exist.
func (f *findings) checkZoneAndPool(ctx context.Context, names engine.Names, zone, pool string) {
	for _, each := range []struct {
		what, flag, name string
		list             func(context.Context) ([]string, error)
	}{{"zone", "--zone", zone, names.Zones}, {"resource pool", "--resource-pool", pool, names.Pools}} {
		found, err := each.list(ctx)
		switch {
		case f.reportError(err):
		case slices.Contains(found, each.name):
			f.reportOK("%s %s exists", each.what, each.name)
		default:
			f.reportFailure(fmt.Sprintf("MAAS has no %s %s; it has %s", each.what, each.name, strings.Join(found, ", ")), fmt.Sprintf("Create it in MAAS, or name another one (%s).", each.flag))
		}
	}
}

func (f *findings) checkImages(ctx context.Context, catalog engine.Catalog, image string) {
	images, err := catalog.Images(ctx)
	var found []string
	for _, i := range images {
		found = append(found, i.Name)
	}
	switch {
	case f.reportError(err):
	case len(found) == 0:
		f.reportFailure("MAAS has no image", "Import one in MAAS: machines boot from it to be commissioned.")
	case image != "" && !slices.Contains(found, image):
		f.reportFailure(fmt.Sprintf("MAAS has no image %s; it has %s", image, strings.Join(found, ", ")), "Import it in MAAS, or name another one (--image).")
	default:
		f.reportOK("images: %s", strings.Join(found, ", "))
	}
}

// reportVMHosts lists the VM hosts of the MAAS.
func (f *findings) reportVMHosts(ctx context.Context, client *maas.Client, can engine.Capabilities) {
	if !can.VMHosts {
		f.reportNote("this MAAS no longer has VM hosts: maaslxd makes VMs in LXD itself and enlists them; use check lxd --address for each LXD")
		return
	}
	hosts, err := client.Hosts.Hosts(ctx)
	if f.reportError(err) {
		return
	}
	f.reportOK("%d LXD VM hosts", len(hosts))
	for _, h := range hosts {
		if h.Version == "" || h.Cores.Total == 0 {
			f.reportNote("VM host %s: MAAS has never reached its LXD; refresh it in MAAS", h.Name)
			continue
		}
		f.reportNote("VM host %s: LXD %s, %d of %d cores used, zone %s, pool %s", h.Name, h.Version, h.Cores.Used, h.Cores.Total, h.Zone, cmp.Or(h.Pool, "-"))
	}
}
