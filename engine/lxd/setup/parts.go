package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	client "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// keepFinding, makeFinding, changeFinding and refuseFinding return the four kinds of
// finding.
func keepFinding(object, detail string) finding {
	return finding{Step: Step{Object: object, Verdict: Keep, Detail: detail}}
}

func makeFinding(object, detail string, act func() error) finding {
	return finding{Step: Step{Object: object, Verdict: Make, Detail: detail}, apply: act}
}

func changeFinding(object, detail string, act func() error) finding {
	return finding{Step: Step{Object: object, Verdict: Change, Detail: detail}, apply: act}
}

func refuseFinding(object, detail, hint string) finding {
	return finding{Step: Step{Object: object, Verdict: Refuse, Detail: detail, Hint: hint}}
}

// failedFinding is the finding of a failed inspection.
func failedFinding(object string) finding { return finding{Step: Step{Object: object}} }

// interfacePart checks an interface of the machine. It never makes one: a mistake in the
// machine's network would cut the machine off.
func (a *applier) interfacePart(want cloudinit.Interface) part {
	object := "interface " + want.Name
	return func() (finding, error) {
		have, _, err := a.conn.GetNetwork(want.Name)
		switch {
		case isNotFound(err):
			return refuseFinding(object, "the machine has no interface of that name",
				"Make it first (for a bridge: in MAAS before the machine is deployed, or with netplan), or name another one."), nil
		case err != nil:
			return failedFinding(object), err
		case want.Kind == cloudinit.Bridge && have.Type != "bridge":
			return refuseFinding(object, fmt.Sprintf("it is of the type %s, not a bridge", have.Type),
				"Put a bridge on it and name that, or connect VMs to it by macvlan."), nil
		case have.Managed:
			return keepFinding(object, "a bridge of LXD's own: VMs on it get no address from MAAS, and cannot boot from it"), nil
		}
		return keepFinding(object, "a "+have.Type+" of the machine"), nil
	}
}

// networkPart is a bridge that LXD is to make.
func (a *applier) networkPart(want api.NetworksPost) part {
	object := "network " + want.Name
	return func() (finding, error) {
		have, _, err := a.conn.GetNetwork(want.Name)
		switch {
		case isNotFound(err):
			return makeFinding(object, formatConfig(want.Config), func() error { return a.conn.CreateNetwork(want) }), nil
		case err != nil:
			return failedFinding(object), err
		case !have.Managed:
			return refuseFinding(object, "the machine has an interface of that name, which is not LXD's", "Take another name for the network."), nil
		case have.Type != want.Type:
			return refuseFinding(object, fmt.Sprintf("it is of the type %s, not %s", have.Type, want.Type), "Take another name for the network."), nil
		}
		if differs := differences(want.Config, have.Config); len(differs) > 0 {
			return refuseFinding(object, "it exists with "+strings.Join(differs, ", "),
				"Take another name. Or, if nothing needs its present settings, change it by hand: lxc network edit "+want.Name+"."), nil
		}
		return keepFinding(object, formatConfig(want.Config)), nil
	}
}

// projectPart is the project. Its features decide which objects are its own, and cannot
// change while it has any.
func (a *applier) projectPart(want api.ProjectsPost) part {
	object := "project " + want.Name
	return func() (finding, error) {
		have, etag, err := a.conn.GetProject(want.Name)
		switch {
		case isNotFound(err):
			return makeFinding(object, formatConfig(want.Config), func() error { return a.conn.CreateProject(want) }), nil
		case err != nil:
			return failedFinding(object), err
		case want.Name == api.ProjectDefaultName:
			return keepFinding(object, "LXD's own"), nil
		}
		features, limits := map[string]string{}, map[string]string{}
		for key, value := range want.Config {
			if strings.HasPrefix(key, "features.") {
				features[key] = value
			} else {
				limits[key] = value
			}
		}
		if differs := differences(features, have.Config); len(differs) > 0 {
			return refuseFinding(object, "it exists with "+strings.Join(differs, ", "), "Name another project, or ask for the features that it has."), nil
		}
		if differs := differences(limits, have.Config); len(differs) > 0 {
			return changeFinding(object, formatConfig(limits), func() error {
				put := have.Writable()
				put.Config = maps.Clone(put.Config)
				maps.Copy(put.Config, limits)
				return a.conn.UpdateProject(want.Name, put, etag)
			}), nil
		}
		return keepFinding(object, describeUse(have.UsedBy)), nil
	}
}

