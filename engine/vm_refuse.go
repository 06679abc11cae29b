package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// leftover names what a failed compose can leave behind, where MAAS does not
// show it.
func leftover(name string, host VMHost) string {
	return fmt.Sprintf("the LXD of VM host %s holds an instance %s that MAAS does not know", host.Name, name)
}

// mayBeLeft names what a compose that MAAS refused late may have left behind.
func mayBeLeft(name string, host VMHost) string {
	return fmt.Sprintf("the LXD of VM host %s may hold an instance %s that MAAS does not know", host.Name, name)
}

// taken says that a name belongs to a machine that is not ours to touch.
func taken(name string, m Machine, more string) error {
	return &SpecError{
		Field:   "name",
		Message: fmt.Sprintf("MAAS has a machine %s already (system id %s, %s), and it was not made for this one", name, m.SystemID, m.StatusName),
		Hint:    fmt.Sprintf("Import it by its system id %s, delete it in MAAS, or choose another name.%s", m.SystemID, more),
		Err:     ErrConflict,
	}
}

// known says that a VM was finished for this key before: whoever did that
// knows it, or lost it.
func known(name string, m Machine) error {
	renamed := ""
	if m.Hostname != name {
		renamed = ", called " + m.Hostname + " by now"
	}
	return &SpecError{
		Field:   "name",
		Message: fmt.Sprintf("the VM %s was made for this name before and is finished (system id %s, %s%s)", name, m.SystemID, m.StatusName, renamed),
		Hint: fmt.Sprintf("If another configuration manages it, choose another name or another owner. If this one does and lost it, import it by its system id %s. "+
			"A VM that is to be replaced must go first: create_before_destroy cannot keep a name.", m.SystemID),
		Err: ErrConflict,
	}
}

// fields of a spec, by the parameter in which MAAS refuses them.
var fields = map[string]string{
	"hostname": "name", "cores": "cores", "pinned_cores": "pinned_cores",
	"memory": "memory_mib", "hugepages_backed": "hugepages", "storage": "disks",
	"interfaces": "interfaces", "zone": "zone", "pool": "pool", "domain": "domain",
	"distro_series": "deploy.image", "osystem": "deploy.image",
	"hwe_kernel": "deploy.kernel", "user_data": "deploy.user_data",
}

// refused turns MAAS's complaint about a parameter into one about the field of
// the spec that it came from. Other errors pass unchanged.
func refused(err error) error { return refusedAs(err, fields) }

func refusedAs(err error, fields map[string]string) error {
	var refusal FieldError
	if !errors.As(err, &refusal) {
		return err
	}
	var errs []error
	said := refusal.Fields()
	for _, parameter := range slices.Sorted(maps.Keys(said)) {
		if field, ok := fields[parameter]; ok {
			errs = append(errs, &SpecError{Field: field, Message: "MAAS says: " + strings.Join(said[parameter], " "), Err: ErrInvalid})
		}
	}
	if len(errs) == 0 {
		return err
	}
	return errors.Join(errs...)
}
