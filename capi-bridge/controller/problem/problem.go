// Package problem turns errors into what people are told: the reason and message of a
// condition, and when to try again.
package problem

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// Problem is an error as a condition tells it.
type Problem struct {
	Reason  string
	Message string
	// RetryAfter is when to try again.
	RetryAfter time.Duration
	// Transient tells of what needs nobody: no event is worth it.
	Transient bool
	// ErrorType is the engine's type of the error, empty if it has none.
	ErrorType engine.ErrorType
}

// BlockedError is an error of the controllers' own: what an object says cannot be
// done.
type BlockedError struct {
	Reason     string
	Message    string
	Hint       string
	RetryAfter time.Duration // zero: mendAfter
	Transient  bool
}

func (b *BlockedError) Error() string { return b.Message }

// FromError turns an error into what people are told, and when to try again. What
// has no type of its own may pass.
func FromError(err error) Problem {
	if own, ok := errors.AsType[*BlockedError](err); ok {
		return Problem{Reason: own.Reason, Message: own.Message, RetryAfter: cmp.Or(own.RetryAfter, requeue.ManualAfter), Transient: own.Transient}.WithHint(own.Hint)
	}
	p := fromErrorType(err)
	switch {
	case errors.Is(err, engine.ErrBusy):
		p.RetryAfter = requeue.BusyAfter
	case engine.IsTerminal(err):
		p.RetryAfter = requeue.ManualAfter
	}
	return p
}

// fromErrorType tells of an error by its type, which says most, else by what it stands
// for.
func fromErrorType(err error) Problem {
	p := Problem{Reason: infrav1.MAASUnavailableReason, Message: WithoutLocalPort(err.Error()), RetryAfter: requeue.RetryAfter}
	if missing, ok := errors.AsType[*controller.CredentialsError](err); ok {
		p.Reason, p.RetryAfter = infrav1.IdentityNotReadyReason, cmp.Or(missing.RecheckAfter, requeue.CredentialsAfter)
		return p.WithHint(missing.Hint)
	}
	if ledger, ok := errors.AsType[*engine.LedgerError](err); ok {
		p.Reason = infrav1.LedgerUnavailableReason
		return p.WithHint(ledgerHint(ledger))
	}
	if lxd, ok := errors.AsType[*engine.Error](err); ok {
		p.Reason, p.ErrorType = string(lxd.Type), lxd.Type
		return p.WithHint(lxd.Hint)
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		p.Reason, p.Message = specReason(spec), specMessage(err)
		return p
	}
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		p = p.WithHint(refusal.Hint)
		p.Reason = infrav1.MAASRefusedReason
		if errors.Is(err, engine.ErrConflict) {
			p.Reason = infrav1.ConflictReason
		}
		return p
	}
	return p.fromSentinel(err)
}

// ledgerHint says what to do about the ledger, and which flag names it.
func ledgerHint(e *engine.LedgerError) string {
	hint := cmp.Or(e.Hint(), "Nothing is placed meanwhile, and nothing is lost.")
	return fmt.Sprintf("%s The manager's flag --ledger names %s.", hint, e.Ledger)
}

// fromSentinel tells of an error by the sentinel that it wraps.
func (p Problem) fromSentinel(err error) Problem {
	switch {
	case errors.Is(err, engine.ErrForbidden):
		p.Reason = infrav1.IdentityNotReadyReason
		return p.WithHint("See that the key is one of MAAS, and of an administrator of it.")
	case errors.Is(err, engine.ErrNotFound):
		p.Reason = infrav1.MachineNotFoundReason
	case errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrUnclear):
		p.RetryAfter, p.Transient = requeue.BusyAfter, true
	case engine.IsTerminal(err):
		p.Reason = infrav1.MAASRefusedReason
	}
	return p
}

// localPort is the port at this end of a connection, another one each time.
var localPort = regexp.MustCompile(`([\d\]]):\d+->`)

