package controller

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"time"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// problem is an error as a condition tells it.
type problem struct {
	reason  string
	message string
	// after is when to try again.
	after time.Duration
	// passing tells of what needs nobody: no event is worth it.
	passing bool
	// kind is the engine's type of the error, empty if it has none.
	kind engine.ErrorType
}

// blocked is an error of the controllers' own: what an object says cannot be
// done.
type blocked struct {
	reason  string
	message string
	hint    string
	after   time.Duration // zero: mendAfter
	passing bool
}

func (b *blocked) Error() string { return b.message }

// explain turns an error into what people are told, and when to try again. What
// has no type of its own may pass.
func explain(err error) problem {
	if own, ok := errors.AsType[*blocked](err); ok {
		return problem{reason: own.reason, message: own.message, after: cmp.Or(own.after, mendAfter), passing: own.passing}.with(own.hint)
	}
	p := typed(err)
	switch {
	case errors.Is(err, engine.ErrBusy):
		p.after = busyAfter
	case engine.IsTerminal(err):
		p.after = mendAfter
	}
	return p
}

// typed tells of an error by its type, which says most, else by what it stands
// for.
func typed(err error) problem {
	p := problem{reason: infrav1.MAASUnavailableReason, message: lasting(err.Error()), after: retryAfter}
	if missing, ok := errors.AsType[*CredentialsError](err); ok {
		p.reason, p.after = infrav1.IdentityNotReadyReason, cmp.Or(missing.Anew, anewAfter)
		return p.with(missing.Hint)
	}
	if lxd, ok := errors.AsType[*engine.Error](err); ok {
		p.reason, p.kind = string(lxd.Type), lxd.Type
		return p.with(lxd.Hint)
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		p.reason, p.message = specReason(spec), specMessage(err)
		return p
	}
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		p = p.with(refusal.Hint)
		p.reason = infrav1.MAASRefusedReason
		if errors.Is(err, engine.ErrConflict) {
			p.reason = infrav1.ConflictReason
		}
		return p
	}
	return p.standingFor(err)
}

// standingFor tells of an error by the sentinel that it wraps.
func (p problem) standingFor(err error) problem {
	switch {
	case errors.Is(err, engine.ErrForbidden):
		p.reason = infrav1.IdentityNotReadyReason
		return p.with("See that the key is one of MAAS, and of an administrator of it.")
	case errors.Is(err, engine.ErrNotFound):
		p.reason = infrav1.MachineNotFoundReason
	case errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrUnclear):
		p.after, p.passing = busyAfter, true
	case engine.IsTerminal(err):
		p.reason = infrav1.MAASRefusedReason
	}
	return p
}

// ownPort is the port at this end of a connection, another one each time.
var ownPort = regexp.MustCompile(`([\d\]]):\d+->`)

// lasting is a text that is the same when the same happens again: an object is
// written, and an event told, when it says something new.
func lasting(text string) string { return ownPort.ReplaceAllString(text, "$1->") }

// with adds what to do about it.
func (p problem) with(hint string) problem {
	if hint != "" {
		p.message = strings.TrimRight(p.message, ".") + ". " + hint
	}
	return p
}

// specFields are the fields of a MaasMachine that the engine's fields come
// from, by their beginnings. The longest that fits counts.
var specFields = map[string]string{
	"name": "metadata.name", "cores": "spec.minCPU", "pinned_cores": "spec.lxdConfig.pinnedCores",
	"memory_mib": "spec.minMemory", "hugepages": "spec.lxdConfig.hugepages", "profile": "spec.lxdConfig.profile",
	"disks": "spec.lxdConfig.storage", "interfaces": "spec.lxdConfig.network.interfaces",
	"zone": "spec.failureDomain", "placement.zone": "spec.failureDomain", "selector.zone": "spec.failureDomain",
	"pool": "spec.resourcePool", "placement.pool": "spec.resourcePool", "selector.pool": "spec.resourcePool",
	"placement.tags": "spec.tags", "selector": "spec (minCPU, minMemory, minDiskSize, tags, resourcePool, failureDomain)",
	"domain": "spec.lxdConfig.domain", "vm_host": "spec.lxdConfig.vmHost", "project": "spec.lxdConfig.project",
	"interfaces." + staticName: "spec.staticIP", "placement.project": "spec.lxdConfig.project",
	"machine": "spec.systemID", "address": "spec.staticIP",
	"deploy.image": "spec.image", "deploy.user_data": "the bootstrap data",
	"lxd": "spec.lxdConfig of the MaasCluster", "bridge": "spec.lxdConfig of the MaasCluster",
	"lxd_client_cert": "the manager's LXD key",
}

// specMessage says all that a spec cannot be met for, by the fields of the
// object.
func specMessage(err error) string {
	var said []string
	for _, e := range leaves(err) {
		var spec *engine.SpecError
		if !errors.As(e, &spec) {
			said = append(said, e.Error())
			continue
		}
		field := specField(spec.Field)
		text := field + ": " + strings.TrimPrefix(spec.Error(), spec.Field+": ")
		said = append(said, problem{message: text}.with(spec.Hint).message)
	}
	return strings.Join(said, "; ")
}

// specReason tells apart what is wrong with a spec by itself from what is in its
// way in MAAS.
func specReason(spec *engine.SpecError) string {
	switch {
	case strings.HasPrefix(spec.Field, "interfaces."+staticName), strings.HasPrefix(spec.Field, "interfaces.") && strings.HasSuffix(spec.Field, ".ip"):
		return infrav1.StaticIPUnavailableReason
	case spec.Field == "project":
		return infrav1.ProjectNotFoundReason
	case spec.Field == "profile":
		return infrav1.ProfileNotFoundReason
	case errors.Is(spec, engine.ErrConflict):
		return infrav1.ConflictReason
	}
	return infrav1.InvalidSpecReason
}

func specField(field string) string {
	best := ""
	for begin := range specFields {
		if (field == begin || strings.HasPrefix(field, begin+".")) && len(begin) > len(best) {
			best = begin
		}
	}
	if best == "" {
		return field
	}
	return specFields[best] + bracketed(strings.TrimPrefix(strings.TrimPrefix(field, best), "."))
}

func bracketed(rest string) string {
	if rest == "" {
		return ""
	}
	return " (" + rest + ")"
}

// leaves are the errors that errors.Join put together, or the error itself.
func leaves(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
	}
	return all
}
