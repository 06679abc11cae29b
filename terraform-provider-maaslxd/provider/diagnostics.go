package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// report turns an error of the engine into diagnostics: what could not be
// done, why, at which attribute, and what the user can do about it. doing
// completes "Cannot …".
func report(diags *diag.Diagnostics, doing string, err error) {
	reportAt(diags, path.Empty(), doing, err)
}

// reportAt is report with the attribute at which to say what an LXD, or the room
// that there is, forbids: such errors name no field.
func reportAt(diags *diag.Diagnostics, at path.Path, doing string, err error) {
	for _, one := range errorsAt(at, err) {
		add(diags, one.at, "Cannot "+doing, explain(one.err))
	}
}

// errorAt is an error with the attribute that it is about; empty: none.
type errorAt struct {
	at  path.Path
	err error
}

// errorsAt finds the attributes that an error of the engine is about.
func errorsAt(at path.Path, err error) []errorAt {
	var all []errorAt
	for _, spec := range specErrors(err) {
		all = append(all, errorAt{attributePath(spec.Field), spec})
	}
	if len(all) > 0 {
		return all
	}
	if _, ok := errors.AsType[*engine.Error](err); !ok {
		at = path.Empty()
	}
	return []errorAt{{at, err}}
}

// specErrors lists what is wrong with the spec: one field, or several whose
// errors were joined.
func specErrors(err error) []*engine.SpecError {
	switch e := err.(type) {
	case *engine.SpecError:
		return []*engine.SpecError{e}
	case interface{ Unwrap() error }:
		return specErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*engine.SpecError
		for _, inner := range e.Unwrap() {
			all = append(all, specErrors(inner)...)
		}
		return all
	default:
		return nil
	}
}

// explain says what went wrong, and what the user can do about it.
func explain(err error) string { return sentence(said(err)) + paragraph(hint(err)) }

// said is the text of an error without the bare sentinel that may end it: that
// sorts errors for programs, and tells people nothing.
func said(err error) string {
	text := err.Error()
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			text = strings.TrimSuffix(text, ": "+sentinel.Error())
		}
	}
	return text
}

var sentinels = []error{
	engine.ErrNotFound, engine.ErrConflict, engine.ErrBusy, engine.ErrGone, engine.ErrForbidden,
	engine.ErrOtherServer, engine.ErrInvalid, engine.ErrUnavailable, engine.ErrUnclear,
}

// add points at the attribute.
func add(diags *diag.Diagnostics, at path.Path, summary, detail string) {
	if len(at.Steps()) == 0 {
		diags.AddError(summary, detail)
		return
	}
	diags.AddAttributeError(ownAttribute(at), summary, detail)
}

// ownAttribute is where to point. Of a path into an attribute the CLI looks for
// the last step among the resource's own ones, and would show name for
// bridge.name: then it is the outermost one, and the detail names the other.
func ownAttribute(at path.Path) path.Path {
	steps := at.Steps()
	if last := steps[len(steps)-1].String(); specFields[last] == last {
		return path.Root(steps[0].String())
	}
	return at
}

// specFields are the first parts of the fields that the engine's errors name,
// and the attributes of maaslxd_vm and maaslxd_vm_host that they are.
var specFields = map[string]string{
	"name": "name", "vm_host": "vm_host", "placement": "placement",
	"cores": "cores", "pinned_cores": "pinned_cores", "memory_mib": "memory_mib", "hugepages": "hugepages", "profile": "profile",
	"disks": "disks", "interfaces": "interfaces",
	"zone": "zone", "pool": "pool", "domain": "domain", "tags": "tags", "deploy": "deploy",
	"machine": "machine", "selector": "selector", "address": "address", "bridge": "bridge", "lxd": "lxd", "project": "lxd",
	"cpu_overcommit": "cpu_overcommit", "memory_overcommit": "memory_overcommit", "default_storage_pool": "default_storage_pool", "server_fingerprint": "server_fingerprint",
}