// profilePart is the profile. A profile without devices that no instance uses is that of a
// new project, and is filled. Any other profile belongs to someone.
func (a *applier) profilePart(want api.ProfilesPost) part {
	object := fmt.Sprintf("profile %s of project %s", want.Name, a.setup.ProfileProject)
	return func() (finding, error) {
		in := a.conn.UseProject(a.setup.ProfileProject)
		have, etag, err := in.GetProfile(want.Name)
		switch {
		case isNotFound(err):
			return makeFinding(object, formatDevices(want.Devices), func() error { return in.CreateProfile(want) }), nil
		case err != nil:
			return failedFinding(object), err
		}
		differs := slices.Concat(deviceDifferences(want.Devices, have.Devices), differences(want.Config, have.Config))
		switch {
		case len(differs) == 0:
			return keepFinding(object, formatDevices(want.Devices)), nil
		case len(have.Devices) > 0:
			return refuseFinding(object, "it exists with "+strings.Join(differs, ", ")+", "+describeUse(have.UsedBy),
				"Name another profile, or change this one by hand: lxc profile edit "+want.Name+" --project "+a.setup.ProfileProject+"."), nil
		case len(have.UsedBy) > 0:
			return refuseFinding(object, "it has no devices, and new devices would reach running instances: "+describeUse(have.UsedBy), "Name another profile."), nil
		}
		return changeFinding(object, formatDevices(want.Devices), func() error { return fillProfile(in, want, have, etag) }), nil
	}
}

// fillProfile adds devices to a profile that has none.
func fillProfile(in client.InstanceServer, want api.ProfilesPost, have *api.Profile, etag string) error {
	put := have.Writable()
	put.Config, put.Devices = map[string]string{}, want.Devices
	maps.Copy(put.Config, have.Config)
	maps.Copy(put.Config, want.Config)
	return in.UpdateProfile(want.Name, put, etag)
}

// differences lists the wanted settings that are missing or have another value.
func differences(want, have map[string]string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		switch value, ok := have[key]; {
		case !ok && want[key] != "":
			all = append(all, fmt.Sprintf("no %s instead of %q", key, want[key]))
		case value != want[key]:
			all = append(all, fmt.Sprintf("%s %q instead of %q", key, value, want[key]))
		}
	}
	return all
}

func deviceDifferences(want, have map[string]map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] == nil {
			all = append(all, "no device "+name)
			continue
		}
		for _, difference := range differences(want[name], have[name]) {
			all = append(all, "device "+name+": "+difference)
		}
	}
	return all
}

// formatConfig formats config keys for people.
func formatConfig(config map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(config)) {
		all = append(all, key+"="+config[key])
	}
	return strings.Join(all, " ")
}

// formatDevices formats a root disk and a NIC for people.
func formatDevices(all map[string]map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		for _, key := range []string{"pool", "parent", "network"} {
			if d[key] != "" {
				words = append(words, fmt.Sprintf("%s on %s", name, d[key]))
			}
		}
	}
	return strings.Join(words, ", ")
}

// describeUse says how many instances use an object.
func describeUse(paths []string) string {
	count := 0
	for _, path := range paths {
		if strings.HasPrefix(path, "/1.0/instances/") {
			count++
		}
	}
	switch count {
	case 0:
		return "no instance uses it"
	case 1:
		return "one instance uses it"
	}
	return fmt.Sprintf("%d instances use it", count)
}