// WithoutLocalPort is a text that is the same when the same happens again: an object is
// written, and an event told, when it says something new.
func WithoutLocalPort(text string) string { return localPort.ReplaceAllString(text, "$1->") }

// WithHint adds what to do about it.
func (p Problem) WithHint(hint string) Problem {
	if hint != "" {
		p.Message = strings.TrimRight(p.Message, ".") + ". " + hint
	}
	return p
}

// specFieldsByEngineField are the fields of a MaasMachine, or of a MaasCluster, that the engine's fields come
// from. Of a field that is not listed, the innermost listed one around it counts.
var specFieldsByEngineField = map[string]string{
	"name": "metadata.name", "cores": "spec.minCPU", "pinned_cores": "spec.lxdConfig.pinnedCores",
	"memory_mib": "spec.minMemory", "hugepages": "spec.lxdConfig.hugepages", "profile": "spec.lxdConfig.profile",
	"disks": "spec.lxdConfig.storage", "interfaces": "spec.lxdConfig.network.interfaces",
	"zone": "spec.failureDomain", "placement.zone": "spec.failureDomain", "selector.zone": "spec.failureDomain",
	"pool": "spec.resourcePool", "placement.pool": "spec.resourcePool", "selector.pool": "spec.resourcePool",
	"placement.tags": "spec.tags", "selector": "spec (minCPU, minMemory, minDiskSize, tags, resourcePool, failureDomain)",
	"domain": "spec.lxdConfig.domain", "vm_host": "spec.lxdConfig.vmHost", "project": "spec.lxdConfig.project",
	"interfaces." + StaticNIC: "spec.staticIP", "placement.project": "spec.lxdConfig.project",
	"machine": "spec.systemID", "address": "spec.staticIP",
	"deploy.image": "spec.image", "deploy.user_data": "the bootstrap data",
	"lxd": "spec.lxdConfig of the MaasCluster", "bridge": "spec.lxdConfig of the MaasCluster",
	"lxd_client_cert": "the manager's LXD key",
	"dns":             "the DNS record of the API server", "dns.domain": "spec.dnsDomain of the MaasCluster",
}

// specMessage says all that a spec cannot be met for, by the fields of the
// object.
func specMessage(err error) string {
	var said []string
	for _, e := range splitErrors(err) {
		var spec *engine.SpecError
		if !errors.As(e, &spec) {
			said = append(said, e.Error())
			continue
		}
		field := specField(spec.Field)
		text := field + ": " + spec.Reason()
		said = append(said, Problem{Message: text}.WithHint(spec.Hint).Message)
	}
	return strings.Join(said, "; ")
}

// specReason tells apart what is wrong with a spec by itself from what is in its
// way in MAAS.
func specReason(spec *engine.SpecError) string {
	_, static := spec.Field.CutPrefix(fieldpath.New("interfaces").Key(StaticNIC))
	switch root := spec.Field.RootName(); {
	case static, root == "interfaces" && spec.Field.LastName() == "ip":
		return infrav1.StaticIPUnavailableReason
	case root == "project":
		return infrav1.ProjectNotFoundReason
	case root == "profile":
		return infrav1.ProfileNotFoundReason
	case errors.Is(spec, engine.ErrConflict):
		return infrav1.ConflictReason
	}
	return infrav1.InvalidSpecReason
}

// specField is the object's field that a field of the spec came from, with what stands
// below it.
func specField(field fieldpath.Path) string {
	for outer := field; !outer.IsEmpty(); outer = outer.Parent() {
		if known, ok := specFieldsByEngineField[outer.String()]; ok {
			below, _ := field.CutPrefix(outer)
			return known + inParentheses(below.String())
		}
	}
	return field.String()
}

func inParentheses(rest string) string {
	if rest == "" {
		return ""
	}
	return " (" + rest + ")"
}

// splitErrors are the errors that errors.Join put together, or the error itself.
func splitErrors(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, splitErrors(e)...)
	}
	return all
}

// StaticNIC is by what the engine's errors call the NIC with the static address
// of a bare-metal machine.
const StaticNIC = "static"
