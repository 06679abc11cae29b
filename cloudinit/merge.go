package cloudinit

import (
	"fmt"
	"slices"
	"strings"
)

// Merge appends user-data of other origin to ours, in one MIME multi-part. It accepts
// #cloud-config, also as a template, scripts, boothooks, includes, archives, and
// multi-parts of these, with or without gzip. It omits empty ones. The bytes of the parts
// do not change, and the same arguments give the same result.
//
// A MergeError names parts that cannot be combined, because cloud-init would silently drop
// one of them. This is an "lxd:" section beside ours, or a file name that occurs twice. It
// is also a key in two documents if the later one has no merge_how. A MergeError also names
// parts that cloud-init would not run at all.
//
// Users may set runcmd, write_files and similar keys, but these replace settings of MAAS:
// see Warnings.
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

// checkKinds refuses kinds that nothing handles. With a part handler it accepts all kinds:
// the handler can bring its own.
func checkKinds(parts []part) error {
	if slices.ContainsFunc(parts, func(p part) bool { return p.kind == kindHandler }) {
		return nil
	}
	for _, p := range parts {
		if !isKnownKind(p.kind) {
			return p.mergeError("cloud-init would ignore it: cloud-init does not know its type", "give it a type that cloud-init knows, or leave it out")
		}
	}
	return nil
}

// checkNames refuses a file name that occurs twice: cloud-init writes scripts under their
// names, and a later one would replace an earlier one.
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

// cleanFileName changes a part's name as cloud-init does (util.py, clean_filename).
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

// checkKeys refuses a key that occurs in two documents and that the last one would win.
// Keys that occur twice in one document are left to its author.
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
					"move it there, or add merge_how, such as list(append)+dict(recurse_array)+str()")
			}
		}
	}
	return nil
}

// describeKey names a key for people if it is a word of cloud-init. Any other key may be a
// secret.
func describeKey(key topKey) string {
	if slices.Contains(cloudConfigKeys, key.name) {
		return "its key " + key.name + key.locationSuffix()
	}
	return "a key of it that is not cloud-init's" + key.locationSuffix()
}

// vendorDataKeys are the keys of MAAS's vendor-data (src/metadataserver/vendor_data.py),
// with what a machine loses if user-data has the key too.
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

// Warnings returns sentences about user-data: what it silently removes from a machine, and
// what cannot be checked before it runs. User-data that Merge refuses has no warnings.
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
		return []string{where + ": the machine fetches what it includes, so it cannot be checked."}
	case kindPatch:
		return []string{where + ": a patch can change the host's cloud-config, and cannot be checked."}
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
			warnings = append(warnings, fmt.Sprintf("%s: its %s: replaces MAAS's, if MAAS sets it: %s.", where, key, loses))
		}
	}
	return warnings
}