// attributePath is where a field of the spec stands in the configuration:
// "disks.root.pool" is disks["root"].pool. Empty for what has no attribute.
func attributePath(field string) path.Path {
	parts := strings.Split(field, ".")
	root, ok := specFields[parts[0]]
	if !ok {
		return path.Empty()
	}
	switch {
	case parts[0] == "project":
		return projectPath(nil)
	case root == "lxd":
		return lxdPath(parts[1:])
	}
	at := path.Root(root)
	for i, part := range parts[1:] {
		switch {
		case i == 0 && (root == "disks" || root == "interfaces"):
			at = at.AtMapKey(part)
		case root == "deploy" && part == "user_data":
			at = at.AtName("user_data_wo")
		default:
			at = at.AtName(part)
		}
	}
	return at
}

// remedy says what helps against errors that wrap err.
type remedy struct {
	err  error
	hint string
}

// remedies in the order of precedence: an error may wrap several of them.
var remedies = []remedy{
	{context.DeadlineExceeded, "It took too long. Apply again: what was begun is found and continued."},
	{context.Canceled, "It was interrupted. Apply again: what was begun is found and continued."},
	{errUnknownConfig, "Apply first what the provider block depends on, for instance with -target."},
	{errMissingConfig, "Set what is missing in the provider block or in the environment."},
	{engine.ErrForbidden, "api_key (MAAS_API_KEY) must be a valid key of this MAAS, and the key of an administrator: MAAS reserves " +
		"composing VMs to them. `maas apikey --username NAME` on the MAAS server shows it."},
	{engine.ErrGone, "MAAS removed VM hosts after 3.8. Point api_url (MAAS_API_URL) at a MAAS 3.8 or older."},
	{engine.ErrUnclear, "The answer of MAAS was lost, so what was asked for may have been done. Apply again: the next run looks first."},
	{engine.ErrConflict, "If this configuration should manage what is there, import it: `terraform import ADDRESS SYSTEM_ID`."},
	{engine.ErrBusy, "MAAS is busy with something else. Apply again in a while."},
	{engine.ErrUnavailable, "Check that api_url (MAAS_API_URL) is right, that MAAS and its rack controllers run, and that they reach " +
		"the VM host. Nothing is lost: apply again."},
	{engine.ErrNotFound, "It may have been deleted meanwhile. Plan again to see what is there."},
}

// hint says what the user can do, "" if nothing is known to help. The closer
// to the failure a hint was given, the better it fits.
func hint(err error) string {
	if e, ok := errors.AsType[*engine.SpecError](err); ok {
		return e.Hint
	}
	if e, ok := errors.AsType[*engine.Refusal](err); ok && e.Hint != "" {
		return e.Hint
	}
	if e, ok := errors.AsType[*engine.Error](err); ok && e.Hint != "" {
		return e.Hint
	}
	if e, ok := errors.AsType[*maas.Error](err); ok && e.Hint != "" {
		return e.Hint
	}
	for _, r := range remedies {
		if errors.Is(err, r.err) {
			return r.hint
		}
	}
	return ""
}

// reportSetting turns errors of the provider block into diagnostics at its
// attributes.
func reportSetting(diags *diag.Diagnostics, err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			reportSetting(diags, e)
		}
		return
	}
	const summary = "The provider block cannot be used"
	if e, ok := errors.AsType[*maas.ConfigError](err); ok {
		diags.AddAttributeError(path.Root(e.Field), summary, sentence(e.Error())+paragraph(e.Hint))
		return
	}
	diags.AddError(summary, sentence(err.Error()))
}

// stoppedWaiting says why a wait ended before its end; timeout is the
// attribute that would have allowed more time.
func stoppedWaiting(ended error, timeout string) string {
	if errors.Is(ended, context.DeadlineExceeded) {
		return "The time allowed is up; " + timeout + " gives more."
	}
	return "It was interrupted."
}

// sentence ends a text with a full stop. Its beginning stays, because it may
// be a name.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// paragraph sets a text apart from what precedes it.
func paragraph(s string) string {
	if s == "" {
		return ""
	}
	return "\n\n" + sentence(s)
}
