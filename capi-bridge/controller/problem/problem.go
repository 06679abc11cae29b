// Package problem turns errors into messages for users: the reason and message
// of a condition, and when to try again.
package problem

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/advice"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// Problem is an error in the form of a condition.
type Problem struct {
	Reason  string
	Message string
	// RetryAfter is when to try again.
	RetryAfter time.Duration
	// Transient is true for a problem that passes without help. It gets no
	// event.
	Transient bool
	// ErrorType is the engine's type of the error, empty if it has none.
	ErrorType engine.ErrorType
}

// BlockedError is an error of the controllers' own: they cannot do what the
// object asks for.
type BlockedError struct {
	Reason     string
	Message    string
	Hint       string
	RetryAfter time.Duration // zero: requeue.ManualAfter
	Transient  bool
}

func (b *BlockedError) Error() string { return b.Message }

// FromError turns an error into a Problem. An error without a known type is
// taken as one that may pass.
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

// fromErrorType converts an error by its type, which says most, else by its
// sentinel.
func fromErrorType(err error) Problem {
	p := Problem{Reason: infrav1.MAASUnavailableReason, Message: WithoutLocalPort(engine.ErrorText(err)), RetryAfter: requeue.RetryAfter}
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
		return p.WithHint(advice.JoinHint(lxd.Hint, lxd.Ways))
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		p.Reason, p.Message = specReason(spec), specMessage(err)
		return p
	}
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		p = p.WithHint(advice.JoinHint(refusal.Hint, refusal.Ways))
		p.Reason = infrav1.MAASRefusedReason
		switch {
		case errors.Is(err, engine.ErrConflict):
			p.Reason = infrav1.ConflictReason
		case errors.Is(err, engine.ErrHidden):
			p.Reason = infrav1.IdentityNotReadyReason
			return p.WithHint("Give the identity the API key of an administrator, who sees all machines.")
		}
		return p
	}
	return p.fromSentinel(err)
}

// ledgerHint says how to repair the ledger, and which flag names it.
func ledgerHint(e *engine.LedgerError) string {
	hint := cmp.Or(e.Hint(), "The manager places nothing until then, and nothing is lost.")
	return fmt.Sprintf("%s The manager's flag --ledger names %s.", hint, e.Ledger)
}

// fromSentinel converts an error by the sentinel that it wraps.
func (p Problem) fromSentinel(err error) Problem {
	switch {
	case errors.Is(err, engine.ErrForbidden):
		p.Reason = infrav1.IdentityNotReadyReason
		return p.WithHint("Check that the API key is of this MAAS and belongs to an administrator.")
	case errors.Is(err, engine.ErrGone):
		p.Reason = infrav1.MAASRefusedReason
		return p.WithHint(advice.NoVMHosts)
	case errors.Is(err, engine.ErrNotFound):
		p.Reason = infrav1.MachineNotFoundReason
	case errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrUnclear):
		p.RetryAfter, p.Transient = requeue.BusyAfter, true
	case engine.IsTerminal(err):
		p.Reason = infrav1.MAASRefusedReason
	}
	return p
}

// localPort matches the local port of a connection, which differs each time.
var localPort = regexp.MustCompile(`([\d\]]):\d+->`)

// WithoutLocalPort returns the text without local ports. The same failure then
// has the same text, so that the object is written, and an event sent, only for
// news.
func WithoutLocalPort(text string) string { return localPort.ReplaceAllString(text, "$1->") }

// WithHint adds a way out to the message.
func (p Problem) WithHint(hint string) Problem {
	if hint != "" {
		p.Message = strings.TrimRight(p.Message, ".") + ". " + hint
	}
	return p
}

// specFieldsByEngineField maps the engine's fields to the fields of a
// MaasMachine or MaasCluster. A field that is not listed takes the innermost
// listed field around it.
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

// specMessage lists all problems of a spec, by the fields of the object.
func specMessage(err error) string {
	var said []string
	for _, e := range splitErrors(err) {
		var spec *engine.SpecError
		if !errors.As(e, &spec) {
			said = append(said, engine.ErrorText(e))
			continue
		}
		field := specField(spec.Field)
		text := field + ": " + spec.Reason()
		said = append(said, Problem{Message: text}.WithHint(advice.JoinHint(spec.Hint, spec.Ways)).Message)
	}
	return strings.Join(said, "; ")
}

// specReason tells an invalid spec from a spec that something in MAAS stands in
// the way of.
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

// specField returns the object's field that an engine field came from, with the
// rest of the path.
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

// splitErrors returns the parts of errors.Join, or the error itself.
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

// StaticNIC is the engine's name for the NIC with the static address of a
// bare-metal machine.
const StaticNIC = "static"
