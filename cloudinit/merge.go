package cloudinit

import (
	"fmt"
	"slices"
	"strings"
)

// Merge puts user-data of other origin behind ours, in one MIME multi-part:
// #cloud-config, also as a template, scripts, boothooks, includes, archives,
// and multi-parts of these, gzip or not. Empty ones are left out. The bytes of
// the parts stay as they are; the result is the same for the same arguments.
//
// A MergeError says what cannot stand side by side, because cloud-init would
// silently drop one: an "lxd:" section beside ours, a key in two documents of
// which the later does not say merge_how, a file name twice. It also names
// what cloud-init would not run at all.
//
// A user's runcmd, write_files and the like are the user's own affair, but
// take something from MAAS: see Warnings.
func Merge(ours []byte, theirs ...[]byte) ([]byte, error) {
	var all []part
	for from, data := range slices.Concat([][]byte{ours}, theirs) {
		parts, err := readParts(from, data)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	for _, check := range []func([]part) error{checkKinds, checkNames, checkKeys} {
		if err := check(all); err != nil {
			return nil, err
		}
	}
	return writeMultipart(all...), nil
}

// checkKinds refuses kinds that nothing handles. A part handler can bring its
// own kinds.
func checkKinds(parts []part) error {
	if slices.ContainsFunc(parts, func(p part) bool { return p.kind == kindHandler }) {
		return nil
	}
	for _, p := range parts {
		if !isKnownKind(p.kind) {
			return p.mergeError("cloud-init would ignore it: its type is none that cloud-init knows", "give it a type that cloud-init knows, or leave it out")
		}
	}
	return nil
}

// checkNames refuses a file name twice: cloud-init writes scripts under their
// names, the later over the earlier.
func checkNames(parts []part) error {
	seen := map[string]part{}
	for _, p := range parts {
		if p.name == "" {
			continue
		}
		name := cleanFileName(p.name)
		if other, ok := seen[name]; ok {
			return p.mergeError("its file name is also that of "+describePart(other.document, other.label), "give it another name")
		}
		seen[name] = p
	}
	return nil
}

// cleanFileName is what cloud-init makes of a part's name (util.py,
// clean_filename).
func cleanFileName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return '_'
		case r > 'z' || !strings.ContainsRune("_-.()0123456789", r) && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z'):
			return -1
		}
		return r
	}, name)
}

// checkKeys refuses a key that the last of two documents would win. What one
// document does to itself is its author's affair.
func checkKeys(parts []part) error {
	first := map[string]part{}
	for _, p := range parts {
		keys, err := p.topKeys()
		if err != nil {
			return err
		}
		merges := p.hasMergeRule(keys)
		for _, key := range keys {
			other, ok := first[key.name]
			switch {
			case !ok:
				first[key.name] = p
			case other.document == p.document || key.isMergeRule():
			case key.name == "lxd":
				return p.mergeError("it has an lxd: section"+key.locationSuffix()+", which would replace that of the host",
					"remove it; what it sets up belongs to the host's own settings")
			case !merges:
				return p.mergeError(fmt.Sprintf("%s would replace that of %s", describeKey(key), describePart(other.document, other.label)),
					"move it there, or say merge_how, such as list(append)+dict(recurse_array)+str()")
			}
		}
	}
	return nil
}

// describeKey names a key for people, if it is a word of cloud-init; another may
// be anything.
func describeKey(key topKey) string {
	if slices.Contains(cloudConfigKeys, key.name) {
		return "its key " + key.name + key.locationSuffix()
	}
	return "a key of it that is not cloud-init's" + key.locationSuffix()
}

// vendorDataKeys are the keys of MAAS's vendor-data (src/metadataserver/
// vendor_data.py), with what a machine loses when user-data has them too.
var vendorDataKeys = map[string]string{
	"runcmd":      "the timer of hardware sync, and MAAS's own set-up of VM hosts and rack controllers",
	"write_files": "the units of hardware sync, and the network of machines deployed in memory",
	"packages":    "the packages of MAAS's own set-up",
	"snap":        "snapd's proxy, without which snaps may be out of reach",
	"ntp":         "MAAS's time servers",
	"system_info": "the name of the default user",
	"users":       "the user of MAAS's own set-up of virsh hosts",
	"ssh_pwauth":  "the setting of MAAS's own set-up of virsh hosts",
}

// Warnings says, in sentences, what user-data takes from a machine without
// saying so, and what of it cannot be checked beforehand. User-data that Merge
// refuses has none.
func Warnings(theirs ...[]byte) []string {
	var warnings []string
	for i, data := range theirs {
		parts, err := readParts(i+1, data)
		if err != nil {
			continue
		}
		for _, p := range parts {
			warnings = append(warnings, p.warnings()...)
		}
	}
	return warnings
}

func (p part) warnings() []string {
	where := describePart(p.document, p.label)
	switch p.kind {
	case kindInclude, kindIncludeOnce:
		return []string{where + ": what it includes is fetched by the machine, and cannot be checked."}
	case kindPatch:
		return []string{where + ": a patch of the cloud-config can change that of the host, and cannot be checked."}
	}
	keys, err := p.topKeys()
	if err != nil {
		return nil
	}
	named := make([]string, len(keys))
	for n, key := range keys {
		named[n] = key.name
	}
	slices.Sort(named)
	var warnings []string
	for _, key := range slices.Compact(named) {
		if loses := vendorDataKeys[key]; loses != "" {
			warnings = append(warnings, fmt.Sprintf("%s: its %s: replaces MAAS's, where it has any: %s.", where, key, loses))
		}
	}
	return warnings
}
